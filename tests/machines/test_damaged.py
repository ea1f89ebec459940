"""A file that is damaged makes nothing surer, and is told where an answer changes by it; padding changes nothing."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fixtures.elsewhere import long
from machines.asking import Answers, ask_tree
from machines.test_machines import KINDS
from machines.trees import write_tree
from tierscope.cli.base.source_tree import find_agent

pytestmark = pytest.mark.skipif(find_agent() is None, reason="the agent's program is not built: run `make agent`")

PADDED: dict[str, Callable[[bytes], bytes]] = {
    "NUL of tar": lambda body: body + bytes(64),
    "CR LF": lambda body: body.replace(b"\n", b"\r\n"),
}
DAMAGED: dict[str, Callable[[bytes], bytes]] = {
    "garbage": lambda _: b"\x01?!\n",
    "cut within a line": lambda body: body[: max(len(body) // 2, 1)].rstrip(b"\n"),
}
TOLD = frozenset({"file-not-understood", "not-in-tree", "container-view"})
"""Findings that say why an answer is another, or none."""
NAMES = (
    "one CXL device as a region, tiering on, Linux 6.12",
    pytest.param("HBM in flat mode below DRAM, told by ratings, Linux 6.4", marks=long),
    pytest.param("HBM alone, told by SMBIOS, Linux 6.8", marks=long),
    pytest.param("two Grace with four GPUs, whose driver tells, Linux 6.8", marks=long),
    pytest.param("RHEL 8 (4.18), two sockets", marks=long),
)


def certain(answers: Answers) -> dict[str, str]:
    return {one["id"]: one["cause"] for one in answers.doctor["findings"] if one["confidence"] == "certain"}


def figures(answers: Answers) -> tuple[Any, ...]:
    return answers.doctor["tiering"]["state"], answers.host["state"], answers.host["memory"]


@pytest.mark.parametrize("name", NAMES)
def test_no_file_that_is_damaged_makes_an_answer_surer(name: str, tmp_path: Path) -> None:
    program = find_agent()
    assert program is not None
    write_tree(KINDS[name].machine, tmp_path)
    whole = ask_tree(program, tmp_path)
    sure, wrong = certain(whole), []
    for path in sorted(path for path in tmp_path.rglob("*") if path.is_file() and not path.is_symlink()):
        body = path.read_bytes()
        for what, change in (PADDED | DAMAGED).items() if body else ():
            path.write_bytes(change(body))
            after = ask_tree(program, tmp_path)
            now, same = certain(after), figures(after) == figures(whole)
            if what in PADDED and not (same and now == sure):
                wrong.append(f"{path}: {what} changes the answer")
            if now.keys() - sure.keys() - TOLD:
                wrong.append(f"{path}: {what} makes certain {sorted(now.keys() - sure.keys() - TOLD)}")
            if not same and not TOLD & now.keys():
                wrong.append(f"{path}: {what} changes the answer, and nothing tells")
        path.write_bytes(body)
    assert wrong == []
