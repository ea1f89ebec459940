"""Why a host is slow: the lines of an incident, latency, and hot memory outside DRAM, on one axis."""

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Annotated

import numpy as np

from tierscope.core.database import ReadSession
from tierscope.domain.base.axis import Grid, grid_of
from tierscope.domain.base.described import Described
from tierscope.domain.base.figures import Series, TimeAxis, Window, gaps_to_none
from tierscope.domain.counters.service_metrics import P99, SOURCE
from tierscope.domain.heat.placement import Bools, Floats, hot_by_group
from tierscope.domain.heat.rows import HeatSeries
from tierscope.storage.base.subjects import SubjectHost, service_scopes
from tierscope.storage.fleet.events import EventItem
from tierscope.usecases.alerts.incident import events_around
from tierscope.usecases.alerts.incident_answers import IncidentRow
from tierscope.usecases.alerts.incident_rows import (
    OF_A_HOST,
    in_order,
    measured_row,
    on_grid,
    row_of_free_memory,
    row_of_host_throughput,
    rows_of_ledger,
)
from tierscope.usecases.base.context import ReadContext
from tierscope.usecases.base.subjects import require_subject_host
from tierscope.usecases.counters.service_lines import line_grid, read_lines_by_service
from tierscope.usecases.heat.reads import choose_method
from tierscope.usecases.heat.sources import read_heat
from tierscope.usecases.ledger.ping_pong import StateStretch
from tierscope.usecases.ledger.reads import LedgerReads

_NO_LATENCY = "No service of this host sends it. Map it under `[[service_metrics]]` in the agent's configuration."
_NO_HEAT = "No heat of this host's services was measured by tier in this time."


@dataclass(frozen=True, slots=True)
class HostTriage:
    """What the kernel did on a host, and what it did to its services, on one axis."""

    window: Window
    axis: TimeAxis
    ribbon: Annotated[tuple[StateStretch, ...], Described("Which verdict held when.")]
    rows: tuple[IncidentRow, ...]
    events: tuple[EventItem, ...]


class TriageReads:
    """Reads of hosts that may be slow."""

    def __init__(self, context: ReadContext) -> None:
        self._context = context
        self._ledgers = LedgerReads(context)

    def show(self, host_id: str, *, from_: str | None, to: str | None, max_points: int) -> HostTriage:
        """The lines of one host.

        Raises:
            NotFound: there is no such host.
            BadRequest: the window is not understood.
        """
        now = self._context.clock()
        ledger = self._ledgers.host(host_id, from_=from_, to=to, max_points=max_points)
        grid = grid_of(ledger.axis)
        with self._context.database.read() as session:
            host = require_subject_host(session, host_id)
            rows = [
                *rows_of_ledger(ledger),
                row_of_free_memory(session, [host], grid, now=now),
                row_of_host_throughput(session, host, grid, now=now),
                measured_row("latency", _latencies(session, host, grid, now), _NO_LATENCY),
                measured_row("hot_outside", _hot_outside(session, host, grid, now), _NO_HEAT),
            ]
            events = events_around(session, grid.window, {host_id}, frozenset())
        return HostTriage(grid.window, ledger.axis, ledger.ping_pong.ribbon, in_order(rows, OF_A_HOST), events)


def _latencies(session: ReadSession, host: SubjectHost, grid: Grid, now: datetime) -> list[Series]:
    """The 99th percentile of each service that tells it."""
    ends = tuple(map(float, line_grid(grid.window, now=now, max_points=len(grid)).ends_s))
    found = []
    parts = read_lines_by_service(session, host, _is_latency, grid.window, now=now, max_points=len(grid))
    for scope, part in parts:
        values = part.values.get((SOURCE, P99))
        if values is not None and np.isfinite(values).any():
            line = Series("latency_p99", f"p99 of {scope.removeprefix('service:')}", "ns", gaps_to_none(values))
            found.append(replace(on_grid(line, ends, grid), key="latency_p99"))
    return found


def _is_latency(source: str, name: str) -> bool:
    return source == SOURCE and name == P99


def _hot_outside(session: ReadSession, host: SubjectHost, grid: Grid, now: datetime) -> list[Series]:
    """Bytes of all services that are hot and not in DRAM; those whose tiers are not known are left out."""
    sums = []
    for service_id in service_scopes(session, host.id):
        found = read_heat(session, service_id, [host.id], grid.window, now=now)
        method = choose_method(found, None)
        series = None if method is None else found[method].get(host.id)
        placed = None if series is None else hot_by_group(series)
        if series is not None and placed is not None:
            sums.append(_outside(series, *placed, grid))
    if not any(np.isfinite(values).any() for values in sums):
        return []
    whole = np.nansum(sums, axis=0)
    whole[np.isnan(sums).all(axis=0)] = np.nan
    return [Series("hot_outside_dram_bytes", "Hot outside DRAM", "bytes", gaps_to_none(whole))]


def _outside(series: HeatSeries, hot_bytes: Floats, fast: Bools, grid: Grid) -> Floats:
    hot = hot_bytes[:, ~fast].sum(axis=1) / np.maximum(series.n_intervals, 1)
    ends_s = series.ends_us / 1e6
    inside = (ends_s > grid.window.start.timestamp()) & (ends_s <= grid.window.end.timestamp())
    return grid.means(ends_s[inside], hot[inside])
