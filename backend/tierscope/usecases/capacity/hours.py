"""One day of all hosts, hour by hour: their memory, what services hold on them, and heat."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import numpy as np
import numpy.typing as npt

from tierscope.core.database import ReadSession
from tierscope.domain.capacity.days import HOURS, HeatHours, HostHours
from tierscope.domain.capacity.residency import Name, resident_terms
from tierscope.domain.counters.monotonic import parse_key
from tierscope.domain.fleet.host_facts import HostFacts, read_facts
from tierscope.domain.fleet.peer_hosts import LikeKey, like_key
from tierscope.domain.heat.classes import EDGES
from tierscope.domain.heat.columns import FULL, HeatColumns, unpack_columns
from tierscope.domain.heat.rows import Method
from tierscope.storage.base.subjects import service_members
from tierscope.storage.capacity.rows import HourBlock, read_hours
from tierscope.storage.fleet.hosts import HostFilter, list_hosts, read_inventories
from tierscope.storage.fleet.services import list_services, read_aliases
from tierscope.storage.heat.services import Bucket, list_buckets, read_bodies

Floats = npt.NDArray[np.float64]

DAY = timedelta(days=1)
_CPU = ("cpu_user", "cpu_system", "cpu_steal", "cpu_idle", "cpu_iowait")
_FILE = ("memory.stat", "file")
_STAT = (("memory.stat", "anon"), _FILE)
_CORES = ("cpu.stat", "usage_usec")
_MICROSECONDS_PER_HOUR = 3.6e9
_HOT = EDGES.index(2) - 1
_COLD, _UNTOUCHED = EDGES.index(10), EDGES.index(64)
_SECONDS_PER_HOUR = 3600
_MOST_INVENTORIES = 1_000
"""Inventories that are held at once: each takes tens of kilobytes, of which a host keeps few."""


@dataclass(frozen=True, slots=True)
class KnownHost:
    """A host with what groups it."""

    id: int
    origin: str
    labels: Mapping[str, str]
    key: LikeKey
    facts: HostFacts


@dataclass(frozen=True, slots=True)
class KnownService:
    """A service with its names, as `namespace/name`, and the hosts on which it was ever found."""

    id: int
    public_id: str
    origin: str
    names: frozenset[str]
    hosts: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Fleet:
    """All hosts that are not retired, by id, and all services."""

    hosts: Mapping[int, KnownHost]
    services: tuple[KnownService, ...]


@dataclass(slots=True)
class DayHours:
    """What was measured: by host rows [24] of its memory and its total; by service and host what it holds."""

    used: dict[int, Floats] = field(default_factory=dict)
    free: dict[int, Floats] = field(default_factory=dict)
    busy: dict[int, Floats] = field(default_factory=dict)
    reclaimable: dict[int, Floats] = field(default_factory=dict)
    total: dict[int, float] = field(default_factory=dict)
    resident: dict[tuple[int, int], Floats] = field(default_factory=dict)
    file: dict[tuple[int, int], Floats] = field(default_factory=dict)
    source: dict[int, str] = field(default_factory=dict)
    cores: dict[tuple[int, int], Floats] = field(default_factory=dict)

    def of_hosts(self, hosts: Sequence[KnownHost]) -> HostHours:
        """The memory of these hosts."""
        nothing = np.full(HOURS, np.nan)

        def stack(rows: Mapping[int, Floats]) -> Floats:
            found = [rows.get(host.id, nothing) for host in hosts]
            return np.stack(found) if found else np.zeros((0, HOURS))

        totals = [self.total.get(host.id, host.facts.memory_bytes) for host in hosts]
        # The kernel's own count of memory is a little less than what the inventory says is installed.
        dram = [_at_most(host.facts.dram_bytes, total) for host, total in zip(hosts, totals, strict=True)]
        rows = (stack(part) for part in (self.used, self.free, self.busy, self.reclaimable))
        return HostHours(_floats(totals), _floats(dram), *rows)

    def resident_by_host(self) -> dict[int, Floats]:
        """What all services hold on each host [24] where any is counted."""
        found: dict[int, Floats] = {}
        for (_, host), held in self.resident.items():
            found[host] = _add(found[host], held) if host in found else held
        return found

    def cache(self, service_id: int, host_id: int) -> Floats:
        """What the kernel can reclaim of a service on a host [24]: its page cache, at most what the host can reclaim.

        `file` of memory.stat holds tmpfs, which it cannot. NaN where either is not counted.
        """
        nothing = np.full(HOURS, np.nan)
        return np.minimum(self.file.get((service_id, host_id), nothing), self.reclaimable.get(host_id, nothing))


def read_fleet(session: ReadSession) -> Fleet:
    """Hosts and services as they are now."""
    rows = list_hosts(session, wanted=HostFilter(retired=False), after=None, limit=None)
    hosts = {}
    for first in range(0, len(rows), _MOST_INVENTORIES):
        part = rows[first : first + _MOST_INVENTORIES]
        bodies = {host: body for host, (_, body) in read_inventories(session, [row.id for row in part]).items()}
        for row in part:
            body = bodies.get(row.id)
            key = like_key(row.labels, body, row.agent_version)
            hosts[row.id] = KnownHost(row.id, row.origin, row.labels, key, read_facts(body))
    members: dict[int, list[int]] = {}
    for service_id, host_id in service_members(session):
        if host_id in hosts:
            members.setdefault(service_id, []).append(host_id)
    services = tuple(
        KnownService(
            row.id,
            row.public_id,
            row.origin,
            frozenset({f"{row.namespace}/{row.name}", *read_aliases(session, row.id)}),
            tuple(members[row.id]),
        )
        for row in list_services(session, origin=None, host=None, after=None, limit=None)
        if row.id in members
    )
    return Fleet(hosts, services)


def read_day(session: ReadSession, fleet: Fleet, start: datetime) -> DayHours:
    """Hourly counters of one day of all hosts."""
    day = DayHours()
    by_name: dict[tuple[int, str], int] = {}
    for service in fleet.services:
        by_name.update({(host, name): service.id for host in service.hosts for name in service.names})
    for block in read_hours(session, list(fleet.hosts), start, start + DAY, wanted=_wanted):
        _take_hosts(day, block, fleet, int(start.timestamp()))
        _take_services(day, block, by_name, int(start.timestamp()))
    return day


def read_heat_hours(session: ReadSession, service_id: int, start: datetime) -> tuple[HeatHours, tuple[int, ...]] | None:
    """Heat of a service on the hosts that measure it, by the method with most hours; and those hosts."""
    buckets = list_buckets(session, "service_heat_1h", service_id, start, start + DAY)
    weights: dict[Method, int] = {}
    for bucket in buckets:
        weights[bucket.method] = weights.get(bucket.method, 0) + bucket.n_hosts
    if not weights:
        return None
    method = max(weights, key=lambda found: weights[found])
    some: list[Bucket] = [bucket for bucket in buckets if bucket.method == method]
    packs = read_bodies(session, "service_heat_1h", service_id, some, with_counts=False)
    if not packs:
        return None
    columns = unpack_columns(packs, method)
    return _heat_hours(columns, int(start.timestamp())), tuple(columns.host_ids.tolist())


def join_heat(parts: Sequence[tuple[HeatHours, Sequence[int]]], wanted: frozenset[int]) -> HeatHours | None:
    """Heat of several services on some hosts, summed by host; None where none of them measures any."""
    sums: dict[int, list[Floats]] = {}
    methods = set()
    for heat, hosts in parts:
        for place, host in enumerate(hosts):
            if host not in wanted:
                continue
            methods.add(heat.method)
            rows = [part[place] for part in (heat.resident, heat.hot, heat.cold, heat.untouched)]
            before = sums.get(host)
            sums[host] = rows if before is None else [_add(old, new) for old, new in zip(before, rows, strict=True)]
    if not sums:
        return None
    stacked = [np.stack([rows[part] for rows in sums.values()]) for part in range(4)]
    method = methods.pop() if len(methods) == 1 else None
    return HeatHours(stacked[0], stacked[1], stacked[2], stacked[3], method)


def _wanted(key: str) -> str | None:
    """How a key is read: gauges as means, counters as sums; None where it is not needed."""
    parsed = parse_key(key)
    if parsed.scope == "host" and parsed.source == "meminfo":
        return "gauge" if parsed.name in ("MemTotal", "MemAvailable", "MemFree") else None
    if parsed.scope == "host" and parsed.source == "stat":
        return "counter" if parsed.name in _CPU else None
    if parsed.scope.startswith("node:"):
        return "gauge" if (parsed.source, parsed.name) == ("meminfo", "MemFree") else None
    if parsed.scope.startswith("service:"):
        name = (parsed.source, parsed.name)
        if name == _CORES:
            return "counter"
        return "gauge" if name in _STAT or resident_terms((name,)) is not None else None
    return None


def _take_hosts(day: DayHours, block: HourBlock, fleet: Fleet, start_s: int) -> None:
    place = {key: i for i, key in enumerate(block.keys)}
    nothing = np.full(len(block.hosts), np.nan)

    def column(key: str) -> Floats:
        return block.values[:, place[key]] if key in place else nothing

    total = column("host|meminfo|MemTotal")
    used = total - column("host|meminfo|MemAvailable")
    reclaimable = np.maximum(column("host|meminfo|MemAvailable") - column("host|meminfo|MemFree"), 0.0)
    ticks = [column(f"host|stat|{name}") for name in _CPU]
    whole = np.sum(ticks, axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        busy = np.where(whole > 0, np.sum(ticks[:3], axis=0) / whole, np.nan)
    nodes = {key.partition("|")[0].removeprefix("node:"): i for key, i in place.items() if key.startswith("node:")}
    for host in np.unique(block.hosts).tolist():
        rows = block.hosts == host
        hours = (block.starts_s[rows] - start_s) // _SECONDS_PER_HOUR
        facts = fleet.hosts[host].facts
        fast = [
            i
            for node, i in nodes.items()
            if not facts.machine.tiers.known or int(node) in facts.machine.tiers.top_nodes
        ]
        one_tier = facts.n_tiers <= 1 or not fast
        free = column("host|meminfo|MemFree")[rows] if one_tier else block.values[rows][:, fast].sum(axis=1)
        _put(day.used, host, hours, used[rows])
        _put(day.busy, host, hours, busy[rows])
        _put(day.reclaimable, host, hours, reclaimable[rows])
        _put(day.free, host, hours, free)
        known = total[rows][np.isfinite(total[rows])]
        if len(known):
            day.total[host] = float(known[-1])


def _take_services(day: DayHours, block: HourBlock, by_name: Mapping[tuple[int, str], int], start_s: int) -> None:
    scopes: dict[str, dict[Name, int]] = {}
    for i, key in enumerate(block.keys):
        parsed = parse_key(key)
        if parsed.scope.startswith("service:"):
            scopes.setdefault(parsed.scope.removeprefix("service:"), {})[parsed.source, parsed.name] = i
    hours = (block.starts_s - start_s) // _SECONDS_PER_HOUR
    for name, places in scopes.items():
        terms = resident_terms(tuple(places))
        if terms is not None:
            source, wanted = terms
            held = block.values[:, [places[term] for term in wanted]].sum(axis=1)
            for service in _spread(day.resident, block, hours, held, by_name, name):
                day.source.setdefault(service, source)
        if _FILE in places:
            _spread(day.file, block, hours, block.values[:, places[_FILE]], by_name, name)
        if _CORES in places:
            _spread(day.cores, block, hours, block.values[:, places[_CORES]] / _MICROSECONDS_PER_HOUR, by_name, name)


def _spread(
    rows: dict[tuple[int, int], Floats],
    block: HourBlock,
    hours: npt.NDArray[np.int64],
    values: Floats,
    by_name: Mapping[tuple[int, str], int],
    name: str,
) -> set[int]:
    """File values [r] of the service that each host knows by this name; the services that had any."""
    known = np.isfinite(values)
    found = set()
    for host in np.unique(block.hosts[known]).tolist():
        service = by_name.get((host, name))
        if service is not None:
            mine = (block.hosts == host) & known
            rows.setdefault((service, host), np.full(HOURS, np.nan))[hours[mine]] = values[mine]
            found.add(service)
    return found


def _heat_hours(columns: HeatColumns, start_s: int) -> HeatHours:
    """Sums over groups of a service, by host and hour; hours without an interval are NaN."""
    shape = (len(columns.host_ids), HOURS)
    out = [np.full(shape, np.nan) for _ in range(4)]
    resident = columns.resident.astype(np.float64)
    share = 1.0 / FULL
    seen = columns.below[:, -1].astype(np.float64)
    parts = (
        resident,
        resident * columns.below[:, _HOT] * share,
        resident * (columns.known[:, _COLD] - columns.below[:, _COLD - 1].astype(np.float64)) * share,
        resident * (columns.known[:, _UNTOUCHED] - seen) * share,
    )
    for at, end_us in enumerate(columns.ends_us.tolist()):
        hour = (end_us // 1_000_000 - start_s) // _SECONDS_PER_HOUR - 1
        if not 0 <= hour < HOURS:
            continue
        there = columns.n_intervals[at] > 0
        for target, values in zip(out, parts, strict=True):
            target[there, hour] = values[at].sum(axis=0)[there]
    return HeatHours(out[0], out[1], out[2], out[3], columns.method.family)


def _put(rows: dict[int, Floats], host: int, hours: npt.NDArray[np.int64], values: Floats) -> None:
    row = rows.setdefault(host, np.full(HOURS, np.nan))
    known = np.isfinite(values)
    row[hours[known]] = values[known]


def _add(one: Floats, other: Floats) -> Floats:
    return np.where(np.isfinite(one) & np.isfinite(other), one + other, np.where(np.isfinite(one), one, other))


def _floats(values: Sequence[float | None]) -> Floats:
    return np.array([np.nan if value is None else value for value in values], np.float64)


def _at_most(dram: float | None, total: float | None) -> float | None:
    return dram if dram is None or total is None else min(dram, total)
