"""Daily points of capacity: the 95th percentile over a day's hours of what a service or a host group holds.

Inputs are hourly means by host [hosts, 24], NaN where not collected. Sums over hosts are made hour by hour and the
percentile is taken of the sums: percentiles of hosts do not add up. An hour counts where at least 90 % of the hosts
that were seen that day have a value; hosts that are missing in it are made up for by the others' mean.
"""

from dataclasses import dataclass
from datetime import timedelta

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

SETTLED = timedelta(hours=2)
"""After a day's end, for late data and for the worker to sum it up."""
HOURS = 24
PEAK = 95
MIN_PRESENT = 0.9
MIN_HOURS = 18
"""Hours that a day needs to be a point of a forecast: a day that is cut short may have missed its peak."""
BUSY = 0.9
"""Share of processor time from which a host takes no more work, so that its free DRAM is stranded. [A]"""


@dataclass(frozen=True, slots=True)
class HeatHours:
    """Bytes by heat-measured host and hour [m, 24]: resident, hot, cold, and not seen active at all."""

    resident: Floats
    hot: Floats
    cold: Floats
    untouched: Floats
    method: str | None

    @property
    def n_hosts(self) -> int:
        """Hosts with any hour."""
        return int(np.isfinite(self.resident).any(axis=1).sum())


@dataclass(frozen=True, slots=True)
class HostHours:
    """Memory of hosts: `total`, `dram` [n]; `used`, free DRAM and busy share of the processors [n, 24].

    `used` leaves out what the kernel can reclaim (`MemTotal` - `MemAvailable`); `reclaimable` [n, 24] is that part
    (`MemAvailable` - `MemFree`).
    """

    total: Floats
    dram: Floats
    used: Floats
    free_dram: Floats
    busy: Floats
    reclaimable: Floats


@dataclass(frozen=True, slots=True)
class CapacityDay:
    """One daily point; bytes, None where not collected.

    `used_bytes`: what of `resident_bytes` the kernel cannot reclaim.
    """

    n_hosts: int
    n_hours: int
    heat_hosts: int
    heat_method: str | None
    resident_source: str | None
    capacity_bytes: float | None
    dram_bytes: float | None
    used_bytes: float | None
    resident_bytes: float | None
    hot_bytes: float | None
    cold_bytes: float | None
    untouched_bytes: float | None
    stranded_bytes: float | None
    busy_cores: float | None = None

    @property
    def in_use_bytes(self) -> float | None:
        """What must find a place: memory that the kernel cannot reclaim, or all where nobody tells it apart."""
        return self.resident_bytes if self.used_bytes is None else self.used_bytes

    @property
    def is_whole(self) -> bool:
        """Whether enough of the day was seen to be a point of a forecast."""
        return self.n_hours >= MIN_HOURS


def service_day(
    resident: Floats, source: str | None, hosts: HostHours, heat: HeatHours | None, cores: Floats, cache: Floats
) -> CapacityDay | None:
    """The point of a service: `resident`, `cores` [n, 24] on each of its hosts; without the former what heat says.

    None without either. Its capacity is what it could grow to while all that others on its hosts hold and the kernel
    cannot reclaim stays as it is: never more than its hosts have. `cache` [n, 24] is the part of `resident` that the
    kernel can reclaim, which `used` of the hosts does not hold, NaN where it is not counted: then the capacity leaves
    as much as may be, and all that is held counts as used.
    """
    held = hourly_sum(resident)
    if not np.isfinite(held).any() and heat is not None:
        held, source = _measured(heat, len(hosts.total)), "heat"
    if not np.isfinite(held).any():
        return None
    used, total = hourly_sum(hosts.used), _total(hosts.total)
    counted = hourly_sum(cache)
    own_cache = np.where(np.isfinite(counted), counted, np.minimum(held, hourly_sum(hosts.reclaimable)))
    room = None if total is None else _middle(np.minimum(total, np.maximum(total - used + held - own_cache, held)))
    return CapacityDay(
        n_hosts=max(len(resident), 0 if heat is None else heat.n_hosts),
        n_hours=int(np.isfinite(held).sum()),
        heat_hosts=0 if heat is None else heat.n_hosts,
        heat_method=None if heat is None else heat.method,
        resident_source=source,
        capacity_bytes=room if room is not None else total,
        dram_bytes=_total(hosts.dram),
        used_bytes=_peak(held - np.where(np.isfinite(counted), np.minimum(counted, held), 0.0)),
        resident_bytes=_peak(held),
        stranded_bytes=None,
        busy_cores=_peak(hourly_sum(cores)),
        **_by_heat(held, heat),
    )


