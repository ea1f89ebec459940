"""The hosts of a service for its ratio: their kinds, what their memory was measured to do, and what they demand.

What a host's memory is like comes from its newest inventory, which a process takes apart once.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Any

import numpy as np

from tierscope.core.database import ReadSession
from tierscope.domain.base.figures import Figure, Window, absent
from tierscope.domain.fleet.host_facts import FAST_CLASSES, NOT_MEMORY
from tierscope.domain.ledger.doubt import read_doubts
from tierscope.domain.ratio.memory import (
    HostKind,
    MeasuredHost,
    MeasuredNode,
    MeasuredTiers,
    MemoryModel,
    group_alike,
    join_nodes,
    model_memory,
)
from tierscope.domain.ratio.memory_bound import (
    COUNTED_BY,
    DEVICES,
    STALLS,
    Floats,
    MemoryBound,
    MemoryNodes,
    bandwidth_keys,
    bind_memory,
    middle_bound,
    read_nodes,
    read_traffic,
)
from tierscope.domain.slowdown import Tier
from tierscope.storage.base.layouts import layouts_of_hosts, read_layouts
from tierscope.storage.base.subjects import scopes_of_hosts
from tierscope.storage.statistics.host_means import Cell, read_counter_means
from tierscope.usecases.base.hardware import BenchFigure, NodeBench, read_hardware
from tierscope.usecases.fleet.known_inventories import KnownInventories
from tierscope.usecases.ratio.answers import Subtracted

PEAK_QUANTILE = 0.95
_GIGA, _MICRO = 1e9, 1e6
LINE_BYTES = 64
CPU_TIME = "cpu.stat|usage_usec"
_READ = "|uncore|read_bytes"
_STALLS, _CYCLES = STALLS
MOST_KNOWN = 100_000
"""Hosts; about a kilobyte each where they measured their memory."""
_PARTS = ("cpu_model", "nodes", "tiers", "benches", "unmovable", "problems", "findings")
NO_KIND = HostKind(None, None, None)
"""Of hosts without an inventory."""
_NO_BANDWIDTH = "No host reports its memory bandwidth (resctrl or memory controller counters)."
_NO_READS = "No host reports both reads at its memory controllers and the processor time of the service."
_NO_STALLS = "No host reports cycles in which its processors wait for memory."


@dataclass(frozen=True, slots=True)
class HardwareFacts:
    """Hosts of a service; figures are of the median host.

    `slow_elsewhere`: slow memory is as other hosts measured it, because these have none. `reads`: lines that hosts read
    from memory for each second of the service's processor time. `bound`: what limits memory, on the host in the middle.
    `doubts`: files of these hosts that had a problem, in words.
    """

    memory: MemoryModel
    slow_elsewhere: bool
    demand: Figure
    stalls: Figure
    reads: Figure
    subtracted: tuple[Subtracted, ...]
    bound: MemoryBound
    doubts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class HostMemory:
    """What a host's inventory says of its memory. Bytes that cannot move are None where it does not say."""

    kind: HostKind
    measured: MeasuredTiers
    nodes: MemoryNodes
    hugetlb_bytes: float | None
    mlocked_bytes: float | None
    doubts: tuple[str, ...] = ()


class KnownMemory(KnownInventories[HostMemory]):
    """Memory of hosts."""

    def __init__(self) -> None:
        super().__init__(_PARTS, _read_memory, most=MOST_KNOWN)


def middle_slow_memory(hosts: Mapping[int, HostMemory]) -> Tier | None:
    """Slow memory as the benches of these hosts measured it; None where none did."""
    return model_memory([host.measured for host in hosts.values()]).slow


def read_hardware_facts(
    session: ReadSession,
    host_ids: Sequence[int],
    window: Window,
    *,
    memory_of: Mapping[int, HostMemory],
    elsewhere: Tier | None = None,
    service_id: int | None = None,
) -> HardwareFacts:
    """Read bandwidth counters of these hosts.

    Args:
        session: where to read.
        host_ids: hosts by number.
        window: of the counters.
        memory_of: memory of these hosts, and maybe of others; those without an inventory are missing.
        elsewhere: slow memory of other hosts, for hosts that have none.
        service_id: the service whose processor time is read; None for none.
    """
    # Of hosts with like figures the first one stands for all: in order, so that it is the same one each time.
    of_hosts = {host: memory_of[host] for host in sorted(host_ids) if host in memory_of}
    used = {f"{scope}|{CPU_TIME}" for scope in _scopes(session, host_ids, service_id)}
    keys = [*_keys(session, host_ids), *sorted(used)]
    cells = read_counter_means(session, host_ids, keys, (window.start, window.end), "metrics_10m")
    memory = model_memory([host.measured for host in of_hosts.values()])
    lends = memory.slow is None and memory.dram is not None and elsewhere is not None
    return HardwareFacts(
        memory=replace(memory, slow=elsewhere) if lends else memory,
        slow_elsewhere=lends,
        demand=_demand(cells, window),
        stalls=_stalls(cells, window),
        reads=_reads(cells, used, window),
        subtracted=_subtracted(list(of_hosts.values())),
        bound=_bind(of_hosts, cells),
        doubts=tuple(dict.fromkeys(doubt for host in of_hosts.values() for doubt in host.doubts)),
    )


