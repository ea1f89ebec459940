"""Resident memory of a service by page kind and host: from counters of its control groups, else from its heat."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
import numpy.typing as npt

from tierscope.core.database import ReadSession
from tierscope.domain.base.axis import Grid
from tierscope.domain.base.figures import Window
from tierscope.domain.fleet.host_facts import HostFacts, read_facts
from tierscope.domain.heat.placement import FAST_TIERS
from tierscope.domain.heat.rows import HeatSeries
from tierscope.domain.sensitivity.kind_residency import KINDS, SOURCES, KindBytes, Source, plan_residency, sum_residency
from tierscope.storage.base.subjects import SubjectHost, newest_inventories
from tierscope.usecases.counters.service_lines import HostLines
from tierscope.usecases.heat.columns import read_host_heat
from tierscope.usecases.heat.reads import choose_method

Floats = npt.NDArray[np.float64]
_NAMES: Mapping[Source, str] = {
    "placement": "placement of the service's memory by tier (counters)",
    "memory.numa_stat": "memory.numa_stat of the service's control groups",
    "memory.stat": "memory.stat of the service's control groups",
    "heat": "rows of heat",
}


@dataclass(frozen=True, slots=True)
class HostResidency:
    """Bytes by kind of one host over the buckets of a grid."""

    host: SubjectHost
    source: Source
    bytes: KindBytes


def is_residency(source: str, name: str) -> bool:
    """Whether a counter of a service's scope says how much of it is resident, and where."""
    return source in SOURCES and name.partition("[")[0] in ("anon", "file", "tmpfs", "shmem")


def read_residency(
    session: ReadSession,
    service_id: int,
    hosts: Sequence[SubjectHost],
    lines: Sequence[HostLines],
    grid: Grid,
    window: Window,
    *,
    now: datetime,
) -> list[HostResidency]:
    """Resident bytes of the hosts, from `lines` on `grid` where they have them; heat fills in for other hosts."""
    by_host = {part.host.id: part for part in lines}
    bodies = newest_inventories(session, [host.id for host in hosts], window.end)
    facts = {host.id: read_facts(bodies.get(host.id)) for host in hosts}
    found, left = [], []
    for host in hosts:
        counted = _from_counters(by_host.get(host.id), facts[host.id], len(grid))
        if counted is None or not np.isfinite(counted.bytes.resident).any():
            left.append(host)
        else:
            found.append(counted)
            if facts[host.id].n_tiers > 1 and not np.isfinite(counted.bytes.top).any():
                left.append(host)
    if not left:
        return found
    by_heat = _from_heat(session, service_id, left, facts, grid, window, now=now)
    better = {part.host.id for part in by_heat if np.isfinite(part.bytes.top).any()}
    counted_ids = {part.host.id for part in found}
    kept = [part for part in found if part.host.id not in better]
    return kept + [part for part in by_heat if part.host.id in better or part.host.id not in counted_ids]


def name_sources(parts: Sequence[HostResidency]) -> str | None:
    """Where the bytes of these hosts come from, in words."""
    return "; ".join(dict.fromkeys(_NAMES[part.source] for part in parts)) or None


def _from_counters(lines: HostLines | None, facts: HostFacts, length: int) -> HostResidency | None:
    if lines is None:
        return None
    plan = plan_residency(
        lines.names, facts.machine.tiers, n_tiers=facts.n_tiers if _one_tier(facts) else max(facts.n_tiers, 2)
    )
    return None if plan is None else HostResidency(lines.host, plan.source, sum_residency(plan, lines.values, length))


def _one_tier(facts: HostFacts) -> bool:
    """Whether the host said that it has one tier; a host without an inventory said nothing."""
    return facts.n_tiers <= 1 and bool(facts.tier_classes)


def _from_heat(
    session: ReadSession,
    service_id: int,
    hosts: Sequence[SubjectHost],
    facts: Mapping[int, HostFacts],
    grid: Grid,
    window: Window,
    *,
    now: datetime,
) -> list[HostResidency]:
    measured = read_host_heat(session, service_id, [host.id for host in hosts], window, now=now)
    chosen = choose_method(measured, None)
    if chosen is None:
        return []
    by_id = {host.id: host for host in hosts}
    return [
        HostResidency(by_id[host_id], "heat", _bytes_of(series, grid, one_tier=_one_tier(facts[host_id])))
        for host_id, series in measured[chosen].items()
        if host_id in by_id
    ]


def _bytes_of(series: HeatSeries, grid: Grid, *, one_tier: bool) -> KindBytes:
    """Means per bucket. Memory of which the tier is unknown makes what lies in DRAM unknown, except with one tier."""
    ends_s = series.ends_us / 1e6
    inside = (ends_s > grid.window.start.timestamp()) & (ends_s <= grid.ends_s[-1])
    place = grid.place(ends_s[inside])
    weights = np.bincount(place, weights=series.n_intervals[inside], minlength=len(grid)).astype(np.float64)
    resident, top = np.full((len(grid), len(KINDS)), np.nan), np.full((len(grid), len(KINDS)), np.nan)
    tiers = np.array(series.tiers)
    fast = np.ones(len(tiers), bool) if one_tier else np.isin(tiers, list(FAST_TIERS))
    unknown = (tiers == "") & (not one_tier)
    for column, kind in enumerate(KINDS):
        mine = np.array([name == kind for name in series.kinds], bool)
        if not mine.any():
            continue
        resident[:, column] = _mean(series, mine, inside, place, weights)
        if not (mine & unknown).any():
            top[:, column] = _mean(series, mine & fast, inside, place, weights)
    return KindBytes(resident, top)


def _mean(
    series: HeatSeries,
    groups: npt.NDArray[np.bool_],
    inside: npt.NDArray[np.bool_],
    place: npt.NDArray[np.int64],
    weights: Floats,
) -> Floats:
    sums = np.bincount(
        place, weights=series.folded.resident[inside][:, groups].sum(axis=1).astype(np.float64), minlength=len(weights)
    )
    with np.errstate(invalid="ignore", divide="ignore"):
        out: Floats = np.where(weights > 0, sums / weights, np.nan)
    return out
