"""Throughput of threads over two tiers of memory: bound by latency, or by the bandwidth of a tier.

Each thread does one unit of work after the other. Of its time with all memory in DRAM, `memory_ratio` waits for memory,
and grows with the share of accesses that go to the slower tier; threads add up until a tier gives no more bandwidth. So
one statement covers both of MEMO's findings (arXiv 2303.15375, section 5): redis, one thread, loses with every page on
CXL; embedding reduction on two channels gains, because CXL adds bandwidth where DRAM has none left.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

CHANNELS = 8
"""DRAM channels of the machine that MEMO measured."""


@dataclass(frozen=True, slots=True)
class Tiers:
    """The two tiers as a workload sees them.

    `latency_ratio`: of the slower tier over DRAM. `saturating_threads`: that many threads use all of DRAM's bandwidth;
    infinite where no number does. `bandwidth_ratio`: bandwidth of the slower tier over that of DRAM.
    """

    latency_ratio: float
    saturating_threads: float
    bandwidth_ratio: float

    def __post_init__(self) -> None:
        """Refuse tiers that cannot be.

        Raises:
            ValueError: names the field.
        """
        for name in self.__dataclass_fields__:
            if not getattr(self, name) > 0.0:
                raise ValueError(f"{name} must be above 0")


def thread_rate(threads: float, slow_ratio: float, *, memory_ratio: float, tiers: Tiers) -> float:
    """Work of all threads in units of one thread that has all memory in DRAM and bandwidth to spare.

    `slow_ratio` of accesses go to the slower tier.

    Raises:
        ValueError: a share is not in 0..1, or there is no thread.
    """
    if not (0.0 <= slow_ratio <= 1.0 and 0.0 <= memory_ratio <= 1.0 and threads > 0.0):
        raise ValueError("shares are in 0..1, and there is at least one thread")
    by_latency = threads / (1.0 + memory_ratio * slow_ratio * (tiers.latency_ratio - 1.0))
    by_dram = tiers.saturating_threads / (1.0 - slow_ratio) if slow_ratio < 1.0 else float("inf")
    by_slow = tiers.saturating_threads * tiers.bandwidth_ratio / slow_ratio if slow_ratio > 0.0 else float("inf")
    return min(by_latency, by_dram, by_slow)


@dataclass(frozen=True, slots=True)
class ThreadPreset:
    """A workload of a paper: `tiers` with all of the machine's DRAM channels, `scaled` whether fewer saturate sooner.

    `peak_per_s`: operations a second with all memory in DRAM, None where the paper gives shares alone.
    """

    label: str
    threads: tuple[int, ...]
    memory_ratio: float
    tiers: Tiers
    scaled: bool
    peak_per_s: float | None
    source: str

    def on(self, *, channels: int = CHANNELS, rho: float | None = None, gb_per_s: float | None = None) -> Tiers:
        """The tiers with so many DRAM channels, and with another device's latency ratio and bandwidth."""
        share = channels / CHANNELS if self.scaled else 1.0
        tiers = self.tiers if rho is None else replace(self.tiers, latency_ratio=rho)
        slow = tiers.bandwidth_ratio if gb_per_s is None else gb_per_s / DRAM_GB_PER_S
        if not self.scaled:
            return tiers
        return Tiers(tiers.latency_ratio, tiers.saturating_threads * share, slow / share)


DRAM_GB_PER_S, CXL_GB_PER_S = 221.0, 16.8
"""Peaks of sequential loads of MEMO's eight channels, and of its device beyond twelve threads [S]."""
FLUSHED_RHO = 2.2
"""Latency of a flushed line on MEMO's device over that of DRAM [S]."""
_REDIS_QPS, _REDIS_CXL_QPS = 80_000.0, 55_000.0

THREAD_PRESETS: Mapping[str, ThreadPreset] = {
    "dlrm": ThreadPreset(
        "DLRM, embedding reduction",
        (8, 16, 24, 28, 32, 40),
        0.6,
        Tiers(FLUSHED_RHO, 96.0, CXL_GB_PER_S / DRAM_GB_PER_S),
        scaled=True,
        peak_per_s=None,
        source="MEMO (MICRO 2023), figures 8 and 9: 50 to 70 % of time in memory, two channels flat at 24 threads [S]",
    ),
    "redis": ThreadPreset(
        "Redis under YCSB-A",
        (1,),
        (_REDIS_QPS / _REDIS_CXL_QPS - 1.0) / (FLUSHED_RHO - 1.0),
        Tiers(FLUSHED_RHO, math.inf, 1.0),
        scaled=False,
        peak_per_s=_REDIS_QPS,
        source="MEMO (MICRO 2023), figures 6 and 7: 80,000 operations/s in DRAM and 55,000 on CXL set the model [S]",
    ),
}


def tail_seconds(peak_per_s: float, offered_per_s: float, quantile: float = 0.99) -> float | None:
    """Response time at a quantile of one server with random arrivals and work (M/M/1); None from saturation on [A].

    A server that does `peak_per_s` at most answers within ln(1 / (1 - quantile)) / (peak - offered).
    """
    if offered_per_s >= peak_per_s:
        return None
    return math.log(1.0 / (1.0 - quantile)) / (peak_per_s - offered_per_s)
