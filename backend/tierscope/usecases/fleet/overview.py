"""The fleet overview: the whole installation on one screen, with a fixed number of statements."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated

import numpy as np
import numpy.typing as npt

from tierscope.core.database import ReadSession
from tierscope.domain.base.axis import Grid, make_grid
from tierscope.domain.base.buckets import hour_of
from tierscope.domain.base.copying import copied
from tierscope.domain.base.described import NOW, AsOf, Described, now_fields
from tierscope.domain.base.figures import Figure, Series, TimeAxis, Window, gaps_to_none
from tierscope.domain.fleet.host_columns import HostColumns
from tierscope.domain.fleet.hosts_away import HostsAway
from tierscope.domain.heat.classes import class_shares
from tierscope.domain.ledger.figures import TierFlow
from tierscope.storage.fleet.causes import HostCause
from tierscope.storage.fleet.host_columns import read_host_columns
from tierscope.storage.fleet.recent import FLOWS, RATES
from tierscope.storage.fleet.services import has_more_pairs, list_services
from tierscope.storage.fleet.tags import Tagged
from tierscope.storage.heat.fleet import read_hours, read_samples
from tierscope.storage.heat.services import read_class_hours
from tierscope.storage.nodes.counts import read_hosts_away
from tierscope.usecases.base.context import ContextUseCase
from tierscope.usecases.base.windows import parse_window
from tierscope.usecases.fleet.headlines import FleetNumbers, describe_fleet
from tierscope.usecases.fleet.limits import limits_at
from tierscope.usecases.fleet.overview_hosts import read_hosts_together
from tierscope.usecases.fleet.overview_moves import read_course
from tierscope.usecases.fleet.service_summaries import ServiceSummary, SummarisedService, summarise_services
from tierscope.usecases.fleet.tags import read_tagged
from tierscope.usecases.heat.class_lines import class_lines
from tierscope.usecases.heat.services import RULE, HeatNow, choose_heat, fleet_figures, heats_of, read_heat_now

Floats = npt.NDArray[np.float64]
NowFigure = Annotated[Figure, NOW]

DETAILED = timedelta(hours=12)
"""Up to this window the matrix of a small fleet has steps of ten minutes, else of hours."""
DETAILED_ROWS = 20_000
"""Samples that it may read for that."""
HOUR_SECONDS = 3600.0
SAMPLE_SECONDS = 600.0
MAX_SERVICES = 200


@dataclass(frozen=True, slots=True)
class ServiceMatrixRow:
    """One service over time: cold share per bucket, null where not measured."""

    service_id: str
    label: str
    cold_ratio: tuple[float | None, ...]


@dataclass(frozen=True, slots=True)
class FleetOverview:
    """The answer of /v1/fleet: hosts and services now, and the course of the window."""

    headline: Annotated[str, NOW]
    window: Annotated[Window, Described("Of the matrix, the moves and the pressure.")]
    as_of: Annotated[AsOf, Described("What tells of now in place of the window.")]
    simulated: bool
    hosts_reporting: Annotated[int, NOW]
    hosts_late: Annotated[int, NOW]
    hosts_silent: Annotated[int, NOW]
    hosts_total: Annotated[int, NOW]
    away: Annotated[HostsAway, Described("Hosts that no count or figure of the fleet holds now.", as_of="now")]
    hosts_tiering_off: Annotated[int, NOW]
    memory_bytes: NowFigure
    hot_ratio: NowFigure
    warm_ratio: NowFigure
    cold_ratio: NowFigure
    hot_host_median: Annotated[
        Figure, Described("Share of hot memory of the median host; `hot_ratio` weighs by memory.", as_of="now")
    ]
    warm_host_median: NowFigure
    cold_host_median: NowFigure
    hot_outside_dram_bytes: NowFigure
    cold_in_dram_bytes: NowFigure
    promotion_pages_per_s: NowFigure
    demotion_pages_per_s: NowFigure
    psi_memory_some_ratio: NowFigure
    tier_flow: Annotated[TierFlow, Described("Of all hosts together, over the newest hour of each.", as_of="now")]
    services: Annotated[tuple[ServiceSummary, ...], NOW]
    hosts_in_need: Annotated[int, Described("Hosts with any cause of attention.", as_of="now")]
    hosts_critical: Annotated[int, Described("Of these, hosts with a critical one.", as_of="now")]
    causes: Annotated[
        tuple[HostCause, ...],
        Described("Why hosts need attention: the gravest first, then by how many hosts have it.", as_of="now"),
    ]
    matrix_axis: TimeAxis
    matrix: tuple[ServiceMatrixRow, ...]
    moves_axis: TimeAxis
    moves: tuple[Series, ...]
    psi: tuple[Series, ...]
    moves_missing: Annotated[
        str | None, Described("Why `moves` and `psi` lack steps for which counters have arrived; null: they lack none.")
    ]


class FleetReads(ContextUseCase):
    """Reads of the fleet."""

    def overview(
        self, *, from_: str | None, to: str | None, max_points: int, tags: Sequence[str] = ()
    ) -> FleetOverview:
        """All hosts and services now, and the window's course; with tags those that have them, and the course of all.

        Raises:
            BadRequest: the window is not understood, or a tag not `key=value`.
        """
        now = self._context.clock()
        window = parse_window(from_, to, now=now)
        moves_grid = make_grid(window, interval_s=60.0, max_points=max_points)
        with self._context.database.read() as session:
            tagged = read_tagged(session, tags)
            columns = read_host_columns(session, limits_at(now), sorted({*RATES, *FLOWS}))
            shown = columns if tagged is None else columns.of(np.flatnonzero(np.isin(columns.host_ids, tagged.hosts)))
            hosts = read_hosts_together(session, shown, now=now)
            lines, heats = _read_services(session, tagged, columns, now)
            matrix_grid, over_time = _read_matrix(session, window, now=now, max_points=max_points)
            course = read_course(session, moves_grid, hosts.ledgers, now=now)
            away = read_hosts_away(session)
        fleet_heat = fleet_figures(list(heats.values()), now=now)
        heat = fleet_heat.weighted
        attention = hosts.attention
        numbers = FleetNumbers(
            heat,
            hosts.total,
            hosts.silent,
            hosts.late,
            hosts.tiering_off,
            attention.n_hosts,
            attention.n_critical,
            away,
        )
        return copied(
            FleetOverview,
            heat,
            headline=describe_fleet(numbers, heat.resident_bytes),
            window=window,
            as_of=now_fields(FleetOverview, now),
            simulated=hosts.simulated,
            hosts_reporting=hosts.reporting,
            hosts_late=hosts.late,
            hosts_silent=hosts.silent,
            hosts_total=hosts.total,
            away=away,
            hosts_tiering_off=hosts.tiering_off,
            memory_bytes=hosts.memory_bytes,
            hot_host_median=fleet_heat.hot_host_median,
            warm_host_median=fleet_heat.warm_host_median,
            cold_host_median=fleet_heat.cold_host_median,
            promotion_pages_per_s=hosts.moves.promotion,
            demotion_pages_per_s=hosts.moves.demotion,
            psi_memory_some_ratio=hosts.moves.psi,
            tier_flow=hosts.flow,
            services=tuple(line.summary for line in lines),
            hosts_in_need=attention.n_hosts,
            hosts_critical=attention.n_critical,
            causes=attention.causes,
            matrix_axis=matrix_grid.axis(),
            matrix=_matrix(lines, over_time, matrix_grid),
            moves_axis=moves_grid.axis(),
            moves=course.moves,
            psi=course.psi,
            moves_missing=course.missing,
        )


def _read_services(
    session: ReadSession, tagged: Tagged | None, columns: HostColumns, now: datetime
) -> tuple[list[SummarisedService], dict[int, HeatNow]]:
    """Lines of services, each over all its hosts, and the heat of all hosts, or of those with the tags."""
    ids = None if tagged is None else tagged.services
    services = list_services(session, origin=None, host=None, after=None, limit=MAX_SERVICES, ids=ids)
    heats = read_heat_now(session, now=now)
    lines = summarise_services(session, services, heats, now=now, columns=columns)
    return lines, heats if tagged is None else heats_of(heats, tagged.services, tagged.hosts)


def _read_matrix(
    session: ReadSession, window: Window, *, now: datetime, max_points: int
) -> tuple[Grid, Mapping[int, Floats]]:
    """Classes over the window by service [b, 4]: samples of a short one, else hourly sums where they are built."""
    long = window.end - window.start > DETAILED
    if not long:
        steps = (window.end - window.start).total_seconds() / SAMPLE_SECONDS
        long = has_more_pairs(session, int(DETAILED_ROWS / steps))
    if long:
        grid = make_grid(window, interval_s=HOUR_SECONDS, max_points=max_points)
        start = hour_of(window.start)
        stored = read_class_hours(session, start, window.end)
        if stored is not None:
            return grid, class_lines(stored, grid)
        hours = read_hours(session, start, window.end)
        if hours:
            return grid, _lines(choose_heat(hours, now=now), grid)
    else:
        grid = make_grid(window, interval_s=SAMPLE_SECONDS, max_points=max_points)
    samples = read_samples(session, window.start, window.end, timedelta(seconds=grid.step_s))
    return grid, _lines(choose_heat(samples, now=now), grid)


def _lines(heats: Mapping[int, HeatNow], grid: Grid) -> dict[int, Floats]:
    return {key: heat.source.lines(RULE, grid) for key, heat in heats.items() if heat.source is not None}


def _matrix(
    lines: Sequence[SummarisedService], classes: Mapping[int, Floats], grid: Grid
) -> tuple[ServiceMatrixRow, ...]:
    return tuple(
        ServiceMatrixRow(line.summary.id, line.summary.name, _cold(classes.get(line.row.id), grid)) for line in lines
    )


def _cold(classes: Floats | None, grid: Grid) -> tuple[float | None, ...]:
    """Cold share of what is resident per bucket; None where nothing was measured, or too little has a class."""
    return (None,) * len(grid) if classes is None else gaps_to_none(class_shares(classes, "cold"))
