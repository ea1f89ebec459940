"""What all sources of series have in common: how much one query may take, and how a metric is told."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from tierscope.domain.promql.matching import fits
from tierscope.domain.promql.nodes import Matcher
from tierscope.domain.promql.series import LOOKBACK_MS, TooMuch
from tierscope.storage.base.subjects import SubjectHost, SubjectService

SERIES_MAX = 20_000
"""Series of one selector."""
SAMPLES_MAX = 4_000_000
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


def service_labels(service: SubjectService) -> dict[str, str]:
    """What tells series of one service from those of others."""
    return {
        "service_id": service.public_id,
        "namespace": service.namespace,
        "service": service.name,
        "origin": service.origin,
    }


def host_labels(host: SubjectHost) -> dict[str, str]:
    """What tells series of one host from those of others."""
    return {"host_id": host.public_id, "host": host.name}


def may_meet(known: Mapping[str, str], matchers: Sequence[Matcher]) -> bool:
    """Whether labels that are known meet those conditions that are about them."""
    return all(fits(known[one.label], one) for one in matchers if one.label in known)
