"""Reads of the ledger of tier moves: one host, or a service over its hosts."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from tierscope.core.database import ReadSession
from tierscope.domain.base.axis import Grid, make_grid
from tierscope.domain.base.figures import Origin, Series, Window, gaps_to_none
from tierscope.domain.counters.monotonic import nominal_step
from tierscope.domain.ledger import COLUMNS, Column
from tierscope.domain.ledger.columns import ABSENT, MOVED
from tierscope.domain.ledger.flows import join_series, list_resets, rate_series
from tierscope.storage.base.subjects import SubjectHost, SubjectService, services_of_host
from tierscope.usecases.base.context import ContextUseCase
from tierscope.usecases.base.subjects import require_service_hosts, require_subject_host
from tierscope.usecases.base.windows import parse_window
from tierscope.usecases.ledger.answers import (
    WHOLE_HOSTS,
    ColumnSums,
    Ledger,
    LedgerEvidence,
    LedgerReset,
    ServiceState,
    shared_size,
    view_column,
)
from tierscope.usecases.ledger.gathered import (
    GatheredWindow,
    read_gathered,
    view_gathered,
    view_ping_pong,
    view_waits,
)
from tierscope.usecases.ledger.ping_pong import HostWaits, PingPong, describe_ping_pong, view_held, wait_shares
from tierscope.usecases.ledger.sources import HostLedger, ledgers_of, read_known

MAX_ROWS = 20_000
"""Rows of single intervals that one request reads of a service."""


class LedgerReads(ContextUseCase):
    """Totals, rates, series, resets and the verdict of a window."""

    def host(self, host_id: str, *, from_: str | None, to: str | None, max_points: int) -> Ledger:
        """The ledger of one host.

        Raises:
            NotFound: no such host.
            BadRequest: the window cannot be read.
        """
        window = parse_window(from_, to, now=self._context.clock())
        with self._context.database.read() as session:
            host = require_subject_host(session, host_id)
            known = read_known(session, [host], window)
            parts = ledgers_of(session, known, window)
            services = [
                (service, _with_hosts(ledgers_of(session, known, window, service), parts)[0])
                for service in services_of_host(session, host.id)
            ]
        grid = _grid(parts, window, max_points)
        view = _view(host_id, host.origin, parts, window, grid)
        return replace(view, services=tuple(_service_state(service, part, grid) for service, part in services))

    def service(self, service_id: str, *, from_: str | None, to: str | None, max_points: int) -> Ledger:
        """The ledger of a service: of its own cgroups where hosts count them, else of its whole hosts, and says so.

        Of many hosts over long windows it is that of whole hours, which the workers have summed.

        Raises:
            NotFound: no such service.
            BadRequest: the window cannot be read.
        """
        window = parse_window(from_, to, now=self._context.clock())
        with self._context.database.read() as session:
            service, hosts = require_service_hosts(session, service_id)
            found = _read_service(session, service, hosts, window)
        if isinstance(found, GatheredWindow):
            return view_gathered(service_id, service.origin, found, window, max_points)
        parts, warning = found
        grid = _grid(parts, window, max_points)
        return _view(service_id, service.origin, parts, window, grid, warning=warning)


def read_ping_pong(
    session: ReadSession, service: SubjectService, hosts: Sequence[SubjectHost], window: Window
) -> tuple[PingPong, HostWaits]:
    """Ping-pong and waiting over all hosts of a service, as its ledger has them."""
    found = _read_service(session, service, hosts, window)
    if isinstance(found, GatheredWindow):
        return view_ping_pong(found), view_waits(found)
    parts, warning = found
    ping_pong = describe_ping_pong(_measured(parts), window, _warnings(warning))
    return ping_pong, wait_shares([part.ledger for part in parts], window)


def _read_service(
    session: ReadSession, service: SubjectService, hosts: Sequence[SubjectHost], window: Window
) -> GatheredWindow | tuple[list[HostLedger], str | None]:
    """Sums of whole hours where there would be too many rows; else ledgers of its own cgroups, or of whole hosts."""
    if len(hosts) * window.seconds / 60 > MAX_ROWS:
        gathered = read_gathered(session, service.id, window)
        if gathered is not None:
            return gathered
    return read_parts(session, service, hosts, window)


def read_parts(
    session: ReadSession, service: SubjectService, hosts: Sequence[SubjectHost], window: Window
) -> tuple[list[HostLedger], str | None]:
    """Ledgers of a service's own cgroups on these hosts where they are counted, else of whole hosts, with a warning."""
    known = read_known(session, hosts, window)
    own = [part for part in ledgers_of(session, known, window, service) if part.counts]
    whole = ledgers_of(session, known, window)
    return (_with_hosts(own, whole), None) if own else (whole, WHOLE_HOSTS)


