"""Throughput of threads over two tiers of memory: bound by latency, or by the bandwidth of a tier.

Each thread does one unit of work after the other. Of its time with all memory in DRAM, `memory_ratio` waits for memory,
and grows with the share of accesses that go to the slower tier; threads add up until a tier gives no more bandwidth. So
one statement covers both of MEMO's findings (arXiv 2303.15375, section 5): redis, one thread, loses with every page on
CXL; embedding reduction on two channels gains, because CXL adds bandwidth where DRAM has none left.
"""

from dataclasses import dataclass


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
