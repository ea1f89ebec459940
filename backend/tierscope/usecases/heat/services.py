"""The newest heat of many services: shares, placement and bytes of each, with few statements for all."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

import numpy as np
import numpy.typing as npt

from tierscope.core.database import ReadSession
from tierscope.domain.base.figures import Figure, Grade, Window
from tierscope.domain.heat import Estimate, Misplaced, Rule, capacity_weighted
from tierscope.domain.heat.classes import USUAL_RULE, HeatClass
from tierscope.domain.heat.column_source import ColumnSource
from tierscope.domain.heat.joined import JoinedSources
from tierscope.domain.heat.rows import HeatSeries, Method, join_series
from tierscope.domain.heat.source import HeatSource, SeriesSource
from tierscope.domain.heat.summary import ServiceShare, weighted_share
from tierscope.storage.fleet.services import service_numbers, services_with_hosts
from tierscope.storage.heat.fleet import Found, read_newest_hours, read_newest_intervals
from tierscope.storage.heat.services import newest_buckets
from tierscope.storage.nodes.leaving import read_lost
from tierscope.storage.nodes.placement import Span
from tierscope.storage.nodes.rows import Away, read_away
from tierscope.usecases.heat.columns import read_columns
from tierscope.usecases.heat.figures import Evidence, gather_evidence
from tierscope.usecases.heat.reads import choose_method, choose_source
from tierscope.usecases.heat.sources import HOUR, LIVE_KEPT

FRESH = timedelta(hours=2)
NEWEST_HOURS = 2
RULE = USUAL_RULE
_NAMES: tuple[HeatClass, ...] = ("hot", "warm", "cold")


@dataclass(frozen=True, slots=True)
class HeatNow:
    """The newest heat of a service by one method; `source` None where nothing was measured."""

    method: Method | None
    source: HeatSource | None
    window: Window
    away: tuple[str, ...] = ()
    """Nodes that are away: their hosts are not in it."""
    left_out: frozenset[int] = frozenset()
    """Hosts of those nodes that its newest hours were measured on."""


@dataclass(frozen=True, slots=True)
class HeatFigures:
    """What lists show of heat."""

    resident_bytes: Figure
    anon_ratio: Figure
    hot_ratio: Figure
    warm_ratio: Figure
    cold_ratio: Figure
    hot_outside_dram_bytes: Figure
    cold_in_dram_bytes: Figure


@dataclass(frozen=True, slots=True)
class FleetHeat:
    """Heat of all services: shares weighted by capacity, and the median over hosts of each class."""

    weighted: HeatFigures
    hot_host_median: Figure
    warm_host_median: Figure
    cold_host_median: Figure


def read_heat_now(session: ReadSession, *, now: datetime, service_id: int | None = None) -> dict[int, HeatNow]:
    """The newest heat of one service, or of all that have any: hourly sums where they are fresh, else intervals."""
    wanted = None if service_id is None else [service_id]
    away = read_away(session)
    lost = read_lost(session, now=now)
    found = _read_columns(session, wanted, now)
    if away.names or lost:
        lacking = {one: _without(heat, away, lost) for one, heat in found.items()}
        found = {one: heat for one, heat in lacking.items() if heat is not None}
    left = [one for one in (service_numbers(session) if wanted is None else wanted) if one not in found]
    left = services_with_hosts(session, left) if left else []
    if left:
        hours = read_newest_hours(session, since=now - LIVE_KEPT, service_ids=left)
        intervals = read_newest_intervals(session, since=now - LIVE_KEPT, until=now, service_ids=left)
        parts = {one: _fresher(hours.get(one, []), intervals.get(one, [])) for one in {*hours, *intervals}}
        found |= {one: replace(heat, away=away.names) for one, heat in choose_heat(parts, now=now).items()}
    return found


def heats_of(heats: Mapping[int, HeatNow], services: Sequence[int], hosts: Sequence[int]) -> dict[int, HeatNow]:
    """The heat of these services on these hosts; without those whose heat is not known by host."""
    found = {}
    for one in services:
        heat = heats.get(one)
        if heat is not None and isinstance(heat.source, ColumnSource):
            found[one] = replace(heat, source=heat.source.of_hosts(hosts), left_out=heat.left_out & {*hosts})
    return found


def _without(heat: HeatNow, away: Away, lost: Sequence[Span]) -> HeatNow | None:
    """The heat of hosts whose server answers: what gathered hours say of others is not of now. None where none does.

    Hosts of servers that are away are counted as not seen; lost ones are not the fleet's any more.
    """
    source = heat.source
    if not isinstance(source, ColumnSource):
        return None
    hosts = source.columns.host_ids
    silent, gone = _within(hosts, away.spans), _within(hosts, lost)
    left = source.of_hosts(hosts[~(silent | gone)].tolist())
    if left is None:
        return None
    return replace(heat, source=left, away=away.names, left_out=frozenset(hosts[silent].tolist()))


def _within(hosts: npt.NDArray[np.int64], spans: Sequence[Span]) -> npt.NDArray[np.bool_]:
    """Which hosts have a number in one of these ranges."""
    found = np.zeros(len(hosts), np.bool_)
    for first, beyond in spans:
        found |= (hosts >= first) & (hosts < beyond)
    return found


def read_heat_at(session: ReadSession, at: datetime) -> dict[int, HeatNow]:
    """What was the newest heat of all services at a moment of the past; of those whose hours are gathered."""
    return _read_columns(session, None, at, until=at)


def _read_columns(
    session: ReadSession, service_ids: Sequence[int] | None, now: datetime, *, until: datetime | None = None
) -> dict[int, HeatNow]:
    """Of services whose hours are gathered and fresh: no interval of theirs is newer by more than `FRESH`."""
    found = {}
    for service_id, buckets in newest_buckets(
        session, since=now - LIVE_KEPT, hours=NEWEST_HOURS, service_ids=service_ids, until=until
    ).items():
        if buckets[-1].start + HOUR < now - FRESH:
            continue
        sources = read_columns(session, "service_heat_1h", service_id, buckets, counts=False, newest=until is None)
        method = choose_source(sources, None)
        if method is not None:
            starts = [bucket.start for bucket in buckets if bucket.method == method]
            found[service_id] = HeatNow(method, sources[method], Window(starts[0], min(starts[-1] + HOUR, now)))
    return found


def choose_heat(found: Found, *, now: datetime) -> dict[int, HeatNow]:
    """Join stretches by host and keep one method of each service: methods are never mixed."""
    out = {}
    for service_id, parts in found.items():
        by_method: dict[Method, dict[int, list[HeatSeries]]] = {}
        for part in parts:
            by_method.setdefault(part.method, {}).setdefault(part.host_id, []).append(part)
        joined = {method: _join(hosts) for method, hosts in by_method.items()}
        method = choose_method(joined, None)
        series = () if method is None else tuple(joined[method].values())
        out[service_id] = HeatNow(method, SeriesSource(series) if series else None, _window(series, now))
    return out


def service_figures(heat: HeatNow | None, reason: str | None, *, now: datetime, rule: Rule = RULE) -> HeatFigures:
    """Figures of one service: medians over hosts for shares, sums over hosts for bytes."""
    heat = heat or HeatNow(None, None, Window(now - LIVE_KEPT, now))
    found = heat
    if isinstance(heat.source, ColumnSource):
        key = (rule, heat.method, heat.window, reason, heat.away, heat.left_out)
        return heat.source.remember(key, lambda: _service_figures(found, reason, rule))
    return _service_figures(heat, reason, rule)


def _service_figures(heat: HeatNow, reason: str | None, rule: Rule) -> HeatFigures:
    source = heat.source
    evidence = _lacking(gather_evidence(source, heat.method, rule, heat.window, None), heat.away, heat.left_out)
    if evidence.nothing is not None and reason:
        evidence = replace(evidence, nothing=reason)
    shares = [
        evidence.class_share(name, None if source is None else source.share(rule, place))
        for place, name in enumerate(_NAMES)
    ]
    if source is None:
        return _figures(evidence, 0.0, None, shares, None)
    return _figures(evidence, source.resident(), _anon_share([source]), shares, source.misplaced(rule))


def fleet_figures(heats: Sequence[HeatNow], *, now: datetime) -> FleetHeat:
    """Figures of all services together: weighted by capacity, and as medians over hosts.

    What was computed last is kept: it changes when a worker has stored another hour of some service.
    """
    return _newest.get(heats, lambda: _fleet_figures(heats, now=now, rule=RULE))


class _Newest:
    """The figures of the newest columns. Sources are compared by identity: columns never change."""

    def __init__(self) -> None:
        self._kept: tuple[tuple[HeatNow, ...], FleetHeat] | None = None

    def get(self, heats: Sequence[HeatNow], compute: Callable[[], FleetHeat]) -> FleetHeat:
        """The kept figures if they are of these sources and windows, else new ones."""
        kept = self._kept
        if kept is not None and len(kept[0]) == len(heats):
            pairs = zip(kept[0], heats, strict=True)
            if all(a.source is b.source and a.window == b.window and a.away == b.away for a, b in pairs):
                return kept[1]
        found = compute()
        if heats and all(isinstance(heat.source, ColumnSource) for heat in heats):
            self._kept = (tuple(heats), found)
        return found


_newest = _Newest()


def _fleet_figures(heats: Sequence[HeatNow], *, now: datetime, rule: Rule) -> FleetHeat:
    known = [(heat, heat.source) for heat in heats if heat.source is not None]
    if not known:
        nothing = service_figures(None, "No heat was measured on any host.", now=now, rule=rule)
        return FleetHeat(nothing, nothing.hot_ratio, nothing.warm_ratio, nothing.cold_ratio)
    sources = [source for _, source in known]
    largest = max(known, key=lambda pair: pair[1].resident())[0]
    window = Window(min(heat.window.start for heat, _ in known), max(heat.window.end for heat, _ in known))
    evidence = gather_evidence(JoinedSources(tuple(sources)), largest.method, rule, window, None)
    evidence = replace(evidence, n_hosts=len({host for source in sources for host in source.host_ids}))
    evidence = _lacking(evidence, largest.away, frozenset[int]().union(*(heat.left_out for heat in heats)))
    families = sorted({heat.method.family for heat, _ in known if heat.method is not None})
    if len(families) > 1:
        note = f"measured by several methods: {', '.join(families)}"
        evidence = replace(evidence, method=None, warnings=(*evidence.warnings, note))
    joined = JoinedSources(tuple(sources))
    classes, resident = joined.classes(rule), joined.resident()
    shares = [evidence.weighted_share(name, weighted_share(classes, i, resident)) for i, name in enumerate(_NAMES)]
    medians = [evidence.class_share(name, joined.host_median(rule, i)) for i, name in enumerate(_NAMES)]
    return FleetHeat(_figures(evidence, resident, _anon_share(sources), shares, joined.misplaced(rule)), *medians)


def _lacking(evidence: Evidence, away: tuple[str, ...], left_out: frozenset[int]) -> Evidence:
    """The evidence of figures that lack the hosts of nodes that are away: of coverage, those count as not seen."""
    if not away:
        return evidence
    coverage = evidence.coverage
    if coverage is not None:
        coverage *= evidence.n_hosts / (evidence.n_hosts + len(left_out))
    note = f"without the hosts of {', '.join(away)}, which {'is' if len(away) == 1 else 'are'} away"
    grade: Grade | None = "partial" if evidence.grade == "good" else evidence.grade
    return replace(evidence, coverage=coverage, grade=grade, warnings=(*evidence.warnings, note))


def _figures(
    evidence: Evidence,
    resident: float,
    anon: ServiceShare | None,
    shares: Sequence[Figure],
    places: tuple[Misplaced, Misplaced] | None,
) -> HeatFigures:
    """`shares`: those of the three classes, as the subject has them."""
    hot, warm, cold = shares
    hot_outside, cold_inside = evidence.misplaced(places)
    return HeatFigures(
        resident_bytes=evidence.resident(resident),
        anon_ratio=evidence.share("heat.anon_ratio/1", anon),
        hot_ratio=hot,
        warm_ratio=warm,
        cold_ratio=cold,
        hot_outside_dram_bytes=hot_outside,
        cold_in_dram_bytes=cold_inside,
    )


def _anon_share(sources: Sequence[HeatSource]) -> ServiceShare | None:
    parts = [source.pick(kind="anon") for source in sources]
    anon = sum(part.resident() for part in parts if part is not None)
    share = capacity_weighted([anon], [sum(source.resident() for source in sources)])
    n_hosts = sum(len(source.host_ids) for source in sources)
    return None if share is None else ServiceShare(Estimate(share, None, None, None), share, share, n_hosts)


def _fresher(hours: Sequence[HeatSeries], intervals: Sequence[HeatSeries]) -> list[HeatSeries]:
    """Of each host and method the hourly sums, unless its intervals are newer by more than `FRESH`."""
    newest: dict[tuple[int, Method], int] = {}
    for part in hours:
        key = (part.host_id, part.method)
        newest[key] = max(newest.get(key, 0), int(part.ends_us[-1]))
    late = int(FRESH.total_seconds() * 1e6)
    fresh = [
        part for part in intervals if int(part.ends_us[-1]) > newest.get((part.host_id, part.method), -late) + late
    ]
    stale = {(part.host_id, part.method) for part in fresh}
    return [*fresh, *(part for part in hours if (part.host_id, part.method) not in stale)]


def _join(hosts: Mapping[int, Sequence[HeatSeries]]) -> dict[int, HeatSeries]:
    joined = {host_id: join_series(parts) for host_id, parts in hosts.items()}
    return {host_id: series for host_id, series in joined.items() if series is not None}


def _window(series: Sequence[HeatSeries], now: datetime) -> Window:
    if not series:
        return Window(now - LIVE_KEPT, now)
    end = max(int(part.ends_us[-1]) for part in series) / 1e6
    starts = []
    for part in series:
        step = np.diff(part.ends_us).min() if len(part.ends_us) > 1 else 0
        length = max(float(step), part.method.interval_ns / 1e3 * float(part.n_intervals[0]))
        starts.append((float(part.ends_us[0]) - length) / 1e6)
    end = min(end, max(now.timestamp(), min(starts) + 1))
    return Window(datetime.fromtimestamp(min(starts), UTC), datetime.fromtimestamp(end, UTC))
