"""What all tests share: the servers' fixtures, and a closing list of what could not run here and why."""

from __future__ import annotations

import os
from collections import Counter

# One thread per test process: small problems of linear algebra wait for each other where threads outnumber cores.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

pytest_plugins = ["fixtures.servers"]


class OneDemo(LoadScopeScheduling):
    """Modules go to processes as a whole, and all browser tests to one, because they share a slow demonstration."""

    def _split_scope(self, nodeid: str) -> str:
        return "tests/e2e" if nodeid.startswith("tests/e2e/") else super()._split_scope(nodeid)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadScopeScheduling | None:
    """Spread tests over processes by `OneDemo`, where they are spread by module."""
    return OneDemo(config, log) if config.getvalue("dist") == "loadscope" else None


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """End the run with one line for each reason that kept tests from running, so that no skip goes unseen."""
    reasons: Counter[str] = Counter()
    for report in terminalreporter.stats.get("skipped", []):
        if isinstance(report.longrepr, tuple):
            reasons[str(report.longrepr[2]).removeprefix("Skipped: ")] += 1
    if reasons:
        terminalreporter.section("not run here")
    for reason, count in sorted(reasons.items()):
        terminalreporter.write_line(f"not run here: {count}, because {reason}")
