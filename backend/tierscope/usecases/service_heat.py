"""The newest heat of many services: shares, placement and bytes of each, with one statement for all."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

import numpy as np

from tierscope.core.database import ReadSession
from tierscope.domain.figures import Figure, Window
from tierscope.domain.heat import Estimate, Rule, capacity_weighted, make_rule
from tierscope.domain.heat.rows import HeatSeries, Method, join_series
from tierscope.domain.heat.summary import (
    ServiceShare,
    mean_classes,
    mean_resident,
    misplaced,
    service_share,
    weighted_share,
)
from tierscope.storage.fleet_heat import Found, read_newest_hours, read_newest_intervals
from tierscope.usecases.heat import choose_method
from tierscope.usecases.heat_figures import Evidence, gather_evidence

HEAT_SPAN = timedelta(days=8)
FRESH = timedelta(hours=2)
RULE = make_rule("recency")
_NAMES = ("hot", "warm", "cold")


@dataclass(frozen=True, slots=True)
class HeatNow:
    """Heat of a service, or of all, by one method: series of its hosts. Empty where nothing was measured."""

    method: Method | None
    series: tuple[HeatSeries, ...]
    window: Window


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


def read_heat_now(session: ReadSession, *, now: datetime, service_id: int | None = None) -> dict[int, HeatNow]:
    """The newest heat of one service, or of all that have any: hourly sums where they are fresh, else intervals."""
    hours = read_newest_hours(session, since=now - HEAT_SPAN, service_id=service_id)
    intervals = read_newest_intervals(session, since=now - HEAT_SPAN, service_id=service_id)
    found = {}
    for measured in {*hours, *intervals}:
        found[measured] = _fresher(hours.get(measured, []), intervals.get(measured, []))
    return choose_heat(found, now=now)


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
        out[service_id] = HeatNow(method, series, _window(series, now))
    return out


def service_figures(heat: HeatNow | None, reason: str | None, *, now: datetime, rule: Rule = RULE) -> HeatFigures:
    """Figures of one service: medians over hosts for shares, sums over hosts for bytes."""
    heat = heat or HeatNow(None, (), Window(now - HEAT_SPAN, now))
    evidence = _evidence(heat, rule, reason)
    shares = [service_share(heat.series, rule, place) for place in range(len(_NAMES))]
    return _figures(heat, evidence, shares, rule)


def fleet_figures(heats: Sequence[HeatNow], *, now: datetime, rule: Rule = RULE) -> HeatFigures:
    """Figures of all services together, weighted by capacity."""
    series = tuple(part for heat in heats for part in heat.series)
    if not series:
        return service_figures(None, "No heat was measured on any host.", now=now, rule=rule)
    largest = max((heat for heat in heats if heat.series), key=lambda heat: mean_resident(heat.series))
    window = Window(min(heat.window.start for heat in heats), max(heat.window.end for heat in heats))
    heat = HeatNow(largest.method, series, window)
    evidence = replace(_evidence(heat, rule, None), n_hosts=len({part.host_id for part in series}))
    families = sorted({part.method.family for part in series})
    if len(families) > 1:
        note = f"measured by several methods: {', '.join(families)}"
        evidence = replace(evidence, method=None, warnings=(*evidence.warnings, note))
    classes, resident = mean_classes(series, rule), mean_resident(series)
    shares = [weighted_share(classes, i, resident) for i in range(len(_NAMES))]
    return _figures(heat, evidence, shares, rule)


def _figures(heat: HeatNow, evidence: Evidence, shares: Sequence[ServiceShare | None], rule: Rule) -> HeatFigures:
    places = misplaced(heat.series, rule) if heat.series else None
    hot, warm, cold = (
        evidence.share(f"heat.{name}_ratio/1", share) for name, share in zip(_NAMES, shares, strict=True)
    )
    resident = mean_resident(heat.series) if heat.series else 0.0
    return HeatFigures(
        resident_bytes=evidence.bytes("heat.resident_bytes/1", resident, None, None),
        anon_ratio=evidence.share("heat.anon_ratio/1", _anon_share(heat.series)),
        hot_ratio=hot,
        warm_ratio=warm,
        cold_ratio=cold,
        hot_outside_dram_bytes=evidence.placed("heat.hot_outside_dram_bytes/1", places[0] if places else None),
        cold_in_dram_bytes=evidence.placed("heat.cold_in_dram_bytes/1", places[1] if places else None),
    )


def _evidence(heat: HeatNow, rule: Rule, reason: str | None) -> Evidence:
    evidence = gather_evidence(heat.series, heat.method, rule, heat.window, None)
    return replace(evidence, nothing=reason) if evidence.nothing is not None and reason else evidence


def _anon_share(series: Sequence[HeatSeries]) -> ServiceShare | None:
    anon, whole = 0.0, 0.0
    for part in series:
        resident = part.folded.resident.sum(axis=0) / max(int(part.n_intervals.sum()), 1)
        anon += float(resident[np.array([kind == "anon" for kind in part.kinds], bool)].sum())
        whole += float(resident.sum())
    share = capacity_weighted([anon], [whole])
    return None if share is None else ServiceShare(Estimate(share, None, None, None), share, share, len(series))


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
        return Window(now - HEAT_SPAN, now)
    end = max(int(part.ends_us[-1]) for part in series) / 1e6
    starts = []
    for part in series:
        step = np.diff(part.ends_us).min() if len(part.ends_us) > 1 else 0
        length = max(float(step), part.method.interval_ns / 1e3 * float(part.n_intervals[0]))
        starts.append((float(part.ends_us[0]) - length) / 1e6)
    end = min(end, max(now.timestamp(), min(starts) + 1))
    return Window(datetime.fromtimestamp(min(starts), UTC), datetime.fromtimestamp(end, UTC))
