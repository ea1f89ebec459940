"""What services say of themselves, from several hosts to one service: throughput adds up, latencies do not.

Thousandths become units. A bucket in which no host reported is a gap; how many did stands beside the figures.
"""

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

SOURCE = "metrics"
TOTAL, RATE, LOAD = "throughput_total_milli", "throughput_milli_per_s", "load_milli"
P50, P99 = "latency_p50_ns", "latency_p99_ns"
NAMES = (TOTAL, RATE, LOAD, P50, P99)
_MILLI = 1000.0


@dataclass(frozen=True, slots=True)
class HostMetrics:
    """Lines of one host over the buckets of a grid [b], by counter name: `values`, and `per_s` of `TOTAL`."""

    values: Mapping[str, Floats]
    per_s: Mapping[str, Floats]


@dataclass(frozen=True, slots=True)
class MetricLine:
    """A line of the service [b]; NaN in gaps."""

    key: str
    label: str
    unit: str
    values: Floats


def combine(hosts: Sequence[HostMetrics]) -> list[MetricLine]:
    """The lines that these hosts have between them: throughput and load summed, p50 by median, p99 by maximum."""
    rates = [host.per_s.get(TOTAL, host.values.get(RATE)) for host in hosts]
    joined = (
        ("throughput", "Throughput, all hosts", "count_per_s", _join(rates, _total, _MILLI)),
        ("load", "Load, all hosts", "load", _join([host.values.get(LOAD) for host in hosts], _total, _MILLI)),
        ("latency_p50", "p50, median host", "ns", _join([host.values.get(P50) for host in hosts], _median)),
        ("latency_p99", "p99, slowest host", "ns", _join([host.values.get(P99) for host in hosts], _highest)),
    )
    return [MetricLine(key, label, unit, values) for key, label, unit, values in joined if values is not None]


def count_reporting(hosts: Sequence[HostMetrics]) -> int:
    """Hosts of which any bucket has a value."""
    return sum(any(np.isfinite(line).any() for line in (*host.values.values(), *host.per_s.values())) for host in hosts)


def _join(parts: Sequence[Floats | None], join: Callable[[Floats], Floats], divisor: float = 1.0) -> Floats | None:
    there = [part for part in parts if part is not None and np.isfinite(part).any()]
    if not there:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a bucket without any value stays a gap
        return join(np.stack(there)) / divisor


def _total(stacked: Floats) -> Floats:
    known = np.isfinite(stacked).any(axis=0)
    out: Floats = np.where(known, np.nansum(stacked, axis=0), np.nan)
    return out


def _median(stacked: Floats) -> Floats:
    return np.asarray(np.nanmedian(stacked, axis=0), np.float64)


def _highest(stacked: Floats) -> Floats:
    return np.asarray(np.nanmax(stacked, axis=0), np.float64)
