"""What limits a service: latency, bandwidth, both or neither; from what its hosts report."""

from dataclasses import replace

import numpy as np

from tierscope.domain.base.figures import Figure, Window, absent
from tierscope.domain.ratio import classify_service
from tierscope.usecases.counters.service_metrics import ServiceMetrics
from tierscope.usecases.ratio.answers import NamedFigure, ServiceClass
from tierscope.usecases.ratio.hardware import HardwareFacts

MICROSECONDS_NS = 1e6
"""A service whose p99 is below a millisecond feels single misses."""
_GIGA = 1e9
_LATENCY = "service.latency_p99_ns/1"
_WHY = {
    "bandwidth": "DRAM runs at 70 % of its bandwidth or more, and its latency has risen by half or more",
    "latency": "DRAM runs below half of its bandwidth: latency is what slow memory costs",
    "insensitive": "DRAM runs below half of its bandwidth, and even at 1:1 a loss above 1 % can be ruled out",
    "mixed": "DRAM is neither clearly idle nor clearly saturated: the worse of latency and bandwidth is taken",
}


def classify(hardware: HardwareFacts, latency: Figure, upper_loss_at_even: float | None) -> ServiceClass:
    """The class with its figures; no name where bandwidth or the loss at 1:1 is not known, with what is missing."""
    microsecond = None if latency.value is None else latency.value < MICROSECONDS_NS
    utilisation = utilise(hardware)
    figures = (
        NamedFigure("demand_bytes_per_s", hardware.demand),
        NamedFigure("dram_utilisation", utilisation),
        NamedFigure("latency_p99_ns", latency),
    )
    if utilisation.value is None:
        return ServiceClass(None, utilisation.reason or "", microsecond, figures)
    if upper_loss_at_even is None:
        return ServiceClass(None, "the loss at 1:1 is not known", microsecond, figures)
    risen = hardware.memory.loaded_over_idle(utilisation.value)
    name = classify_service(
        dram_utilisation_p95=utilisation.value,
        loaded_over_idle=1.0 if risen is None else risen,
        upper_loss_at_even=upper_loss_at_even,
    )
    return ServiceClass(name, _WHY[name], microsecond, figures)


def utilise(hardware: HardwareFacts) -> Figure:
    """p95 of the demand over the bandwidth that DRAM was measured to deliver."""
    definition = "ratio.dram_utilisation_ratio/1"
    if hardware.demand.value is None:
        return replace(hardware.demand, definition=definition, unit="ratio")
    if hardware.memory.dram is None:
        reason = "The bandwidth of DRAM was not measured: run `tierscope-agent bench` on a host."
        return absent(definition, "ratio", "not_collected", reason, window=hardware.demand.window)
    share = hardware.demand.value / (hardware.memory.dram.bandwidth_gb_per_s * _GIGA)
    return replace(hardware.demand, definition=definition, unit="ratio", value=share)


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
