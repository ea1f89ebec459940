"""Recorded hosts as kernels with pages of 16 and 64 KiB would have counted them: the same words, bytes and advice."""

import json
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from factories.kernel_lab import CORPUS, HMAT_RECORDINGS, RECORDINGS
from factories.snapshot_trees import PAGE_BYTES, Tree, unpack
from fixtures.elsewhere import long
from tierscope.cli.base.source_tree import find_agent
from tierscope.usecases.recordings.snapshot_trees import MovesAnalysis, Total, analyze_snapshots

AGENT = find_agent()
pytestmark = pytest.mark.skipif(AGENT is None, reason="the agent's program is not built: run `make agent`")

EVERY = 12
"""Of the corpus one in so many: these have each of its kernels and layouts."""
ALL = [
    path.name.partition(".tar")[0]
    for folder, step in ((RECORDINGS, 1), (HMAT_RECORDINGS, 1), (CORPUS, EVERY))
    for path in sorted(folder.glob("*.tar.zst"))[::step]
] + ["6.12-nvdimm-small-slow-node-full-default"]
"""The last one has candidates and no promotion."""
SHORT = ("04-pingpong", "05-ratelimited", "23-huge-pages-exchange")
"""A full top tier, a limit, and huge pages."""
FAULTS_ON_HUGE_PAGES = "huge-pages"
"""Such recordings do not say which of their faults were on huge pages: those would be as many, the others fewer."""


def in_bytes(totals: Iterable[Total], page: int) -> dict[str, tuple[float | None, ...]]:
    """Totals of columns in bytes and in pages."""
    return {
        total.key: tuple(
            None if value is None else value * (page if total.unit == "pages" else 1)
            for value in (total.value, total.steady)
        )
        for total in totals
        if total.unit in ("pages", "bytes")
    }


def answered(found: MovesAnalysis, page: int) -> dict[str, object]:
    """What must not depend on the page size."""
    signs = {sign.name: round(sign.value, 9) for sign in found.verdict.evidence if sign.unit in ("ratio", "MiB/s")}
    churn = found.churn
    return {
        "verdict": (found.verdict.word, found.verdict.confidence, found.verdict.runner_up),
        "states": [(held.state, held.seconds) for held in found.states],
        "signs": signs,
        "totals": in_bytes(found.totals, page),
        "churn": churn and churn.round_trip_pages_hi * page,
        "top_bytes": found.facts.machine.top_bytes,
        "advice": [(piece.rule, piece.changes) for piece in found.settings.advice],
        "subtracted": found.subtracted,
    }


def of_snapshot(snapshot: Path) -> dict[str, object]:
    """What `doctor` and `assess` say of a host that stands still."""

    def said(command: str) -> dict[str, Any]:
        words = [str(AGENT), command, "--root", str(snapshot), "--json"]
        done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=120)
        document: dict[str, Any] = json.loads(done.stdout)
        return document

    doctor, assessed = said("doctor"), said("assess")["hosts"][0]
    # A kernel with larger pages has fewer descriptors of them: that share of DRAM is another.
    kept = ("id", "severity", "confidence", "cause", "fix")
    findings = [[finding[field] for field in kept] for finding in doctor["findings"]]
    return {
        "tiering": doctor["tiering"]["state"],
        "findings": [finding[:3] if finding[0] == "large-slow-tier" else finding for finding in findings],
        "assess": (assessed["state"], assessed["memory"]),
        "checks": [(check["id"], check["outcome"], check["ratio"]) for check in assessed["checks"]],
    }


@pytest.mark.parametrize("name", [pytest.param(name, marks=() if name in SHORT else long) for name in ALL])
def test_pages_of_another_size_change_no_answer(name: str, tmp_path: Path) -> None:
    assert AGENT is not None
    original = unpack(name, tmp_path, step=3)
    found = {}
    for page in (PAGE_BYTES, 16384, 65536):
        tree = Tree(original, tmp_path / str(page)).in_pages_of(page)
        read = analyze_snapshots(AGENT, tree.path)
        assert read.facts.machine.page_bytes == page
        found[page] = answered(read, page) | of_snapshot(tree.snapshots[-1])
        if FAULTS_ON_HUGE_PAGES in name:
            found[page] = {key: found[page][key] for key in ("totals", "churn", "top_bytes", "findings", "assess")}
    assert found[16384] == found[PAGE_BYTES]
    assert found[65536] == found[PAGE_BYTES]
