"""The memory of hosts as measured on them: bandwidth and latency of both tiers, and whether hosts are alike."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from tierscope.domain.slowdown.bandwidth import LoadedLatency, Tier

ALIKE = 1.05
"""Hosts whose memory differs by no more than this factor are of one kind: firmware keeps some for itself."""


@dataclass(frozen=True, slots=True)
class HostKind:
    """What makes hosts comparable. Sizes in bytes; None where the inventory does not say."""

    cpu_model: str | None
    dram_bytes: float | None
    slow_bytes: float | None

    def is_like(self, other: "HostKind") -> bool:
        """Whether both are of one kind."""
        return (
            self.cpu_model == other.cpu_model
            and _close(self.dram_bytes, other.dram_bytes)
            and _close(self.slow_bytes, other.slow_bytes)
        )


def group_alike(kinds: Mapping[int, HostKind]) -> list[tuple[HostKind, tuple[int, ...]]]:
    """Hosts by number in groups of one kind, the largest group first; the first host of a group stands for it."""
    groups: list[tuple[HostKind, list[int]]] = []
    for host, kind in kinds.items():
        for first, hosts in groups:
            if kind.is_like(first):
                hosts.append(host)
                break
        else:
            groups.append((kind, [host]))
    return [(kind, tuple(hosts)) for kind, hosts in sorted(groups, key=lambda group: -len(group[1]))]


@dataclass(frozen=True, slots=True)
class MeasuredNode:
    """Memory of one node from the processors of its own or the nearest one: GB/s, ns, and loaded (GB/s, ns) pairs."""

    bandwidth_gb_per_s: float | None
    idle_ns: float | None
    loaded: tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True)
class MeasuredHost:
    """Both tiers of one host; nodes of a tier add up in bandwidth."""

    dram: tuple[MeasuredNode, ...]
    slow: tuple[MeasuredNode, ...]


@dataclass(frozen=True, slots=True)
class MeasuredTiers:
    """Both tiers of one host as a whole; None where one was not measured."""

    dram: Tier | None
    slow: Tier | None


@dataclass(frozen=True, slots=True)
class MemoryModel:
    """The median host. None where no host was measured."""

    dram: Tier | None
    slow: Tier | None
    n_hosts: int

    def latency_ratio(self, utilisation: float = 0.0) -> float | None:
        """Latency of slow memory over that of DRAM, both at this utilisation of their bandwidth."""
        if self.dram is None or self.slow is None:
            return None
        fast, slow = self.dram.loaded_latency.at(utilisation), self.slow.loaded_latency.at(utilisation)
        return None if fast is None or slow is None else slow / fast

    def loaded_over_idle(self, utilisation: float) -> float | None:
        """How much DRAM's latency has risen at this utilisation; at most as far as it was measured."""
        if self.dram is None:
            return None
        curve = self.dram.loaded_latency
        at = curve.at(min(utilisation, curve.points[-1][0]))
        return None if at is None else at / curve.idle_ns


def join_nodes(host: MeasuredHost) -> MeasuredTiers:
    """The tiers of a host from its nodes."""
    return MeasuredTiers(_tier(host.dram), _tier(host.slow))


def model_memory(hosts: Sequence[MeasuredTiers]) -> MemoryModel:
    """The median of the hosts on which a tier was measured."""
    dram = [host.dram for host in hosts if host.dram is not None]
    slow = [host.slow for host in hosts if host.slow is not None]
    return MemoryModel(_middle(dram), _middle(slow), max(len(dram), len(slow)))


def _tier(nodes: Sequence[MeasuredNode]) -> Tier | None:
    """All nodes of a tier: bandwidths add up, latency is that of the median node."""
    rates = [node.bandwidth_gb_per_s for node in nodes if node.bandwidth_gb_per_s]
    idles = [node for node in nodes if node.idle_ns]
    if not rates or not idles:
        return None
    idles.sort(key=lambda node: node.idle_ns or 0.0)
    node = idles[len(idles) // 2]
    return Tier(sum(rates), _curve(node))


def _curve(node: MeasuredNode) -> LoadedLatency:
    assert node.idle_ns is not None
    best = node.bandwidth_gb_per_s or 0.0
    points = [(min(rate / best, 1.0), ns) for rate, ns in node.loaded if best > 0.0 and rate > 0.0]
    if not points:
        return LoadedLatency.default(node.idle_ns)
    return LoadedLatency.measured([(0.0, node.idle_ns), *points])


def _middle(tiers: Sequence[Tier]) -> Tier | None:
    """The tier of the host in the middle by latency, with the median bandwidth."""
    if not tiers:
        return None
    ordered = sorted(tiers, key=lambda tier: tier.loaded_latency.idle_ns)
    bandwidth = median(tier.bandwidth_gb_per_s for tier in tiers)
    return Tier(bandwidth, ordered[len(ordered) // 2].loaded_latency)


def _close(one: float | None, other: float | None) -> bool:
    if not one or not other:
        return not one and not other
    return max(one, other) <= ALIKE * min(one, other)
