"""Money a year in answers."""

from dataclasses import dataclass

from tierscope.domain.base.figures import Interval


@dataclass(frozen=True, slots=True)
class YearlyMoney:
    """Money a year; a saving is negative where it costs more."""

    value: float
    interval: Interval
    currency: str
