"""Two tiers under bandwidth: what they deliver together, and the share of accesses that suits each."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

DEFAULT_LOAD = ((0.0, 1.0), (0.6, 1.15), (0.8, 1.6), (0.95, 3.0))
"""Utilisation and multiplier of the idle latency where no curve was measured [A]."""
FIRST_WEIGHT_SUM = 20
LAST_WEIGHT_SUM = 100
WEIGHT_TOLERANCE = 0.01


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


def bandwidth_loss(dram_gb_per_s: float, cxl_gb_per_s: float, demand_gb_per_s: float, share_on_cxl: float) -> float:
    """Share of the demand that both tiers together do not deliver at this share of accesses on CXL; 0 where they do."""
    if demand_gb_per_s <= 0.0:
        return 0.0
    return max(1.0 - deliverable(dram_gb_per_s, cxl_gb_per_s, share_on_cxl) / demand_gb_per_s, 0.0)
