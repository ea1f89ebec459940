"""What limits a host's memory, bandwidth or latency: the best evidence that the host reports, with its grade.

Advice on a host's settings, on a service's ratio and its objectives all ask here, so that they say the same.
"""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy

from tierscope.domain.base.figures import Grade
from tierscope.domain.ledger.machine import read_machine
from tierscope.domain.ratio.choice import STALLS_MAX, ServiceClass, classify_service

Floats = npt.NDArray[np.float64]
RatesOf = Callable[[Sequence[str]], Floats]
"""Increase per second of k counters [n, k], in the n intervals in which all of them are known."""

PEAK_PERCENTILE = 95.0
LEVEL = 0.95
SOURCES: tuple[tuple[str, ...], ...] = (("|uncore|read_bytes", "|uncore|write_bytes"), ("|resctrl|mbm_total_bytes",))
"""Counters at the memory controllers, else those of the processors' caches, which hold slower memory too."""
COUNTED_BY = tuple(names[0].split("|")[1] for names in SOURCES)
"""The sources by name, in this order."""
DEVICES = "host|cxl_pmu|"
STALLS = ("host|memory_stall|stall_cycles", "host|memory_stall|cycles")
UNKNOWN_LOSS = 1.0
"""Where the loss at 1:1 is not known, no host is called insensitive."""
STALLS_MIN = 0.10
"""Share of cycles waiting for memory below which neither bandwidth nor latency limits a host [A]."""
LOADED_UNKNOWN = 1.0
MIB = 1 << 20
NO_COUNTER = "no counter of bandwidth (uncore, resctrl) and none of memory stalls; the collectors of the host say why"


@dataclass(frozen=True, slots=True)
class MemoryTraffic:
    """Bytes per second by interval [n] at DRAM and at CXL devices, None where nobody counts them.

    `source`: who counts DRAM's. `stall_ratio`: share of the cycles that wait for memory; None where not counted.
    """

    dram_bytes_per_s: Floats | None
    source: str
    slow_bytes_per_s: Floats | None
    stall_ratio: float | None


@dataclass(frozen=True, slots=True)
class MemoryBound:
    """What limits a host's memory; `name` None where it cannot be told, with the `reason`.

    `utilisation_p95`: of DRAM's bandwidth over `intervals` intervals, with its 95 % interval; None where not counted.
    `loaded_over_idle`: how much latency has risen there, infinite where processors wait for memory as if it had.
    `slow`: use of the bandwidth of slow memory, None where no CXL device is counted. `stall_ratio` as in traffic.
    """

    name: ServiceClass | None
    grade: Grade | None
    reason: str
    utilisation_p95: float | None = None
    low: float | None = None
    high: float | None = None
    intervals: int = 0
    loaded_over_idle: float | None = None
    slow: "SlowUse | None" = None
    stall_ratio: float | None = None

    @property
    def sentence(self) -> str:
        """The reason as a sentence."""
        return f"{self.reason[:1].upper()}{self.reason[1:]}."

    def given_loss(self, upper_loss_at_even: float | None) -> "MemoryBound":
        """The same where the upper loss at 1:1 is known: it tells hosts that do not care from those that wait."""
        if self.name != "latency" or self.utilisation_p95 is None or upper_loss_at_even is None:
            return self
        name = classify_service(
            dram_utilisation_p95=self.utilisation_p95,
            loaded_over_idle=LOADED_UNKNOWN,
            upper_loss_at_even=upper_loss_at_even,
        )
        return replace(self, name=name)


@dataclass(frozen=True, slots=True)
class SlowUse:
    """Use of the bandwidth of slow memory: its 95th percentile over `intervals`, with its 95 % interval."""

    p95: float
    low: float
    high: float
    intervals: int


@dataclass(frozen=True, slots=True)
class Capacity:
    """Bytes per second that a tier delivers; `loaded` are the benches under load, empty where there are none."""

    bytes_per_s: float
    loaded: tuple[tuple[tuple[float, float], ...], ...]
    of_what: str


@dataclass(frozen=True, slots=True)
class MemoryNodes:
    """What an inventory says of memory: the nodes of the top tier, and what it and slower memory deliver.

    `top` is None where nothing says what it delivers, `slow` also where there is none.
    """

    top_nodes: tuple[int, ...]
    top: Capacity | None
    slow: Capacity | None


def bandwidth_keys(keys: Collection[str]) -> list[str]:
    """Those counters of a layout that tell what limits memory."""
    suffixes = tuple(name for names in SOURCES for name in names)
    return [key for key in keys if key.endswith(suffixes) or key.startswith(DEVICES) or key in STALLS]


def read_traffic(keys: Collection[str], rates_of: RatesOf, top_nodes: Sequence[int]) -> MemoryTraffic:
    """What flows at the nodes of the top tier and at CXL devices.

    Caches count whatever memory their lines come from, so what flows at CXL devices is taken off where that is counted.
    """
    devices = [key for key in keys if key.startswith(DEVICES)]
    slow = rates_of(devices).sum(axis=1) if devices else np.empty(0)
    dram, source = _dram_rates(keys, rates_of, top_nodes, devices)
    return MemoryTraffic(dram, source, slow if len(slow) else None, _stall_ratio(keys, rates_of))


