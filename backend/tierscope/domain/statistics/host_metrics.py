"""Metrics of one host that experiments and fleet statistics compare between hosts, and how each is had.

A value is a mean over a bucket of time: of a rate over the seconds in which its counters were observed, of a state over
its samples. `service` metrics are what the service says of itself; `ledger` metrics come from the columns of tier
moves; `heat` from heat classes; `counter` is any counter of the catalogue by its key.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from tierscope.domain.counters.monotonic import parse_key
from tierscope.domain.counters.names import describe_counter
from tierscope.domain.counters.service_metrics import LOAD, P50, P99, RATE, TOTAL
from tierscope.domain.ledger import cpu_core_ratio

Floats = npt.NDArray[np.float64]
Source = Literal["service", "ledger", "heat", "counter"]
Direction = Literal["higher_is_better", "lower_is_better"]

_MILLI = 1e-3
_MICRO = 1e-6
_KEY_PARTS = 3


@dataclass(frozen=True, slots=True)
class HostMetric:
    """One metric. `terms`: names of service metrics, columns of the ledger, or the counter's key."""

    key: str
    label: str
    unit: str
    direction: Direction
    source: Source
    terms: tuple[str, ...]


HOST_METRICS: tuple[HostMetric, ...] = (
    HostMetric("throughput_per_s", "Throughput", "count_per_s", "higher_is_better", "service", (TOTAL, RATE)),
    HostMetric("latency_p99_ns", "Latency, p99", "ns", "lower_is_better", "service", (P99,)),
    HostMetric("latency_p50_ns", "Latency, p50", "ns", "lower_is_better", "service", (P50,)),
    HostMetric("load", "Load", "load", "lower_is_better", "service", (LOAD,)),
    HostMetric(
        "top_residency_ratio",
        "Resident on the top tier",
        "ratio",
        "higher_is_better",
        "ledger",
        ("top_resident_bytes", "slow_resident_bytes"),
    ),
    HostMetric("promoted_pages_per_s", "Promoted", "pages_per_s", "lower_is_better", "ledger", ("promoted_pages",)),
    HostMetric("demoted_pages_per_s", "Demoted", "pages_per_s", "lower_is_better", "ledger", ("demoted_pages",)),
    HostMetric(
        "tier_move_core_ratio",
        "CPU cost of tier moves, cores",
        "ratio",
        "lower_is_better",
        "ledger",
        ("promoted_pages", "demoted_pages", "hint_faults"),
    ),
    HostMetric(
        "memory_pressure_ratio", "Memory pressure, some", "ratio", "lower_is_better", "ledger", ("psi_some_us",)
    ),
    HostMetric("swap_out_pages_per_s", "Swapped out", "pages_per_s", "lower_is_better", "ledger", ("swap_out_pages",)),
    HostMetric("swap_in_pages_per_s", "Swapped in", "pages_per_s", "lower_is_better", "ledger", ("swap_in_pages",)),
    HostMetric(
        "refaults_per_s",
        "Refaults",
        "pages_per_s",
        "lower_is_better",
        "ledger",
        ("refault_anon_pages", "refault_file_pages"),
    ),
    HostMetric("hot_outside_dram_bytes", "Hot outside DRAM", "bytes", "lower_is_better", "heat", ()),
    HostMetric("cold_in_dram_bytes", "Cold in DRAM", "bytes", "lower_is_better", "heat", ()),
    HostMetric("hot_ratio", "Hot share of memory", "ratio", "higher_is_better", "heat", ()),
)
"""In the order in which they are offered."""

_BY_KEY = {metric.key: metric for metric in HOST_METRICS}


def find_host_metric(key: str) -> HostMetric | None:
    """The metric of this key, or that of a counter that the catalogue keeps rolled up; None where there is none.

    A counter's key is `scope|source|name`; the scope `service` stands for the experiment's own service.
    """
    known = _BY_KEY.get(key)
    if known is not None or len(key.split("|")) != _KEY_PARTS:
        return known
    counter = describe_counter(key)
    if not counter.in_catalogue or not counter.rolled_up:
        return None
    unit = f"{counter.unit}_per_s" if counter.kind == "counter" else counter.unit
    return HostMetric(key, f"{counter.name} ({parse_key(key).scope})", unit, "lower_is_better", "counter", (key,))


def service_value(metric: HostMetric, means: Mapping[str, Floats]) -> Floats:
    """A service metric from the means of its counters: rates of totals, means of states, in units of the metric."""
    found = [means[term] for term in metric.terms if term in means]
    value = found[0]
    for other in found[1:]:
        value = np.where(np.isfinite(value), value, other)
    return value if metric.unit == "ns" else value * _MILLI


def ledger_value(metric: HostMetric, means: Mapping[str, Floats]) -> Floats:
    """A ledger metric from its columns' means: flows per second, states as they are."""
    parts = [means[term] for term in metric.terms]
    if metric.key == "top_residency_ratio":
        top, slow = parts
        whole = top + np.nan_to_num(slow)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(np.where(whole > 0, top / whole, np.nan), np.float64)
    if metric.key == "tier_move_core_ratio":
        promoted, demoted, faults = parts
        return np.asarray(
            (promoted + np.nan_to_num(demoted)) * cpu_core_ratio(1, 0, 1.0)
            + np.nan_to_num(faults) * cpu_core_ratio(0, 1, 1.0),
            np.float64,
        )
    if metric.key == "refaults_per_s":
        return np.asarray(np.where(np.isfinite(parts[0]) | np.isfinite(parts[1]), np.nansum(parts, axis=0), np.nan))
    return parts[0] * _MICRO if metric.key == "memory_pressure_ratio" else parts[0]
