"""What limits a host's memory, bandwidth or latency: the best evidence that the host reports, with its grade."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tierscope.domain.base.figures import Grade
from tierscope.domain.counters.monotonic import Floats, differences, nominal_step
from tierscope.domain.knobs.facts import MemoryBound, ServiceClass
from tierscope.domain.knobs.levels import Samples
from tierscope.domain.ratio.choice import STALLS_MAX, classify_service

PEAK_PERCENTILE = 95.0
LEVEL = 0.95
SOURCES: tuple[tuple[str, ...], ...] = (("|uncore|read_bytes", "|uncore|write_bytes"), ("|resctrl|mbm_total_bytes",))
"""Counters at the memory controllers, else those of the processors' caches, which hold slower memory too."""
STALLS = ("host|memory_stall|stall_cycles", "host|memory_stall|cycles")
UNKNOWN_LOSS = 1.0
"""The loss at 1:1 is not known here, so that no host is called insensitive."""
STALLS_MIN = 0.10
"""Share of cycles waiting for memory below which neither bandwidth nor latency limits a host [A]."""
LOADED_UNKNOWN = 1.0
MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class _Capacity:
    """Bytes per second that DRAM delivers; `loaded` are the benches under load, empty where firmware states it."""

    bytes_per_s: float
    loaded: tuple[Mapping[str, Any], ...]


def bandwidth_keys(keys: Sequence[str]) -> list[str]:
    """Those counters of a layout that tell what limits memory."""
    suffixes = tuple(name for names in SOURCES for name in names)
    return [key for key in keys if key.endswith(suffixes) or key in STALLS]


def classify_host(inventory: Mapping[str, Any] | None, samples: Samples, top_nodes: Sequence[int]) -> MemoryBound:
    """What limits the host's memory.

    In order of what is there: bandwidth in use against the bench under load (`good`); against what firmware states,
    with the cycles that wait for memory in place of the loaded latency (`partial`); those cycles alone, which can only
    rule both out. Where the ends of the interval say different things the grade is `early`.
    """
    stalls = _stall_ratio(samples)
    counted, source = _rates_of(samples, top_nodes)
    if counted is None:
        return _by_stalls(stalls)
    capacity = _capacity(inventory or {}, top_nodes)
    if capacity is None:
        return MemoryBound(
            None, None, "bandwidth in use is counted, and what DRAM delivers is not known: run `tierscope-agent bench`"
        )
    shares = counted / capacity.bytes_per_s
    peak, (low, high) = float(np.percentile(shares, PEAK_PERCENTILE)), _percentile_interval(shares)
    names = [_name(share, capacity, stalls) for share in (low, peak, high)]
    grade: Grade = "good" if capacity.loaded else "partial"
    if len(set(names)) > 1:
        grade = "early"
    against = "of its measured bandwidth" if capacity.loaded else "of the bandwidth that firmware states"
    risen = _risen(capacity, peak, stalls)
    return MemoryBound(
        names[1],
        grade,
        f"DRAM runs at {peak:.0%} {against} at the 95th percentile ({source}){risen}",
        peak,
        low,
        high,
        len(shares),
    )


def _name(share: float, capacity: _Capacity, stalls: float | None) -> ServiceClass:
    loaded = _most_loaded(capacity, share)
    if loaded is None:
        # Cycles that wait for memory say of a busy DRAM what a risen latency says; without them nothing does.
        loaded = float("inf") if stalls is not None and stalls > STALLS_MAX else LOADED_UNKNOWN
    return classify_service(dram_utilisation_p95=share, loaded_over_idle=loaded, upper_loss_at_even=UNKNOWN_LOSS)


def _risen(capacity: _Capacity, share: float, stalls: float | None) -> str:
    risen = _most_loaded(capacity, share)
    if risen is not None:
        return f", where its latency is {risen:.1f} times that of idle memory"
    if stalls is None:
        return "; neither latency under load nor cycles that wait for memory are known"
    return f"; {stalls:.0%} of the cycles wait for memory"


def _by_stalls(stalls: float | None) -> MemoryBound:
    if stalls is None:
        return MemoryBound(
            None,
            None,
            "no counter of bandwidth (uncore, resctrl) and none of memory stalls; the collectors of the host say why",
        )
    if stalls < STALLS_MIN:
        return MemoryBound("insensitive", "partial", f"{stalls:.0%} of the cycles wait for memory")
    return MemoryBound(
        None,
        None,
        f"{stalls:.0%} of the cycles wait for memory; whether for latency or bandwidth only counters of bandwidth tell",
    )