def unknown_hardware(window: Window) -> HardwareFacts:
    """Where no host is known."""
    return HardwareFacts(
        model_memory([]),
        slow_elsewhere=False,
        demand=_demand([], window),
        stalls=_stalls([], window),
        reads=_reads([], (), window),
        subtracted=(),
        bound=middle_bound([]),
    )


def group_kinds(host_ids: Sequence[int], memory_of: Mapping[int, HostMemory]) -> list[tuple[HostKind, tuple[int, ...]]]:
    """The hosts by kind of hardware, the kind with the most hosts first."""
    return group_alike({host: memory_of[host].kind if host in memory_of else NO_KIND for host in host_ids})


def _keys(session: ReadSession, host_ids: Sequence[int]) -> list[str]:
    """Counters of bandwidth and of memory stalls that any of the hosts sends."""
    layouts = {layout for ids in layouts_of_hosts(session, host_ids).values() for layout in ids}
    return bandwidth_keys({key for names in read_layouts(session, layouts).values() for key in names})


def _bind(hosts: Mapping[int, HostMemory], cells: Sequence[Cell]) -> MemoryBound:
    """What limits memory, by ten-minute means: on each host, then on the one in the middle."""
    means: dict[int, dict[str, dict[int, float]]] = {host: {} for host in hosts}
    for cell in cells:
        means.setdefault(cell.host_id, {}).setdefault(cell.name, {})[cell.end_s] = cell.value
    return middle_bound([_bind_host(memory.nodes, means[host]) for host, memory in hosts.items()])


def _bind_host(nodes: MemoryNodes, means: Mapping[str, Mapping[int, float]]) -> MemoryBound:
    def rates_of(keys: Sequence[str]) -> Floats:
        ends_s = sorted(set.intersection(*(set(means[key]) for key in keys)))
        return np.array([[means[key][end_s] for key in keys] for end_s in ends_s], np.float64).reshape(-1, len(keys))

    return bind_memory(nodes, read_traffic(means, rates_of, nodes.top_nodes))


def _read_memory(body: Mapping[str, Any]) -> HostMemory:
    unmovable = read_hardware(body).unmovable
    return HostMemory(
        kind=_kind(body),
        measured=join_nodes(_measured(body)),
        nodes=read_nodes(body),
        hugetlb_bytes=_total([node.hugetlb_bytes for node in unmovable]),
        mlocked_bytes=_total([node.mlocked_bytes for node in unmovable]),
        doubts=read_doubts(body),
    )


def _is_slow(tier_class: str) -> bool:
    return tier_class not in (*FAST_CLASSES, *NOT_MEMORY, "unknown", "")


def _kind(body: Mapping[str, Any]) -> HostKind:
    sizes = {True: 0.0, False: 0.0}
    for node in body.get("nodes") or ():
        tier_class = str(node.get("tier_class") or "")
        if tier_class in FAST_CLASSES or _is_slow(tier_class):
            sizes[_is_slow(tier_class)] += float(node.get("memory_bytes") or 0)
    return HostKind(body.get("cpu_model") or None, sizes[False] or None, sizes[True] or None)


def _measured(body: Mapping[str, Any]) -> MeasuredHost:
    """Both tiers of a host as its newest bench measured them: each node from the processors nearest to it."""
    classes = {int(node["id"]): str(node.get("tier_class") or "") for node in body.get("nodes") or ()}
    nearest: dict[int, MeasuredNode] = {}
    for bench in read_hardware(body).benches:
        node = _node(bench)
        held = nearest.get(bench.memory_node)
        if held is None or (node.idle_ns or np.inf) < (held.idle_ns or np.inf):
            nearest[bench.memory_node] = node
    return MeasuredHost(
        dram=tuple(node for place, node in nearest.items() if classes.get(place) in FAST_CLASSES),
        slow=tuple(node for place, node in nearest.items() if _is_slow(classes.get(place, ""))),
    )


def _node(bench: NodeBench) -> MeasuredNode:
    figures = [figure for figure in bench.figures if not figure.disturbed]
    rates = _named(figures, "mixed_bandwidth") or _named(figures, "read_bandwidth")
    idle = _named(figures, "idle_latency")
    return MeasuredNode(
        bandwidth_gb_per_s=max(rates) / _GIGA if rates else None,
        idle_ns=min(idle) if idle else None,
        loaded=tuple(
            (point.bandwidth_bytes_per_s / _GIGA, point.latency_ns) for point in bench.loaded if not point.disturbed
        ),
    )


