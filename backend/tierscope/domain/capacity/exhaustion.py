"""When memory runs out: days from the last point until a forecast, or its upper bound, reaches a threshold."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

THRESHOLD_RATIO = 0.9
"""Of the capacity: what is left is needed for peaks within a day and for the kernel."""

_DAY_S = 86_400


@dataclass(frozen=True, slots=True)
class Exhaustion:
    """When the forecast gets there, and the first whole day on which the upper bound does; None: not at all."""

    median_days: float | None
    early_days: int | None

    @property
    def none_within_horizon(self) -> bool:
        """Whether not even the upper bound gets there."""
        return self.median_days is None and self.early_days is None


def find_exhaustion(last: float, median: Sequence[float], upper: Sequence[float], threshold: float) -> Exhaustion:
    """Days counted from the last point, whose fitted value is `last`; `median[i]` and `upper[i]` are of day i + 1.

    Between days the median is interpolated, which on a line is exact. A forecast that does not rise has no median.
    """
    early = next((day for day, value in enumerate(upper, 1) if value >= threshold), None)
    if last >= threshold:
        return Exhaustion(0.0, 0 if early is None else min(early, 1))
    before = last
    for day, value in enumerate(median, 1):
        if value >= threshold and value > before:
            return Exhaustion(day - 1 + (threshold - before) / (value - before), early)
        before = value
    return Exhaustion(None, early)


def reached_s(last_day_s: float, days: float) -> float:
    """The moment, seconds since 1970, so many days after the start of the last day with a point."""
    return last_day_s + days * _DAY_S


def line_exhaustion(last: float, slope: float, threshold: float, horizon: int) -> float | None:
    """Days until a line that is at `last` now reaches the threshold; None beyond the horizon or without growth."""
    if last >= threshold:
        return 0.0
    if slope <= 0:
        return None
    days = (threshold - last) / slope
    return days if math.isfinite(days) and days <= horizon else None