def read_nodes(inventory: Mapping[str, Any] | None) -> MemoryNodes:
    """Read an inventory; None reads as one that says nothing."""
    body = inventory or {}
    top, slow = _nodes(body)
    return MemoryNodes(top, _capacity(body, top, own=True), _capacity(body, slow, own=False))


def bind_memory(nodes: MemoryNodes, traffic: MemoryTraffic) -> MemoryBound:
    """What limits the memory of a host with these nodes.

    In order of what is there: bandwidth in use against the bench under load (`good`); against a bench without load or
    what firmware states, with the cycles that wait for memory in place of the loaded latency (`partial`); those cycles
    alone, which can only rule both out. Where the ends of the interval say different things the grade is `early`.
    """
    slow_use = _slow_use(traffic, nodes.slow)
    if traffic.dram_bytes_per_s is None:
        return replace(_by_stalls(traffic.stall_ratio), slow=slow_use, stall_ratio=traffic.stall_ratio)
    capacity = nodes.top
    if capacity is None:
        reason = "bandwidth in use is counted, and what DRAM delivers is not known: run `tierscope-agent bench`"
        return MemoryBound(None, None, reason, slow=slow_use, stall_ratio=traffic.stall_ratio)
    shares = traffic.dram_bytes_per_s / capacity.bytes_per_s
    peak, (low, high) = float(np.percentile(shares, PEAK_PERCENTILE)), _percentile_interval(shares)
    names = [_name(share, capacity, traffic.stall_ratio) for share in (low, peak, high)]
    grade: Grade = "good" if capacity.loaded else "partial"
    if len(set(names)) > 1:
        grade = "early"
    risen = _risen(capacity, peak, traffic.stall_ratio)
    return MemoryBound(
        names[1],
        grade,
        f"DRAM runs at {peak:.0%} of {capacity.of_what} at the 95th percentile ({traffic.source}){risen}",
        peak,
        low,
        high,
        len(shares),
        _loaded_over_idle(peak, capacity, traffic.stall_ratio),
        slow_use,
        traffic.stall_ratio,
    )