def _capacity(inventory: Mapping[str, Any], top_nodes: Sequence[int]) -> _Capacity | None:
    """Of all top nodes: benches of their own processors under load, else what firmware states of reads."""
    benches = [
        bench
        for bench in inventory.get("benches") or ()
        if bench.get("memory_node") in top_nodes
        and bench.get("cpu_node") == bench.get("memory_node")
        and bench.get("loaded")
    ]
    if top_nodes and {bench["memory_node"] for bench in benches} == set(top_nodes):
        total = sum(max(point["bandwidth_bytes_per_s"] for point in bench["loaded"]) for bench in benches)
        return _Capacity(float(total), tuple(benches)) if total > 0 else None
    nodes = {node.get("id"): node.get("read_bandwidth_mib_per_s") for node in inventory.get("nodes") or ()}
    stated = [nodes.get(node) for node in top_nodes]
    if not stated or not all(stated):
        return None
    return _Capacity(float(sum(float(rate) * MIB for rate in stated if rate)), ())


def _most_loaded(capacity: _Capacity, share: float) -> float | None:
    """Latency at this share of the bandwidth, of the node where it rises most; None without benches under load."""
    return max((_loaded_over_idle(bench["loaded"], share) for bench in capacity.loaded), default=None)


def _loaded_over_idle(points: Sequence[Mapping[str, Any]], share: float) -> float:
    """Latency at this share of the best bandwidth, against that of the least load, between measured points."""
    ordered = sorted(points, key=lambda point: float(point["bandwidth_bytes_per_s"]))
    loads = np.array([float(point["bandwidth_bytes_per_s"]) for point in ordered])
    latencies = np.array([float(point["latency_ns"]) for point in ordered])
    if loads[-1] <= 0 or latencies[0] <= 0:
        return 1.0
    return float(np.interp(share, loads / loads[-1], latencies) / latencies[0])


def _percentile_interval(values: Floats) -> tuple[float, float]:
    """Order statistics that hold the 95th percentile at the level, whatever the distribution; the ends where few do."""
    from scipy.stats import binom  # noqa: PLC0415 - slow to load, and few reads need it

    ordered, tail = np.sort(values), (1.0 - LEVEL) / 2
    share = PEAK_PERCENTILE / 100.0
    low = max(int(binom.ppf(tail, len(ordered), share)) - 1, 0)
    high = min(int(binom.ppf(1.0 - tail, len(ordered), share)), len(ordered) - 1)
    return float(ordered[low]), float(ordered[high])


def _rates_of(samples: Samples, top_nodes: Sequence[int]) -> tuple[Floats | None, str]:
    """Bytes per second that the top tier's nodes move, by interval, and who counts them; None where nobody does."""
    place = {key: i for i, key in enumerate(samples.keys)}
    for names in SOURCES:
        chosen = [place.get(f"node:{node}{name}") for node in top_nodes for name in names]
        known = [column for column in chosen if column is not None]
        if known and len(known) == len(chosen):
            rates, _ = _rates(samples, known)
            if len(rates):
                return rates.sum(axis=1), names[0].split("|")[1]
    return None, ""


def _stall_ratio(samples: Samples) -> float | None:
    """Share of cycles that wait for memory over the window; None where not counted."""
    place = {key: i for i, key in enumerate(samples.keys)}
    if any(name not in place for name in STALLS):
        return None
    rates, seconds = _rates(samples, [place[name] for name in STALLS])
    waited, cycles = (rates * seconds[:, None]).sum(axis=0) if len(rates) else (0.0, 0.0)
    return float(waited / cycles) if cycles > 0 else None


def _rates(samples: Samples, columns: Sequence[int]) -> tuple[Floats, Floats]:
    """Increase per second of each column in each sound interval [n, k], and the seconds of these [n]."""
    found = differences(
        samples.times_s,
        samples.boots,
        samples.values[:, list(columns)],
        samples.present[:, list(columns)],
        nominal_s=nominal_step(samples.times_s),
    )
    ok = found.ok.all(axis=1) & (found.dt_seconds > 0)
    rates: Floats = found.delta[ok] / found.dt_seconds[ok][:, None]
    return rates, found.dt_seconds[ok]