def group_day(hosts: HostHours, heat: HeatHours | None, resident: Floats) -> CapacityDay | None:
    """The point of a host group: what its hosts use of all their memory; None where no host says.

    Hot and cold memory is of all that services hold there, page cache with it, as the points of services have it:
    `resident` [n, 24] of all services of each host, without which what heat says.
    """
    used, held = hourly_sum(hosts.used), hourly_sum(resident)
    if not np.isfinite(held).any() and heat is not None:
        held = _measured(heat, len(hosts.total))
    if not np.isfinite(used).any():
        return None
    return CapacityDay(
        n_hosts=len(hosts.total),
        n_hours=int(np.isfinite(used).sum()),
        heat_hosts=0 if heat is None else heat.n_hosts,
        heat_method=None if heat is None else heat.method,
        resident_source="meminfo",
        capacity_bytes=_total(hosts.total),
        dram_bytes=_total(hosts.dram),
        used_bytes=_peak(used),
        resident_bytes=_peak(used),
        stranded_bytes=_stranded(hosts),
        **_by_heat(held, heat),
    )


def hourly_sum(values: Floats) -> Floats:
    """Sums over hosts by hour [24], made up to all hosts that were seen that day; NaN where too few have a value."""
    if not len(values):
        return np.full(HOURS, np.nan)
    known = np.isfinite(values)
    present, seen = known.sum(axis=0), int(known.any(axis=1).sum())
    sums = np.where(known, values, 0.0).sum(axis=0)
    enough = (present > 0) & (present >= MIN_PRESENT * seen)
    return np.where(enough, sums * seen / np.maximum(present, 1), np.nan)


def _by_heat(held: Floats, heat: HeatHours | None) -> dict[str, float | None]:
    """Hot, cold and untouched bytes: shares of what was measured, of all that is held."""
    if heat is None:
        return {"hot_bytes": None, "cold_bytes": None, "untouched_bytes": None}
    measured = np.nansum(heat.resident, axis=0)

    def of(part: Floats) -> Floats:
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(np.where(measured > 0, np.nansum(part, axis=0) / measured, np.nan) * held)

    return {
        "hot_bytes": _peak(of(heat.hot)),
        "cold_bytes": _middle(of(heat.cold)),
        "untouched_bytes": _middle(of(heat.untouched)),
    }


def _stranded(hosts: HostHours) -> float | None:
    """Mean over hours of the free DRAM of hosts whose processors are taken; None where processors are not counted."""
    known = np.isfinite(hosts.free_dram) & np.isfinite(hosts.busy)
    if not known.any():
        return None
    stranded = np.where(known, np.where(hosts.busy >= BUSY, hosts.free_dram, 0.0), np.nan)
    return _mean(hourly_sum(stranded))


def _measured(heat: HeatHours, hosts: int) -> Floats:
    """What is resident on the hosts whose heat is measured, made up to all of them [24]."""
    return hourly_sum(heat.resident) * (hosts / heat.n_hosts if heat.n_hosts else np.nan)


def _total(values: Floats) -> float | None:
    known = values[np.isfinite(values)]
    return float(known.sum()) * len(values) / len(known) if len(known) else None


def _peak(values: Floats) -> float | None:
    known = values[np.isfinite(values)]
    return float(np.percentile(known, PEAK)) if len(known) else None


def _middle(values: Floats) -> float | None:
    known = values[np.isfinite(values)]
    return float(np.median(known)) if len(known) else None


def _mean(values: Floats) -> float | None:
    known = values[np.isfinite(values)]
    return float(known.mean()) if len(known) else None
