"""The fleet overview: the whole installation on one screen, with a fixed number of statements."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import numpy as np
import numpy.typing as npt

from tierscope.core.database import ReadSession
from tierscope.domain.axis import Grid, make_grid
from tierscope.domain.figures import Figure, Series, TimeAxis, Window, absent, gaps_to_none
from tierscope.domain.heat.source import HeatSource
from tierscope.domain.move_figures import figures_of_sums
from tierscope.domain.tier_moves.flows import rate_series, sum_series
from tierscope.storage.fleet_heat import read_hours, read_samples
from tierscope.storage.hosts import HostFilter, list_hosts
from tierscope.storage.services import list_services
from tierscope.storage.tier_moves import Flow, sum_flows
from tierscope.usecases.context import ReadContext
from tierscope.usecases.headlines import FleetNumbers, describe_fleet
from tierscope.usecases.host_summaries import MEMORY, HostSummary, Summarised, summarise
from tierscope.usecases.service_heat import RULE, HeatNow, choose_heat, fleet_figures, read_heat_now
from tierscope.usecases.service_moves import rates_of
from tierscope.usecases.service_summaries import (
    ServiceSummary,
    SummarisedService,
    summarise_services,
)
from tierscope.usecases.windows import parse_window

Floats = npt.NDArray[np.float64]

DETAILED = timedelta(hours=12)
"""Up to this window the matrix has steps of ten minutes, above it of hours."""
HOUR_SECONDS = 3600.0
SAMPLE_SECONDS = 600.0
MAX_WORST = 10
MAX_SERVICES = 200
_WEIGHTS = {"critical": 100, "warning": 10, "info": 0}
_SILENT_WEIGHT, _BAD_VERDICT_WEIGHT, _LATE_WEIGHT = 50, 20, 5
BAD_VERDICTS = ("futile_ping_pong", "promotion_failing", "swap_pressure", "spill")
"""Verdicts on tier moves that call for someone."""
_COLD = 2


@dataclass(frozen=True, slots=True)
class MatrixRow:
    """One service over time."""

    service_id: str
    label: str
    cold_ratio: tuple[float | None, ...]


@dataclass(frozen=True, slots=True)
class FleetOverview:
    """The answer of /v1/fleet."""

    headline: str
    window: Window
    simulated: bool
    hosts_reporting: int
    hosts_late: int
    hosts_silent: int
    hosts_total: int
    hosts_tiering_off: int
    memory_bytes: Figure
    hot_ratio: Figure
    warm_ratio: Figure
    cold_ratio: Figure
    hot_host_median: Figure
    warm_host_median: Figure
    cold_host_median: Figure
    hot_outside_dram_bytes: Figure
    cold_in_dram_bytes: Figure
    promotion_pages_per_s: Figure
    demotion_pages_per_s: Figure
    psi_memory_some_ratio: Figure
    services: tuple[ServiceSummary, ...]
    worst_hosts: tuple[HostSummary, ...]
    matrix_axis: TimeAxis
    matrix: tuple[MatrixRow, ...]
    moves_axis: TimeAxis
    moves: tuple[Series, ...]
    psi: tuple[Series, ...]


class FleetReads:
    """Reads of the fleet."""

    def __init__(self, context: ReadContext) -> None:
        self._context = context

    def overview(self, *, from_: str | None, to: str | None, max_points: int) -> FleetOverview:
        """All hosts and services now, and the window's course.

        Raises:
            BadRequest: the window is not understood.
        """
        now = self._context.clock()
        window = parse_window(from_, to, now=now)
        moves_grid = make_grid(window, interval_s=60.0, max_points=max_points)
        with self._context.database.read() as session:
            rows = list_hosts(session, wanted=HostFilter(retired=False), after=None, limit=None)
            hosts = summarise(session, rows, now=now)
            services = list_services(session, origin=None, host=None, after=None, limit=MAX_SERVICES)
            heats = read_heat_now(session, now=now)
            lines = summarise_services(session, services, heats, now=now)
            matrix_grid, over_time = _read_matrix(session, window, now=now, max_points=max_points)
            flows = sum_flows(
                session,
                ("promoted_pages", "demoted_pages", "psi_some_us"),
                window.start,
                window.end,
                width_us=moves_grid.step_s * 1_000_000,
            )
        states = Counter(host.summary.state for host in hosts if host.row.origin != "import")
        fleet_heat = fleet_figures(list(heats.values()), now=now)
        heat = fleet_heat.weighted
        one_tier = bool(hosts) and all(host.facts.tiers.known and host.facts.n_tiers == 1 for host in hosts)
        moves = figures_of_sums(rates_of(hosts), one_tier=one_tier)
        off = sum(host.facts.tiering_off is True for host in hosts)
        move_series, psi = _move_series(flows, hosts, moves_grid)
        return FleetOverview(
            headline=describe_fleet(
                FleetNumbers(heat, len(hosts), states["silent"], states["late"], off, _grave(hosts)),
                heat.resident_bytes,
            ),
            window=window,
            simulated=any(host.row.origin == "simulated" for host in hosts),
            hosts_reporting=states["reporting"],
            hosts_late=states["late"],
            hosts_silent=states["silent"],
            hosts_total=len(hosts),
            hosts_tiering_off=off,
            memory_bytes=_memory(hosts),
            hot_ratio=heat.hot_ratio,
            warm_ratio=heat.warm_ratio,
            cold_ratio=heat.cold_ratio,
            hot_host_median=fleet_heat.hot_host_median,
            warm_host_median=fleet_heat.warm_host_median,
            cold_host_median=fleet_heat.cold_host_median,
            hot_outside_dram_bytes=heat.hot_outside_dram_bytes,
            cold_in_dram_bytes=heat.cold_in_dram_bytes,
            promotion_pages_per_s=moves.promotion,
            demotion_pages_per_s=moves.demotion,
            psi_memory_some_ratio=moves.psi,
            services=tuple(line.summary for line in lines),
            worst_hosts=_worst(hosts),
            matrix_axis=matrix_grid.axis(),
            matrix=_matrix(lines, over_time, matrix_grid),
            moves_axis=moves_grid.axis(),
            moves=move_series,
            psi=psi,
        )


def _read_matrix(
    session: ReadSession, window: Window, *, now: datetime, max_points: int
) -> tuple[Grid, Mapping[int, HeatNow]]:
    """Heat over the window: samples every ten minutes of a short one, else hourly sums where they are built."""
    if window.end - window.start > DETAILED:
        grid = make_grid(window, interval_s=HOUR_SECONDS, max_points=max_points)
        start = window.start.replace(minute=0, second=0, microsecond=0)
        hours = read_hours(session, start, window.end)
        if hours:
            return grid, choose_heat(hours, now=now)
    else:
        grid = make_grid(window, interval_s=SAMPLE_SECONDS, max_points=max_points)
    samples = read_samples(session, window.start, window.end, timedelta(seconds=grid.step_s))
    return grid, choose_heat(samples, now=now)


def _matrix(lines: Sequence[SummarisedService], heats: Mapping[int, HeatNow], grid: Grid) -> tuple[MatrixRow, ...]:
    return tuple(
        MatrixRow(
            line.summary.id, line.summary.name, _cold(heats[line.row.id].source if line.row.id in heats else None, grid)
        )
        for line in lines
    )


def _cold(source: HeatSource | None, grid: Grid) -> tuple[float | None, ...]:
    """Cold share of what is resident per bucket; None where nothing was measured."""
    if source is None:
        return (None,) * len(grid)
    classes = source.lines(RULE, grid)
    resident = classes.sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return gaps_to_none(np.where(resident > 0, classes[:, _COLD] / resident, np.nan))


def _move_series(
    flows: Sequence[Flow], hosts: Sequence[Summarised], grid: Grid
) -> tuple[tuple[Series, ...], tuple[Series, ...]]:
    """Rates summed over hosts, and pressure as their mean; from the newest hour alone where no ledger is built."""
    names = (("promoted", "Promoted", "promoted_pages"), ("demoted", "Demoted", "demoted_pages"))
    if flows:
        columns = {key: _sum_rates(flows, key, grid) for _, _, key in names}
        pressure = _mean_pressure(flows, grid)
    else:
        start, end = grid.window.start.timestamp(), grid.window.end.timestamp()
        ledgers = [host.ledger for host in hosts if host.ledger is not None]
        inside = [part for part in ledgers if len(part.times_s) and start < part.times_s[0] and part.times_s[-1] <= end]
        columns = {key: _sum_parts([rate_series(part, grid, key) for part in inside], grid) for _, _, key in names}
        shares = [rate_series(part, grid, "psi_some_us") for part in inside]
        measured = np.sum([np.isfinite(share) for share in shares], axis=0) if shares else np.zeros(len(grid))
        with np.errstate(invalid="ignore", divide="ignore"):
            pressure = _sum_parts(shares, grid) / measured * 1e-6
    moves = tuple(Series(name, label, "pages_per_s", gaps_to_none(columns[key])) for name, label, key in names)
    return moves, (Series("memory_some", "memory, some", "ratio", gaps_to_none(pressure)),)


def _sum_parts(parts: Sequence[Floats], grid: Grid) -> Floats:
    return sum_series(parts) if parts else np.full(len(grid), np.nan)


def _sum_rates(flows: Sequence[Flow], key: str, grid: Grid) -> Floats:
    """Pages per second of all hosts by bucket: each host's rate over its own observed seconds."""
    known = [(flow, total) for flow in flows if (total := flow.sums[key]) is not None and flow.seconds > 0]
    place = _place([flow for flow, _ in known], grid)
    rates = np.array([max(total / flow.seconds, 0.0) for flow, total in known])
    counted = np.bincount(place, minlength=len(grid))
    return np.where(counted > 0, np.bincount(place, weights=rates, minlength=len(grid)), np.nan)


