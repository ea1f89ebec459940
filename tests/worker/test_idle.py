"""Tasks that run every few seconds cost next to nothing while there is nothing to do."""

from datetime import UTC, datetime, timedelta

import pytest

from tierscope.core.clock import clock_set
from tierscope.usecases.alerts.evaluate import Evaluated, EvaluateRules
from tierscope.usecases.alerts.frames import ARRIVAL_SECONDS, SETTLING_SECONDS
from tierscope.worker import alerts

COMPLETE = datetime(2026, 3, 1, 12, tzinfo=UTC) + timedelta(seconds=ARRIVAL_SECONDS + SETTLING_SECONDS)
"""A minute has just become complete."""


def test_each_minute_is_judged_once_by_a_process(monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[bool] = []
    busy = [True, False, False]
    monkeypatch.setattr(alerts, "worker_database", lambda: None)
    monkeypatch.setattr(alerts, "_judged", {})

    def run(_: EvaluateRules) -> Evaluated:
        ran.append(True)
        return Evaluated(busy=busy[len(ran) - 1])

    monkeypatch.setattr(EvaluateRules, "run", run)
    for seconds in (0, 15, 30, 44):
        with clock_set(lambda seconds=seconds: COMPLETE + timedelta(seconds=seconds)):  # type: ignore[misc]
            alerts.evaluate()
    assert len(ran) == 2, "again where another was at it, then not until the next minute"
    with clock_set(lambda: COMPLETE + timedelta(seconds=70)):
        alerts.evaluate()
    assert len(ran) == 3
