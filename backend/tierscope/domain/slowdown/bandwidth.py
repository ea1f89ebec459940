"""Two tiers under bandwidth: what they deliver together, and the share of accesses that suits each."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

DEFAULT_LOAD = ((0.0, 1.0), (0.6, 1.15), (0.8, 1.6), (0.95, 3.0))
"""Utilisation and multiplier of the idle latency where no curve was measured [A]."""
FIRST_WEIGHT_SUM = 20
LAST_WEIGHT_SUM = 100
WEIGHT_TOLERANCE = 0.01
BISECTIONS = 60


@dataclass(frozen=True, slots=True)
class LoadedLatency:
    """Latency in ns by utilisation, from points in rising order of utilisation; linear between them."""

    idle_ns: float
    points: tuple[tuple[float, float], ...]

    @classmethod
    def default(cls, idle_ns: float) -> "LoadedLatency":
        """The assumed curve, for tiers without a measured one."""
        return cls(idle_ns, tuple((load, idle_ns * factor) for load, factor in DEFAULT_LOAD))

    @classmethod
    def measured(cls, points: Sequence[tuple[float, float]]) -> "LoadedLatency":
        """From (utilisation, ns) pairs of a measured curve; the first one is taken as idle."""
        ordered = tuple(sorted(points))
        if len(ordered) < 2:  # noqa: PLR2004 - a line needs two points
            raise ValueError("a curve needs at least two points")
        return cls(ordered[0][1], ordered)

    def at(self, utilisation: float) -> float | None:
        """Latency in ns; None above the last point: not deliverable."""
        loads, values = zip(*self.points, strict=True)
        return float(np.interp(utilisation, loads, values)) if utilisation <= loads[-1] else None


@dataclass(frozen=True, slots=True)
class Tier:
    """A tier's achievable bandwidth at the service's mix of reads and writes, and its latency under load."""

    bandwidth_gb_per_s: float
    loaded_latency: LoadedLatency


def balanced_share(dram_gb_per_s: float, cxl_gb_per_s: float) -> float:
    """Share of accesses on CXL at which both tiers saturate together (BATMAN)."""
    return cxl_gb_per_s / (dram_gb_per_s + cxl_gb_per_s)


def gain_bound(dram_gb_per_s: float, cxl_gb_per_s: float) -> float:
    """Most that a bandwidth-bound service can gain over DRAM alone, as a factor."""
    return (dram_gb_per_s + cxl_gb_per_s) / dram_gb_per_s


def deliverable(dram_gb_per_s: float, cxl_gb_per_s: float, share_on_cxl: float) -> float:
    """Bandwidth in GB/s that both tiers deliver at this share of accesses on CXL."""
    return 1.0 / max(share_on_cxl / cxl_gb_per_s, (1.0 - share_on_cxl) / dram_gb_per_s)


def equal_latency_share(dram: Tier, cxl: Tier, demand_gb_per_s: float) -> float | None:
    """Share of accesses on CXL at which both tiers have the same loaded latency (Colloid).

    0 where DRAM under the whole demand is still faster than idle CXL; None where no share delivers the demand.
    """

    def latencies(share: float) -> tuple[float | None, float | None]:
        on_dram = dram.loaded_latency.at((1.0 - share) * demand_gb_per_s / dram.bandwidth_gb_per_s)
        return on_dram, cxl.loaded_latency.at(share * demand_gb_per_s / cxl.bandwidth_gb_per_s)

    alone, _ = latencies(0.0)
    if alone is not None and alone < cxl.loaded_latency.idle_ns:
        return 0.0
    low, high = 0.0, 1.0
    for _ in range(BISECTIONS):
        middle = (low + high) / 2.0
        on_dram, on_cxl = latencies(middle)
        if on_dram is None and on_cxl is None:
            return None
        if on_dram is None or (on_cxl is not None and on_dram > on_cxl):
            low = middle
        else:
            high = middle
    on_dram, on_cxl = latencies(high)
    return high if on_dram is not None and on_cxl is not None else None


def interleave_weights(share_on_cxl: float) -> tuple[int, int] | None:
    """Weights (DRAM, CXL) for weighted interleave, the smallest ones within a hundredth of the share.

    None below a hundredth: no interleave.
    """
    if share_on_cxl < WEIGHT_TOLERANCE:
        return None
    for last in (FIRST_WEIGHT_SUM, LAST_WEIGHT_SUM):
        for total in range(2, last + 1):
            on_cxl = min(range(1, total), key=lambda weight: abs(weight / total - share_on_cxl))
            if abs(on_cxl / total - share_on_cxl) <= WEIGHT_TOLERANCE:
                return total - on_cxl, on_cxl
    return None


def best_share(shares: Sequence[float], dram_gb_per_s: float, cxl_gb_per_s: float) -> float:
    """The share among these that delivers most; the first one among equals."""
    return max(shares, key=lambda share: deliverable(dram_gb_per_s, cxl_gb_per_s, share))


def bandwidth_loss(dram_gb_per_s: float, cxl_gb_per_s: float, demand_gb_per_s: float, share_on_cxl: float) -> float:
    """Share of the demand that both tiers together do not deliver at this share of accesses on CXL; 0 where they do."""
    if demand_gb_per_s <= 0.0:
        return 0.0
    return max(1.0 - deliverable(dram_gb_per_s, cxl_gb_per_s, share_on_cxl) / demand_gb_per_s, 0.0)
