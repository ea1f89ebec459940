"""Hosts with the history of their tier moves: ledger, states, and what else tells whether the moves pay."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np
import numpy.typing as npt

from tierscope.core.database import ReadSession
from tierscope.domain.axis import Grid
from tierscope.domain.counters import nominal_step
from tierscope.domain.figures import Window
from tierscope.domain.heat.placement import FAST_TIERS
from tierscope.domain.heat.rows import HeatSeries
from tierscope.domain.service_metrics import RATE, SOURCE, TOTAL
from tierscope.domain.tier_moves import Context, Ledger
from tierscope.domain.tier_moves.states import (
    Beside,
    Followed,
    Judgement,
    follow_judged,
    follow_measured,
    judge_rows,
    judge_with_host,
    no_more,
    scale_spans,
    some_rows,
)
from tierscope.storage.subjects import SubjectHost, SubjectService, service_scopes
from tierscope.storage.tier_moves import recorded_seconds, sum_flows
from tierscope.usecases.heat import choose_method
from tierscope.usecases.heat_sources import read_heat
from tierscope.usecases.ledger_sources import HostLedger, read_ledgers
from tierscope.usecases.service_lines import HostLines, line_grid, read_service_lines
from tierscope.usecases.service_lines import service_scopes as scopes_of_service

Floats = npt.NDArray[np.float64]
LEAD = timedelta(hours=2)
"""How long before the window the fold begins, so that its first state is the one that a longer window would have."""
MAX_HOSTS = 20
MAX_POINTS = 2000
_HOT_WINDOW = 1
"""Place of "active within two intervals" among the stored windows."""
_INTERVALS_OLD = 1.5
_MILLI = 1e-3


@dataclass(frozen=True, slots=True)
class HostHistory:
    """One host. `part` holds its rows of the window, `states` and `whys` belong to all its `rows`, lead-in included."""

    part: HostLedger
    rows: Ledger
    followed: Followed
    whole: Judgement | None
    newest: Judgement | None
    throughput: Floats

    @property
    def measures(self) -> bool:
        """Whether the kernel itself tells ping-pong."""
        return self.part.plan.dialect == "tpp"


def busiest(session: ReadSession, hosts: Sequence[SubjectHost], window: Window, service_id: int) -> list[SubjectHost]:
    """At most `MAX_HOSTS` hosts: those that moved most pages, by what the ledger has of the window."""
    if len(hosts) <= MAX_HOSTS:
        return list(hosts)
    keys = ("promoted_pages", "demoted_pages")
    ids = [host.id for host in hosts]
    flows = sum_flows(session, keys, window.start, window.end, service_id=service_id, host_ids=ids)
    moved = {flow.host_id: sum(flow.sums[key] or 0 for key in keys) for flow in flows}
    return sorted(hosts, key=lambda host: -moved.get(host.id, 0))[:MAX_HOSTS]


def read_histories(
    session: ReadSession,
    hosts: Sequence[SubjectHost],
    window: Window,
    service: SubjectService | None,
    *,
    now: datetime,
    whole_hosts: bool,
) -> list[HostHistory]:
    """Histories of whole hosts, or of a service's control groups on them unless `whole_hosts`."""
    wide = Window(window.start - LEAD, window.end)
    own = read_ledgers(session, hosts, wide, None if whole_hosts else service)
    around: Mapping[int, HostLedger] = {}
    if service is not None and not whole_hosts:
        own = [part for part in own if any(column.plus for column in part.plan.columns)]
        around = {part.host.id: part for part in read_ledgers(session, [part.host for part in own], wide)}
    recorded = recorded_seconds(session, [part.host.id for part in own])
    beside = _Beside.read(session, [part.host for part in own], service, wide, now=now)
    return [
        _history(part, around.get(part.host.id), beside, recorded.get(part.host.id, 0.0), window)
        for part in own
        if len(part.ledger.times_s)
    ]


