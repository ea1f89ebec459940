"""What all sources of series have in common: how much one query may take, and how a metric is told."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

SERIES_MAX = 20_000
"""Series of one selector."""
SAMPLES_MAX = 5_000_000
"""Samples that one query loads."""


@dataclass(frozen=True, slots=True)
class MetricHelp:
    """What a metric is, as Prometheus tells it."""

    type: Literal["counter", "gauge"]
    help: str
    unit: str


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of time (start, end]."""

    start: datetime
    end: datetime
