"""Reads of the ledger of tier moves: one host, or a service over its hosts."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from tierscope.core.errors import NotFound
from tierscope.domain.axis import Grid, make_grid
from tierscope.domain.counters import nominal_step
from tierscope.domain.figures import Figure, Series, TimeAxis, Window, absent, gaps_to_none
from tierscope.domain.tier_moves import COLUMNS, Column, ColumnPlan, Trust
from tierscope.domain.tier_moves.flows import list_resets, rate_series, sum_series
from tierscope.storage.subjects import find_host
from tierscope.usecases.context import ReadContext
from tierscope.usecases.ledger_sources import HostLedger, read_ledgers
from tierscope.usecases.ping_pong import PingPongView, describe_ping_pong
from tierscope.usecases.subjects import require_service_hosts
from tierscope.usecases.windows import parse_window

GROUNDING = "L kernel text of each counter"
WHOLE_HOSTS = "Whole hosts, all their services together: the kernels keep no such counters for this service's cgroups."
_TRUST_ORDER: tuple[Trust, ...] = ("exact", "sampled", "bound", "partial", "not_supported")


@dataclass(frozen=True, slots=True)
class ColumnView:
    """A column: total and rate over the window, and what it is made of."""

    key: str
    label: str
    unit: str
    counters: tuple[str, ...]
    trust: Trust
    trust_note: str
    total: Figure
    rate: Figure


@dataclass(frozen=True, slots=True)
class ResetView:
    """A stretch that was left out; `at` in Unix seconds."""

    at: float
    cause: str
    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LedgerView:
    """The answer of both routes."""

    subject: str
    origin: str
    dialect: str
    window: Window
    axis: TimeAxis
    columns: tuple[ColumnView, ...]
    series: tuple[Series, ...]
    resets: tuple[ResetView, ...]
    ping_pong: PingPongView
    n_hosts: int


class LedgerReads:
    """Totals, rates, series, resets and the verdict of a window."""

    def __init__(self, context: ReadContext) -> None:
        self._context = context

    def host(self, host_id: str, *, from_: str | None, to: str | None, max_points: int) -> LedgerView:
        """The ledger of one host.

        Raises:
            NotFound: no such host.
            BadRequest: the window cannot be read.
        """
        window = parse_window(from_, to, now=self._context.clock())
        with self._context.database.read() as session:
            host = find_host(session, host_id)
            if host is None:
                raise NotFound(f"there is no host {host_id}")
            parts = read_ledgers(session, [host], window)
        return _view(host_id, host.origin, parts, window, max_points)

    def service(self, service_id: str, *, from_: str | None, to: str | None, max_points: int) -> LedgerView:
        """The ledger of a service: of its own cgroups where hosts count them, else of its whole hosts, and says so.

        Raises:
            NotFound: no such service.
            BadRequest: the window cannot be read.
        """
        window = parse_window(from_, to, now=self._context.clock())
        with self._context.database.read() as session:
            service, hosts = require_service_hosts(session, service_id)
            own = [
                part
                for part in read_ledgers(session, hosts, window, service)
                if any(column.plus for column in part.plan.columns)
            ]
            if own:
                return _view(service_id, service.origin, own, window, max_points)
            whole = read_ledgers(session, hosts, window)
        return _view(service_id, service.origin, whole, window, max_points, warning=WHOLE_HOSTS)


def _view(
    subject: str,
    origin: str,
    parts: Sequence[HostLedger],
    window: Window,
    max_points: int,
    *,
    warning: str | None = None,
) -> LedgerView:
    measured = [part for part in parts if len(part.ledger.times_s)]
    interval_s = min((nominal_step(part.ledger.times_s) for part in measured), default=60.0)
    grid = make_grid(window, interval_s=interval_s, max_points=max_points)
    warnings = () if warning is None else (warning,)
    columns = tuple(_column(column, place, parts, measured, window, warnings) for place, column in enumerate(COLUMNS))
    supported = {column.key for column in columns if column.trust != "not_supported"}
    resets = [ResetView(at, cause, tuple(lost)) for part in measured for at, cause, lost in list_resets(part.ledger)]
    dialects = Counter(part.plan.dialect for part in parts)
    return LedgerView(
        subject=subject,
        origin=origin,
        dialect=", ".join(name for name, _ in dialects.most_common()) or "none",
        window=window,
        axis=grid.axis(),
        columns=columns,
        series=tuple(_series(column, measured, grid) for column in COLUMNS if column.key in supported),
        resets=tuple(sorted(resets, key=lambda reset: reset.at)),
        ping_pong=describe_ping_pong(measured, window, warnings),
        n_hosts=len(measured),
    )


def _series(column: Column, measured: Sequence[HostLedger], grid: Grid) -> Series:
    unit = column.unit if column.gauge else f"{column.unit}_per_s"
    if not measured:
        return Series(column.key, column.label, unit, (None,) * len(grid))
    summed = sum_series([rate_series(part.ledger, grid, column.key) for part in measured])
    return Series(column.key, column.label, unit, gaps_to_none(summed))


def _column(
    column: Column,
    place: int,
    parts: Sequence[HostLedger],
    measured: Sequence[HostLedger],
    window: Window,
    warnings: tuple[str, ...],
) -> ColumnView:
    counters, trust, note = _trust_of_hosts([part.plan.columns[place] for part in parts])
    if warnings and trust != "not_supported":
        trust = "bound" if trust in ("exact", "sampled") else trust
        note = f"{warnings[0]} {note}".strip()
    total, rate = _numbers(column, measured, window, warnings, trust, note)
    return ColumnView(column.key, column.label, column.unit, counters, trust, note, total, rate)


def _trust_of_hosts(plans: Sequence[ColumnPlan]) -> tuple[tuple[str, ...], Trust, str]:
    """The weakest trust of the hosts that have the column at all."""
    having = [plan for plan in plans if plan.trust != "not_supported"]
    if not having:
        note = plans[0].note if plans else "No host has sent counters."
        return (plans[0].counters if plans else ()), "not_supported", note
    weakest = max(having, key=lambda plan: _TRUST_ORDER.index(plan.trust))
    counters = tuple(dict.fromkeys(name for plan in having for name in plan.counters))
    if len(having) < len(plans):
        missing = f"{len(plans) - len(having)} of {len(plans)} hosts have no such counter."
        return counters, "partial", f"{weakest.note} {missing}".strip()
    return counters, weakest.trust, weakest.note


def _numbers(
    column: Column,
    measured: Sequence[HostLedger],
    window: Window,
    warnings: tuple[str, ...],
    trust: Trust,
    note: str,
) -> tuple[Figure, Figure]:
    """Total (a gauge: its newest value) and rate over observed seconds, summed over hosts."""
    name, rate_name = f"tier_moves.{column.key}/1", f"tier_moves.{column.key}_per_s/1"
    rate_unit = f"{column.unit}_per_s"
    having = [part for part in measured if part.ledger.total(column.key) is not None]
    if trust == "not_supported":
        return (
            absent(name, column.unit, "not_supported", note, window=window, method="counters"),
            absent(rate_name, rate_unit, "not_supported", note, window=window, method="counters"),
        )
    if not having:
        reason = "No two samples of one boot in the window to compare."
        return (
            absent(name, column.unit, "not_enough_data", reason, window=window, method="counters"),
            absent(rate_name, rate_unit, "not_enough_data", reason, window=window, method="counters"),
        )
    intervals = sum(int(part.ledger.present[:, COLUMNS.index(column)].sum()) for part in having)
    seconds = [part.ledger.seconds(column.key) for part in having]
    coverage = min(1.0, sum(seconds) / (len(measured) * window.seconds))

    def figure(definition: str, unit: str, value: float) -> Figure:
        return Figure(
            definition,
            "ok",
            value,
            unit,
            method="counters",
            window=window,
            n_hosts=len(having),
            n_intervals=intervals,
            coverage=coverage,
            grade="good" if trust == "exact" else "partial",
            grounding=GROUNDING,
            warnings=warnings,
        )

    if column.gauge:
        newest = sum(_newest(part, column.key) for part in having)
        reason = "A state, not a flow."
        return (
            figure(name, column.unit, newest),
            absent(rate_name, rate_unit, "not_supported", reason, window=window, method="counters"),
        )
    totals = [float(part.ledger.total(column.key) or 0) for part in having]
    per_s = sum(total / over for total, over in zip(totals, seconds, strict=True) if over > 0)
    return figure(name, column.unit, sum(totals)), figure(rate_name, rate_unit, per_s)


def _newest(part: HostLedger, key: str) -> float:
    return float([value for value in gaps_to_none(part.ledger.column(key)) if value is not None][-1])
