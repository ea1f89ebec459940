"""What all sources of series have in common: how much one query may take, and how a metric is told."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from tierscope.domain.promql.series import LOOKBACK_MS, TooMuch

SERIES_MAX = 20_000
"""Series of one selector."""
SAMPLES_MAX = 5_000_000
"""Samples that one query loads."""
MISSED = 1.5
"""So many intervals a sample stands for what follows, where that is more than Prometheus' five minutes."""


@dataclass(frozen=True, slots=True)
class MetricHelp:
    """What a metric is."""

    type: Literal["counter", "gauge"]
    help: str
    unit: str


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of time (start, end]."""

    start: datetime
    end: datetime


def lookback_ms(interval_ms: float) -> int:
    """How long a sample of such an interval stands for what follows."""
    return max(LOOKBACK_MS, round(MISSED * interval_ms))


def check_series(n_series: int) -> None:
    """Refuse a selector that means too many series.

    Raises:
        TooMuch: they are too many.
    """
    if n_series > SERIES_MAX:
        raise TooMuch(f"the selector means more than {SERIES_MAX:,} series; add conditions")


def check_samples(n_samples: int, what: str) -> None:
    """Refuse `what` that means too many samples.

    Raises:
        TooMuch: they are too many.
    """
    if n_samples > SAMPLES_MAX:
        raise TooMuch(f"{what} more than {SAMPLES_MAX:,} samples; ask for less time or fewer series")
