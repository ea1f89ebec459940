"""What all tests share: the servers' fixtures, and a closing list of what could not run here and why."""

from __future__ import annotations

from collections import Counter

import pytest

pytest_plugins = ["fixtures.servers"]


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
