"""What limits a service: latency, bandwidth, both or neither; from what its hosts report."""

import numpy as np

from tierscope.domain.base.figures import Figure, Interval, Window, absent
from tierscope.domain.ratio.choice import INSENSITIVE_LOSS
from tierscope.domain.ratio.memory_bound import LEVEL
from tierscope.usecases.counters.service_metrics import ServiceMetrics
from tierscope.usecases.ratio.answers import NamedFigure, ServiceClass
from tierscope.usecases.ratio.hardware import HardwareFacts

MICROSECONDS_NS = 1e6
"""A service whose p99 is below a millisecond feels single misses."""
_LATENCY = "service.latency_p99_ns/1"
_NO_DEVICE = (
    "No host counts bytes at CXL devices (cxl_pmu), or none knows what they deliver: run `tierscope-agent bench`."
)


def classify(hardware: HardwareFacts, latency: Figure, upper_loss_at_even: float | None) -> ServiceClass:
    """The class that the hosts' memory has, with its grade and figures; no name where it cannot be told, and why.

    `upper_loss_at_even`: of the service at 1:1; below 1 % it does not care for the latency that limits it.
    """
    microsecond = None if latency.value is None else latency.value < MICROSECONDS_NS
    figures = (
        NamedFigure("demand_bytes_per_s", hardware.demand),
        NamedFigure("dram_utilisation", utilise(hardware)),
        NamedFigure("slow_utilisation", _utilise_slow(hardware)),
        NamedFigure("memory_stall_ratio", hardware.stalls),
        NamedFigure("latency_p99_ns", latency),
    )
    bound = hardware.bound.given_loss(upper_loss_at_even)
    why = bound.sentence
    if bound.name == "insensitive" and hardware.bound.name != "insensitive":
        why = f"{why} A loss above {INSENSITIVE_LOSS:.0%} can be ruled out even at 1:1."
    return ServiceClass(bound.name, bound.grade, why, microsecond, figures)


def utilise(hardware: HardwareFacts) -> Figure:
    """Use of DRAM's bandwidth, its 95th percentile on the host in the middle, with its interval."""
    definition, bound = "ratio.dram_utilisation_ratio/2", hardware.bound
    window = hardware.demand.window
    if bound.utilisation_p95 is None or bound.low is None or bound.high is None:
        return absent(definition, "ratio", "not_collected", bound.sentence, window=window)
    return Figure(
        definition,
        "ok",
        bound.utilisation_p95,
        "ratio",
        method="counters",
        window=window,
        interval=Interval(bound.low, bound.high, LEVEL, "confidence"),
        n_hosts=hardware.demand.n_hosts,
        n_intervals=bound.intervals,
        grade=bound.grade,
        grounding="S MEMO",
        warnings=hardware.demand.warnings,
    )


def _utilise_slow(hardware: HardwareFacts) -> Figure:
    """Use of the bandwidth of CXL devices, its 95th percentile on the same host, with its interval."""
    definition, window = "ratio.slow_utilisation_ratio/1", hardware.demand.window
    used = hardware.bound.slow
    if used is None:
        return absent(definition, "ratio", "not_collected", _NO_DEVICE, window=window)
    return Figure(
        definition,
        "ok",
        used.p95,
        "ratio",
        method="counters",
        window=window,
        interval=Interval(used.low, used.high, LEVEL, "confidence"),
        n_intervals=used.intervals,
        grade="good",
        grounding="S MEMO",
    )


def no_latency(window: Window | None, reason: str) -> Figure:
    """Where the service reports no latency."""
    return absent(_LATENCY, "ns", "not_collected", reason, window=window)


def latency_of(metrics: ServiceMetrics) -> Figure:
    """Median over the window of the p99 latency of the slowest host."""
    line = next((series for series in metrics.series if series.key == "latency_p99"), None)
    values = [] if line is None else [value for value in line.values if value is not None]
    if not values:
        reason = metrics.reason or "The service reports no latency."
        return no_latency(metrics.window, reason)
    return Figure(
        _LATENCY,
        "ok",
        float(np.median(values)),
        "ns",
        method="counters",
        window=metrics.window,
        n_hosts=metrics.n_hosts,
        n_intervals=len(values),
        grade="good",
        grounding="A",
    )