def middle_bound(bounds: Sequence[MemoryBound]) -> MemoryBound:
    """Of several hosts the one in the middle by its use of DRAM; `early` where others are of another class."""
    known = sorted(
        (bound for bound in bounds if bound.name is not None), key=lambda bound: bound.utilisation_p95 or 0.0
    )
    if not known:
        reasons = Counter(bound.reason for bound in bounds)
        return MemoryBound(None, None, reasons.most_common(1)[0][0] if reasons else "no host of the service is known")
    middle = known[len(known) // 2]
    if len(bounds) == 1:
        return middle
    alike = sum(bound.name == middle.name for bound in known)
    silent = len(bounds) - len(known)
    told = f"{middle.reason}, on the host in the middle; {alike} of {len(known)} hosts are of this class"
    return replace(
        middle,
        grade=middle.grade if alike == len(known) else "early",
        reason=told if not silent else f"{told}, {silent} more cannot tell",
    )


def _nodes(body: Mapping[str, Any]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Nodes of the top tier, and those of slower ones that hold memory."""
    sizes = {
        int(node["id"]): node.get("memory_bytes") for node in body.get("nodes") or () if node.get("id") is not None
    }
    top = read_machine(body).tiers.top_nodes
    return (
        tuple(node for node in sorted(sizes) if node in top),
        tuple(node for node in sorted(sizes) if node not in top and sizes[node] != 0),
    )


def _slow_use(traffic: MemoryTraffic, capacity: Capacity | None) -> SlowUse | None:
    if traffic.slow_bytes_per_s is None or capacity is None:
        return None
    shares = traffic.slow_bytes_per_s / capacity.bytes_per_s
    return SlowUse(float(np.percentile(shares, PEAK_PERCENTILE)), *_percentile_interval(shares), len(shares))


def _name(share: float, capacity: Capacity, stalls: float | None) -> ServiceClass:
    loaded = _loaded_over_idle(share, capacity, stalls)
    return classify_service(dram_utilisation_p95=share, loaded_over_idle=loaded, upper_loss_at_even=UNKNOWN_LOSS)


def _loaded_over_idle(share: float, capacity: Capacity, stalls: float | None) -> float:
    """How much latency has risen at this use of DRAM, of the node where it rises most.

    Cycles that wait for memory say of a busy DRAM what a risen latency says; without them nothing does.
    """
    if capacity.loaded:
        return max(_rise(points, share) for points in capacity.loaded)
    return float("inf") if stalls is not None and stalls > STALLS_MAX else LOADED_UNKNOWN


def _risen(capacity: Capacity, share: float, stalls: float | None) -> str:
    if capacity.loaded:
        times = _loaded_over_idle(share, capacity, stalls)
        return f", where its latency is {times:.1f} times that of idle memory"
    if stalls is None:
        return "; neither latency under load nor cycles that wait for memory are known"
    return f"; {stalls:.0%} of the cycles wait for memory"


def _by_stalls(stalls: float | None) -> MemoryBound:
    if stalls is None:
        return MemoryBound(None, None, NO_COUNTER)
    if stalls < STALLS_MIN:
        return MemoryBound("insensitive", "partial", f"{stalls:.0%} of the cycles wait for memory")
    return MemoryBound(
        None,
        None,
        f"{stalls:.0%} of the cycles wait for memory; whether for latency or bandwidth only counters of bandwidth tell",
    )


def _capacity(body: Mapping[str, Any], nodes: Sequence[int], *, own: bool) -> Capacity | None:
    """Of all these nodes: benches under load, else without, else what firmware states of reads.

    `own`: by the processors of the node itself, which far ones cannot stand for.
    """
    if not nodes:
        return None
    benches = [
        bench
        for bench in body.get("benches") or ()
        if bench.get("memory_node") in nodes and (not own or bench.get("cpu_node") == bench.get("memory_node"))
    ]
    loaded = [(bench["memory_node"], points) for bench in benches if (points := _points(bench))]
    if {node for node, _ in loaded} == set(nodes):
        best = [max(rate for at, points in loaded if at == node for rate, _ in points) for node in nodes]
        return Capacity(sum(best), tuple(points for _, points in loaded), "its measured bandwidth")
    measured = [max((rate for bench in benches for rate in _figures(bench, node)), default=0.0) for node in nodes]
    if all(measured):
        return Capacity(sum(measured), (), "its measured bandwidth")
    rates = {node.get("id"): node.get("read_bandwidth_mib_per_s") for node in body.get("nodes") or ()}
    stated = [float(rates.get(node) or 0.0) * MIB for node in nodes]
    return Capacity(sum(stated), (), "the bandwidth that firmware states") if all(stated) else None


def _points(bench: Mapping[str, Any]) -> tuple[tuple[float, float], ...]:
    """Bytes per second and latency in ns under rising load."""
    found = [
        (float(point["bandwidth_bytes_per_s"]), float(point["latency_ns"]))
        for point in bench.get("loaded") or ()
        if not point.get("disturbed")
    ]
    return tuple(sorted(found)) if any(rate > 0.0 for rate, _ in found) else ()


def _figures(bench: Mapping[str, Any], node: int) -> list[float]:
    if bench.get("memory_node") != node:
        return []
    return [
        float(figure["median"])
        for figure in bench.get("figures") or ()
        if figure.get("name") in ("mixed_bandwidth", "read_bandwidth") and not figure.get("disturbed")
    ]


def _rise(points: Sequence[tuple[float, float]], share: float) -> float:
    """Latency at this share of the best bandwidth, against that of the least load, between measured points."""
    loads, latencies = np.array(points).T
    if latencies[0] <= 0.0:
        return LOADED_UNKNOWN
    return float(np.interp(share, loads / loads[-1], latencies) / latencies[0])


def _percentile_interval(values: Floats) -> tuple[float, float]:
    """Order statistics that hold the 95th percentile at the level, whatever the distribution; the ends where few do."""
    ordered, tail = np.sort(values), (1.0 - LEVEL) / 2
    up_to = scipy.special.bdtr(np.arange(len(ordered) + 1), len(ordered), PEAK_PERCENTILE / 100.0)
    low = max(int(np.searchsorted(up_to, tail)) - 1, 0)
    high = min(int(np.searchsorted(up_to, 1.0 - tail)), len(ordered) - 1)
    return float(ordered[low]), float(ordered[high])


def _dram_rates(
    keys: Collection[str], rates_of: RatesOf, nodes: Sequence[int], devices: Sequence[str]
) -> tuple[Floats | None, str]:
    """Bytes per second that the top tier's nodes move, by interval, and who counts them; None where nobody does."""
    for source, names in zip(COUNTED_BY, SOURCES, strict=True):
        chosen = [f"node:{node}{name}" for node in nodes for name in names]
        if not chosen or any(key not in keys for key in chosen):
            continue
        less = list(devices) if source == "resctrl" else []
        rates = rates_of([*chosen, *less])
        if len(rates):
            flow = rates[:, : len(chosen)].sum(axis=1) - rates[:, len(chosen) :].sum(axis=1)
            return np.maximum(flow, 0.0), f"{source} less cxl_pmu" if less else source
    return None, ""


def _stall_ratio(keys: Collection[str], rates_of: RatesOf) -> float | None:
    """Share of cycles that wait for memory over the window; None where not counted."""
    if any(name not in keys for name in STALLS):
        return None
    rates = rates_of(STALLS)
    waited, cycles = rates.sum(axis=0) if len(rates) else (0.0, 0.0)
    return float(min(waited / cycles, 1.0)) if cycles > 0 else None
