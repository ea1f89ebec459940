"""What other users of the machine learn of a running instance: nothing."""

from __future__ import annotations

import json
import os
import pwd
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.commands import Tierscope, fresh_tierscope
from factories.strangers import readable_by, stranger
from factories.waiting import until
from tierscope.core.embedded.places import find_places
from tierscope.core.embedded.process import list_children

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root becomes another user")


WITH_AGENT = "TIERSCOPE_AGENT_BINARY" in os.environ


@pytest.fixture(scope="module")
def running() -> Iterator[Tierscope]:
    """An instance with an agent, started by root with an open umask."""
    former = os.umask(0)
    try:
        with fresh_tierscope() as tierscope:
            tierscope.run("up", "--detach", "--port", "0", *([] if WITH_AGENT else ["--no-agent"]))
            yield tierscope
    finally:
        os.umask(former)


def _owner(pid: int) -> str:
    lines = Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines()
    uids = next(line.split()[1:] for line in lines if line.startswith("Uid:"))
    assert len(set(uids)) == 1
    return pwd.getpwuid(int(uids[0])).pw_name


def test_another_user_reads_nothing_of_a_running_instance(running: Tierscope) -> None:
    places = find_places(running.data_dir)
    if WITH_AGENT:
        layouts = places.agent_state / "layouts"
        until(lambda: layouts.is_dir() and any(layouts.iterdir()), "the agent keeps a layout")
    for root in (places.data, places.run):
        assert readable_by(stranger(), root) == []
    modes = {path.relative_to(places.data): path.lstat().st_mode for path in places.data.rglob("*")}
    assert [str(path) for path, mode in modes.items() if mode & 0o077] == []


def test_no_log_holds_a_link(running: Tierscope) -> None:
    logs = {log.name: log.read_text(encoding="utf-8") for log in find_places(running.data_dir).logs.iterdir()}
    assert "tierscope token link" in logs["supervisor.log"]
    assert [name for name, text in logs.items() if "link=" in text or "tsl_" in text] == []


def test_everything_but_supervisor_and_agent_runs_as_the_account(running: Tierscope) -> None:
    state = json.loads((running.data_dir / "state.json").read_text(encoding="utf-8"))
    assert _owner(state["supervisor"]["pid"]) == "root"
    for name in ("database", "queue", "api", "worker"):
        pid = state["components"][name]["process"]["pid"]
        assert {_owner(each) for each in (pid, *list_children(pid))} == {"tierscope"}, name


def test_no_command_line_holds_a_secret(running: Tierscope) -> None:
    names = ("queue-password", "database-password")
    secrets = [(running.data_dir / name).read_bytes().strip() for name in names]
    state = json.loads((running.data_dir / "state.json").read_text(encoding="utf-8"))
    for part in state["components"].values():
        line = Path(f"/proc/{part['process']['pid']}/cmdline").read_bytes()
        assert not [secret for secret in secrets if secret in line]
