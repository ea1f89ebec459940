"""Which time a measured interval gets, seen from the clocks of the host and of the service.

A host whose clock agrees with ours to `skew_limit_ns` is believed. Otherwise the time is rebuilt as arrival minus the
boot-time clock's distance, which needs a boot-time clock of the same boot on both ends. What lies too far in the past
or in the future is counted and left out.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Int64 = npt.NDArray[np.int64]
Bits = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class ArrivalRules:
    """Bounds, in nanoseconds."""

    late_ns: int = 7 * 86_400 * 10**9
    future_ns: int = 300 * 10**9
    skew_limit_ns: int = 30 * 10**9


@dataclass(frozen=True, slots=True)
class Clocks:
    """Clocks at the arrival of one batch.

    `host_wall_ns` and `host_boottime_ns` are the host's clocks at the moment that `arrival_ns` is the service's.
    None: unknown, or the data is a recording, whose times are its own.
    """

    arrival_ns: int
    host_wall_ns: int | None
    host_boottime_ns: int | None

    @property
    def skew_ns(self) -> int | None:
        """Host minus service; None where unknown."""
        return None if self.host_wall_ns is None else self.host_wall_ns - self.arrival_ns


@dataclass(frozen=True, slots=True, eq=False)
class Placed:
    """Times of n points and what became of each."""

    wall_ns: Int64
    keep: Bits
    corrected: Bits
    too_late: int
    set_aside: int


def place_times(
    wall_ns: Int64, boottime_ns: Int64 | None, same_boot: Bits | None, clocks: Clocks, rules: ArrivalRules
) -> Placed:
    """Places n points in time.

    `boottime_ns` (n,) is None where the host has no such clock; `same_boot` (n,) is None where all points are of the
    boot that `clocks` speaks of.
    """
    corrected = np.zeros(len(wall_ns), dtype=np.bool_)
    times = wall_ns
    skew = clocks.skew_ns
    skewed = skew is not None and abs(skew) > rules.skew_limit_ns
    if skewed and boottime_ns is not None and clocks.host_boottime_ns is not None:
        corrected = np.ones(len(wall_ns), dtype=np.bool_) if same_boot is None else same_boot.copy()
        times = np.where(corrected, clocks.arrival_ns - (clocks.host_boottime_ns - boottime_ns), wall_ns)
    late = times < clocks.arrival_ns - rules.late_ns
    future = times > clocks.arrival_ns + rules.future_ns
    return Placed(
        wall_ns=times,
        keep=~(late | future),
        corrected=corrected,
        too_late=int(late.sum()),
        set_aside=int(future.sum()),
    )


def boottime_of(wall_ns: Int64, clocks: Clocks) -> Int64 | None:
    """Returns the boot-time clock at moments of the host's wall clock, unless it was stepped since."""
    if clocks.host_wall_ns is None or clocks.host_boottime_ns is None:
        return None
    return clocks.host_boottime_ns - (clocks.host_wall_ns - wall_ns)
