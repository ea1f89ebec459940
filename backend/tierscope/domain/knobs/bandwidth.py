"""Whether a host is bound by the bandwidth of its DRAM: what flows, held against what was measured there."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tierscope.domain.counters.monotonic import Floats, differences, nominal_step
from tierscope.domain.knobs.facts import ServiceClass
from tierscope.domain.knobs.levels import Samples
from tierscope.domain.ratio.choice import classify_service

PEAK_PERCENTILE = 95.0
SOURCES: tuple[tuple[str, ...], ...] = (("|uncore|read_bytes", "|uncore|write_bytes"), ("|resctrl|mbm_total_bytes",))
"""Counters at the memory controllers, else those of the processors' caches, which hold slower memory too."""
UNKNOWN_LOSS = 1.0
"""The loss at 1:1 is not known here, so that no host is called insensitive."""


def bandwidth_keys(keys: Sequence[str]) -> list[str]:
    """Those counters of a layout that tell bandwidth."""
    return [key for key in keys if key.endswith(tuple(name for names in SOURCES for name in names))]


def classify_host(
    inventory: Mapping[str, Any] | None, samples: Samples, top_nodes: Sequence[int]
) -> ServiceClass | None:
    """What limits the host's memory; None without bandwidth counters, or without a bench of its DRAM under load."""
    benches = [
        bench
        for bench in (inventory or {}).get("benches") or ()
        if bench.get("memory_node") in top_nodes and bench.get("cpu_node") == bench.get("memory_node")
    ]
    measured = {bench["memory_node"] for bench in benches if bench.get("loaded")}
    peak = _peak_bytes_per_s(samples, top_nodes)
    if peak is None or measured != set(top_nodes):
        return None
    achievable = sum(max(point["bandwidth_bytes_per_s"] for point in bench["loaded"]) for bench in benches)
    share = peak / achievable if achievable > 0 else 0.0
    loaded = max(_loaded_over_idle(bench["loaded"], share) for bench in benches)
    return classify_service(dram_utilisation_p95=share, loaded_over_idle=loaded, upper_loss_at_even=UNKNOWN_LOSS)


def _loaded_over_idle(points: Sequence[Mapping[str, Any]], share: float) -> float:
    """Latency at this share of the best bandwidth, against that of the least load, between measured points."""
    ordered = sorted(points, key=lambda point: float(point["bandwidth_bytes_per_s"]))
    loads = np.array([float(point["bandwidth_bytes_per_s"]) for point in ordered])
    latencies = np.array([float(point["latency_ns"]) for point in ordered])
    if loads[-1] <= 0 or latencies[0] <= 0:
        return 1.0
    return float(np.interp(share, loads / loads[-1], latencies) / latencies[0])


def _peak_bytes_per_s(samples: Samples, top_nodes: Sequence[int]) -> float | None:
    """The 95th percentile over intervals of the bytes that the top tier's nodes move; None where not counted."""
    place = {key: i for i, key in enumerate(samples.keys)}
    for names in SOURCES:
        chosen = [place.get(f"node:{node}{name}") for node in top_nodes for name in names]
        known = [column for column in chosen if column is not None]
        if known and len(known) == len(chosen):
            rates = _rates(samples, known)
            if len(rates):
                return float(np.percentile(rates, PEAK_PERCENTILE))
    return None


def _rates(samples: Samples, columns: Sequence[int]) -> Floats:
    found = differences(
        samples.times_s,
        samples.boots,
        samples.values[:, list(columns)],
        samples.present[:, list(columns)],
        nominal_s=nominal_step(samples.times_s),
    )
    ok = found.ok.all(axis=1) & (found.dt_seconds > 0)
    rates: Floats = found.delta.sum(axis=1)[ok] / found.dt_seconds[ok]
    return rates