def _mean_pressure(flows: Sequence[Flow], grid: Grid) -> Floats:
    """Share of time in which some task waited for memory, over all observed seconds of all hosts."""
    known = [(flow, total) for flow in flows if (total := flow.sums["psi_some_us"]) is not None and flow.seconds > 0]
    place = _place([flow for flow, _ in known], grid)
    waited = np.bincount(place, weights=[total * 1e-6 for _, total in known], minlength=len(grid))
    seconds = np.bincount(place, weights=[flow.seconds for flow, _ in known], minlength=len(grid))
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(seconds > 0, waited / seconds, np.nan)


def _place(flows: Sequence[Flow], grid: Grid) -> npt.NDArray[np.int64]:
    return grid.place(np.array([flow.bucket_us / 1e6 + grid.step_s for flow in flows], np.float64))


def _memory(hosts: Sequence[Summarised]) -> Figure:
    known = [host.facts.memory_bytes for host in hosts if host.facts.memory_bytes is not None]
    definition = MEMORY.replace("host.", "fleet.")
    if not known:
        return absent(definition, "bytes", "not_collected", "No host has said yet how much memory it has.")
    figure = Figure(definition, "ok", float(sum(known)), "bytes", method="counters", n_hosts=len(known), grade="good")
    missing = len(hosts) - len(known)
    return replace(figure, grade="partial", warnings=(f"{missing} hosts do not say",)) if missing else figure


def _weight(host: Summarised) -> int:
    weight = sum(_WEIGHTS.get(finding.severity, 0) for finding in host.summary.findings)
    silent = host.summary.state == "silent" and host.row.origin != "import"
    weight += _BAD_VERDICT_WEIGHT if host.verdict.word in BAD_VERDICTS else 0
    return weight + (_SILENT_WEIGHT if silent else _LATE_WEIGHT if host.summary.state == "late" else 0)


def _worst(hosts: Sequence[Summarised]) -> tuple[HostSummary, ...]:
    """Hosts with problems, the gravest first; those without any are not listed."""
    weighed = sorted(((_weight(host), host) for host in hosts), key=lambda pair: (-pair[0], pair[1].row.name))
    return tuple(host.summary for weight, host in weighed[:MAX_WORST] if weight > 0)


def _grave(hosts: Sequence[Summarised]) -> int:
    """Hosts with a critical finding or a verdict that calls for someone."""
    return sum(
        host.verdict.word in BAD_VERDICTS or any(finding.severity == "critical" for finding in host.summary.findings)
        for host in hosts
    )