def _history(
    part: HostLedger, around: HostLedger | None, beside: "_Beside", recorded_s: float, window: Window
) -> HostHistory:
    rows = part.ledger
    known = beside.at_rows(part.host.id, rows)
    spans = scale_spans(recorded_s, nominal_step(rows.times_s))

    def judge_window(first: int, end: int) -> Judgement:
        found = judge_rows(rows, _context(part, rows, first, end), known, first, end)
        if around is None:
            return found
        limits = Context(around.machine.top_bytes, around.machine.promote_limit_mib_per_s)
        return judge_with_host(found, some_rows(rows, first, end), around.ledger, limits)

    if part.plan.dialect == "tpp":
        followed = follow_measured(rows, part.machine.top_bytes)
    else:
        followed = follow_judged(rows, spans, judge_window)
    inside = np.flatnonzero(rows.times_s > window.start.timestamp())
    first, end = (int(inside[0]), len(rows.times_s)) if len(inside) else (0, 0)
    return HostHistory(
        part=HostLedger(part.host, part.machine, part.plan, some_rows(rows, first, end)),
        rows=rows,
        followed=followed,
        whole=judge_window(first, end) if end else None,
        newest=judge_window(max(end - spans.rows, 0), end) if end else None,
        throughput=known.throughput[first:end],
    )


def _context(part: HostLedger, rows: Ledger, first: int, end: int) -> Context:
    limit_events = some_rows(rows, first, end).total("limit_events")
    return Context(part.machine.top_bytes, part.machine.promote_limit_mib_per_s, limit_events)


@dataclass(frozen=True, slots=True)
class _Beside:
    """Throughput and hot bytes of hosts, on axes of their own."""

    grid: Grid
    throughput: Mapping[int, Floats]
    heat: Mapping[int, HeatSeries]

    @classmethod
    def read(
        cls,
        session: ReadSession,
        hosts: Sequence[SubjectHost],
        service: SubjectService | None,
        window: Window,
        *,
        now: datetime,
    ) -> "_Beside":
        grid = line_grid(window, now=now, max_points=MAX_POINTS)
        if service is None:
            lines = [part for host in hosts for part in _only_service(session, host, window, now=now)]
            return cls(grid, _rates(lines), {})
        scopes = scopes_of_service(session, service)
        lines = read_service_lines(session, hosts, scopes, _is_throughput, window, now=now, max_points=MAX_POINTS)
        found = read_heat(session, service.id, [host.id for host in hosts], window, now=now)
        method = choose_method(found, None)
        return cls(grid, _rates(lines), {} if method is None else found[method])

    def at_rows(self, host_id: int, rows: Ledger) -> Beside:
        """What is known at the rows of a ledger."""
        known = no_more(len(rows.times_s))
        if host_id in self.throughput:
            known.throughput[:] = self.throughput[host_id][self.grid.place(rows.times_s)]
        if host_id in self.heat:
            known.hot_top_ratio[:] = _hot_top_ratio(self.heat[host_id], rows.times_s)
        return known


def _only_service(session: ReadSession, host: SubjectHost, window: Window, *, now: datetime) -> list[HostLines]:
    """Throughput of the one service on a host that tells it; of several the units differ, and none is taken."""
    found = [
        part
        for scope in service_scopes(session, host.id).values()
        for part in read_service_lines(session, [host], [scope], _is_throughput, window, now=now, max_points=MAX_POINTS)
    ]
    return found if len(found) == 1 else []


def _is_throughput(source: str, name: str) -> bool:
    return source == SOURCE and name in (TOTAL, RATE)


def _rates(lines: Sequence[HostLines]) -> dict[int, Floats]:
    found = {}
    for part in lines:
        rate = part.per_s.get((SOURCE, TOTAL), part.values.get((SOURCE, RATE)))
        if rate is not None:
            found[part.host.id] = rate * _MILLI
    return found


def _hot_top_ratio(series: HeatSeries, times_s: Floats) -> Floats:
    """Share of hot bytes that lie in DRAM at each time: of the newest interval before it, where tiers are known."""
    tiers = np.array(series.tiers)
    single = series.n_intervals == 1
    if (tiers == "").any() or not single.any():
        return np.full(len(times_s), np.nan)
    hot = series.folded.lo[single][..., _HOT_WINDOW].astype(np.float64)
    whole = hot.sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        shares = np.where(whole > 0, hot[:, np.isin(tiers, list(FAST_TIERS))].sum(axis=1) / whole, np.nan)
    ends_s = series.ends_us[single] / 1e6
    at = np.searchsorted(ends_s, times_s + 1e-6) - 1
    age = times_s - ends_s[np.maximum(at, 0)]
    fresh = (at >= 0) & (age <= _INTERVALS_OLD * series.method.interval_ns / 1e9)
    out: Floats = np.where(fresh, shares[np.maximum(at, 0)], np.nan)
    return out
