"""What an early warning says of itself."""

from datetime import UTC, datetime

import pytest

from tierscope.domain.capacity.forecast import forecast_days
from tierscope.usecases.capacity.forecasts import Dated, Outlook, exhaustion_view, outline

GIB = float(1 << 30)
DAY = datetime(2026, 11, 28, tzinfo=UTC)


def test_an_early_warning_states_its_share_of_false_alarms() -> None:
    days = [200 * GIB * 1.01**day for day in range(60)]
    found = forecast_days(days, 30)
    sure, unsure = (outline(found, factor * days[-1], 30) for factor in (1.1, 1.4))
    assert sure.false_alarm_ratio == pytest.approx(0.0, abs=0.01)
    assert (unsure.early_days, unsure.false_alarm_ratio) == (None, None)
    early = exhaustion_view(Dated(sure, DAY, DAY), None, "").early
    assert early.grounding == (
        "A threshold of 90 % of the capacity; of such warnings 0% are false: the threshold is not reached in 30 days"
    )
    # What was stored before the share was known says nothing of it.
    older = {name: getattr(sure, name) for name in sure.__slots__ if name != "false_alarm_ratio"}
    stored = exhaustion_view(Dated(Outlook.from_body(older), DAY, DAY), None, "")
    assert stored.early.grounding == "A threshold of 90 % of the capacity"


@pytest.mark.parametrize(("median", "early", "warned"), [(0.7, 1, 0.7), (0.0, 1, 0.0), (None, 2, 2.0), (5.0, 3, 3.0)])
def test_a_warning_is_never_later_than_the_forecast(median: float | None, early: int, warned: float) -> None:
    """Its bound is known by whole days only: also of forecasts that are stored."""
    body = {"method": "linear", "median_days": median, "early_days": early, "threshold_bytes": GIB, "horizon_days": 30}
    found = exhaustion_view(Dated(Outlook.from_body(body), DAY, DAY), None, "")
    assert found.early.value == pytest.approx(warned)