def _named(figures: Sequence[BenchFigure], name: str) -> list[float]:
    return [figure.median for figure in figures if figure.name == name and figure.median > 0.0]


def _demand(cells: Sequence[Cell], window: Window) -> Figure:
    """p95 over ten-minute means of the bytes per second that a host moves; the median host.

    Memory controllers move those of DRAM alone: those of CXL devices are added where they are counted.
    """
    for source in COUNTED_BY:
        totals: dict[int, dict[int, float]] = {}
        hosts = {cell.host_id for cell in cells if f"|{source}|" in cell.name}
        for cell in cells:
            device = source == "uncore" and cell.name.startswith(DEVICES) and cell.host_id in hosts
            if f"|{source}|" in cell.name or device:
                of_host = totals.setdefault(cell.host_id, {})
                of_host[cell.end_s] = of_host.get(cell.end_s, 0.0) + cell.value
        if totals:
            peaks = [float(np.quantile(list(rates.values()), PEAK_QUANTILE)) for rates in totals.values()]
            return _figure("ratio.demand_bytes_per_s/1", median(peaks), "bytes_per_s", totals, window)
    return absent("ratio.demand_bytes_per_s/1", "bytes_per_s", "not_collected", _NO_BANDWIDTH, window=window)


def _stalls(cells: Sequence[Cell], window: Window) -> Figure:
    """Share of cycles in which processors wait for memory beyond the last cache; the median host's mean."""
    sums: dict[int, dict[str, float]] = {}
    for cell in cells:
        if cell.name in (_STALLS, _CYCLES):
            of_host = sums.setdefault(cell.host_id, {_STALLS: 0.0, _CYCLES: 0.0})
            of_host[cell.name] += cell.value
    shares = [of_host[_STALLS] / of_host[_CYCLES] for of_host in sums.values() if of_host[_CYCLES] > 0.0]
    if not shares:
        return absent("ratio.memory_stall_ratio/1", "ratio", "not_collected", _NO_STALLS, window=window)
    return _figure("ratio.memory_stall_ratio/1", min(median(shares), 1.0), "ratio", sums, window)


def _scopes(session: ReadSession, host_ids: Sequence[int], service_id: int | None) -> set[str]:
    """How the hosts name the service in their counters."""
    found = {} if service_id is None else scopes_of_hosts(session, host_ids)
    return {named[service_id] for named in found.values() if service_id in named}


def _reads(cells: Sequence[Cell], used: Collection[str], window: Window) -> Figure:
    """Lines read from memory for each second of the service's processor time, over all hosts that count both.

    All reads of a host are taken for those of the service, those of prefetches among them: it is the most.
    """
    lines: dict[int, dict[int, float]] = {}
    seconds: dict[int, dict[int, float]] = {}
    for cell in cells:
        if cell.name in used:
            of_host = seconds.setdefault(cell.host_id, {})
            of_host[cell.end_s] = of_host.get(cell.end_s, 0.0) + cell.value / _MICRO
        elif cell.name.endswith(_READ) or cell.name.startswith(DEVICES):
            of_host = lines.setdefault(cell.host_id, {})
            of_host[cell.end_s] = of_host.get(cell.end_s, 0.0) + cell.value / LINE_BYTES
    both = {host: seconds[host].keys() & of.keys() for host, of in lines.items() if host in seconds}
    time_s = sum(seconds[host][end] for host, ends in both.items() for end in ends)
    if time_s <= 0.0:
        return absent("ratio.reads_per_cpu_s/1", "per_s", "not_collected", _NO_READS, window=window)
    read = sum(lines[host][end] for host, ends in both.items() for end in ends)
    return _figure("ratio.reads_per_cpu_s/1", read / time_s, "per_s", both, window)


def _figure(definition: str, value: float, unit: str, by_host: Mapping[int, object], window: Window) -> Figure:
    return Figure(
        definition,
        "ok",
        value,
        unit,
        method="counters",
        window=window,
        n_hosts=len(by_host),
        grade="good",
        grounding="L",
        warnings=("of the whole host: other services on it are counted too",),
    )


def _subtracted(hosts: Sequence[HostMemory]) -> tuple[Subtracted, ...]:
    """Memory of the median host that no tier move can change."""
    huge = [host.hugetlb_bytes for host in hosts if host.hugetlb_bytes is not None]
    locked = [host.mlocked_bytes for host in hosts if host.mlocked_bytes is not None]
    out = []
    if huge:
        out.append(Subtracted("hugetlb", median(huge), "reserved huge pages stay on their node"))
    if locked:
        out.append(Subtracted("mlocked", median(locked), "locked pages are not demoted"))
    if not out:
        out.append(Subtracted("unmovable memory", None, "no host says how much of its memory cannot move"))
    return tuple(out)


def _total(parts: Sequence[int | None]) -> float | None:
    known = [float(part) for part in parts if part is not None]
    return sum(known) if known else None