def _service_state(service: SubjectService, part: HostLedger, grid: Grid) -> ServiceState:
    course = part.course()
    verdict = course.verdict
    return ServiceState(
        service_id=service.public_id,
        service=f"{service.namespace}/{service.name}",
        verdict=verdict.word,
        explanation=f"{verdict.explanation} ({verdict.confidence})",
        states=view_held(course),
        moves=tuple(
            _series(plan.column, _measured([part]), grid)
            for plan in part.plan.columns
            if plan.column.key in MOVED and plan.plus
        ),
    )


def _with_hosts(own: Sequence[HostLedger], whole: Sequence[HostLedger]) -> list[HostLedger]:
    """Ledgers of a service's cgroups, each with that of its host."""
    around = {part.host.id: part.ledger for part in whole}
    return [replace(part, around=around.get(part.host.id)) for part in own]


def _measured(parts: Sequence[HostLedger]) -> list[HostLedger]:
    return [part for part in parts if len(part.ledger.times_s)]


def _warnings(warning: str | None) -> tuple[str, ...]:
    return () if warning is None else (warning,)


def _grid(parts: Sequence[HostLedger], window: Window, max_points: int) -> Grid:
    interval_s = min((nominal_step(part.ledger.times_s) for part in _measured(parts)), default=60.0)
    return make_grid(window, interval_s=interval_s, max_points=max_points)


def _view(
    subject: str,
    origin: Origin,
    parts: Sequence[HostLedger],
    window: Window,
    grid: Grid,
    *,
    warning: str | None = None,
) -> Ledger:
    measured = _measured(parts)
    warnings = _warnings(warning)
    evidence = LedgerEvidence(window, len(measured), warnings, whole_hosts=warning is not None)
    columns = tuple(
        view_column(column, [part.plan.columns[place] for part in parts], _sums(column, measured), evidence)
        for place, column in enumerate(COLUMNS)
    )
    supported = {column.key for column in columns if column.trust not in ABSENT}
    resets = [LedgerReset(at, cause, tuple(lost)) for part in measured for at, cause, lost in list_resets(part.ledger)]
    dialects = Counter(part.plan.dialect for part in parts)
    return Ledger(
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
        page_bytes=shared_size(part.machine.page_bytes for part in measured),
    )


def _series(column: Column, measured: Sequence[HostLedger], grid: Grid) -> Series:
    unit = column.unit if column.gauge else f"{column.unit}_per_s"
    if not measured:
        return Series(column.key, column.label, unit, (None,) * len(grid))
    joined = join_series([rate_series(part.ledger, grid, column.key) for part in measured], column.key)
    return Series(column.key, column.label, unit, gaps_to_none(joined))


def _sums(column: Column, measured: Sequence[HostLedger]) -> ColumnSums | None:
    having = [part for part in measured if part.ledger.total(column.key) is not None]
    if not having:
        return None
    seconds = [part.ledger.seconds(column.key) for part in having]
    totals = [float(part.ledger.total(column.key) or 0) for part in having]
    return ColumnSums(
        n_hosts=len(having),
        n_intervals=sum(int(part.ledger.present[:, COLUMNS.index(column)].sum()) for part in having),
        seconds=sum(seconds),
        total=sum(totals),
        per_s=sum(total / over for total, over in zip(totals, seconds, strict=True) if over > 0),
        newest=sum(_newest(part, column.key) for part in having) if column.gauge else 0.0,
    )


def _newest(part: HostLedger, key: str) -> float:
    return float([value for value in gaps_to_none(part.ledger.column(key)) if value is not None][-1])
