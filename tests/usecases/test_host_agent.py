"""What a host's agent says of itself: a count that nothing makes is not zero."""

from datetime import UTC, datetime

import pytest

from tierscope.storage.fleet.hosts import SelfReportRow
from tierscope.usecases.fleet.agent_plans import PauseInfo
from tierscope.usecases.fleet.host_agent import view_agent

RUNNING = PauseInfo(paused=False, heat_paused=False, everywhere=False, since=None, actor=None)


def report(rung: str | None, samples: int | None = 0) -> SelfReportRow:
    return SelfReportRow(
        ts=datetime(2026, 11, 21, tzinfo=UTC),
        window_ns=60_000_000_000,
        cpu_ns=6_000_000,
        rss_bytes=6 << 20,
        spool_bytes=0,
        dropped_batches=0,
        collectors=[],
        budget_state="within",
        budget_reason=None,
        heat_rung=rung,
        guard_paused_intervals=0,
        samples_taken=samples,
        samples_lost=samples,
        throttles=samples,
    )


@pytest.mark.parametrize(
    ("rung", "samples", "status", "value"),
    [
        ("pebs", 0, "ok", 0.0),
        ("pebs", 12, "ok", 12.0),
        ("referenced", 0, "not_supported", None),
        ("", 0, "not_supported", None),
        (None, None, "not_collected", None),
    ],
)
def test_samples_are_counted_where_a_sampler_is_in_use(
    rung: str | None, samples: int | None, status: str, value: float | None
) -> None:
    view = view_agent(report(rung, samples), RUNNING, held_seconds=240)
    for figure in (view.samples_taken, view.samples_lost, view.throttles):
        assert (figure.status, figure.value) == (status, value)
    assert (view.guard_paused_intervals.status, view.guard_paused_intervals.value) == ("ok", 0.0)


def test_without_a_report_nothing_is_collected() -> None:
    assert view_agent(None, RUNNING, held_seconds=0).samples_taken.status == "not_collected"
