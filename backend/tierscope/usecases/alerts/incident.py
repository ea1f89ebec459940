"""The read of an incident: the time around an alert on one axis, its onset, its cause, and whom it touched.

Lines are those of the ledger, counters and service metrics of the same window, so that they agree with the host's and
the service's own pages.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from tierscope.core.database import ReadSession
from tierscope.domain.alerts.evaluating import evaluate
from tierscope.domain.alerts.frame import MINUTE_S
from tierscope.domain.alerts.onset import Onset, explain_onset, find_onset
from tierscope.domain.alerts.vocabulary import DAYS_EARLY, DAYS_MEDIAN
from tierscope.domain.base.axis import grid_of, make_grid
from tierscope.domain.base.figures import TimeAxis, Window
from tierscope.storage.alerts.rows import AlertRow, changes_of
from tierscope.storage.base.subjects import SubjectHost
from tierscope.storage.fleet.events import EventItem, list_events
from tierscope.usecases.alerts.answers import AlertSubject
from tierscope.usecases.alerts.conditions import AlertCondition, find_condition
from tierscope.usecases.alerts.frames import ARRIVAL_SECONDS
from tierscope.usecases.alerts.incident_answers import Incident, IncidentKind, IncidentOnset, IncidentRow
from tierscope.usecases.alerts.incident_hosts import NO_HOST, view_hosts
from tierscope.usecases.alerts.incident_rows import (
    in_order,
    row_of_free_memory,
    row_of_host_throughput,
    row_of_service_metrics,
    rows_of_fleet,
    rows_of_ledger,
)
from tierscope.usecases.alerts.incident_sharing import TellsTaken
from tierscope.usecases.alerts.reads import require_alert
from tierscope.usecases.base.context import ReadContext
from tierscope.usecases.base.subjects import require_service_hosts, require_subject_host
from tierscope.usecases.counters.service_metrics import ServiceMetricReads
from tierscope.usecases.ledger.answers import Ledger, ServiceState
from tierscope.usecases.ledger.ping_pong import StateStretch
from tierscope.usecases.ledger.ping_pong_hosts import busiest
from tierscope.usecases.ledger.reads import LedgerReads, read_parts
from tierscope.usecases.ledger.sources import HostLedger, read_ledgers

LEAD, MOST_LEAD = timedelta(hours=2), timedelta(hours=6)
"""Time shown before the condition began: at least two hours, and a quarter of a long alert."""
TAIL = timedelta(minutes=30)
LONGEST = timedelta(hours=48)
LOOKED_BACK = timedelta(hours=24)
"""How far before the alert opened its condition may have begun to hold."""
LEAST_JUDGED, MOST_JUDGED = timedelta(minutes=30), timedelta(hours=24)
MAX_EVENTS = 500
_MINUTE = timedelta(minutes=1)
_TOO_LONG = "The alert lasts longer than the chart, which shows its beginning."
_NO_RIBBON = "States over time are not computed for a service with so many hosts: open a host."


@dataclass(frozen=True, slots=True)
class _Found:
    """What was read of an alert's subject."""

    axis: TimeAxis
    ribbon: tuple[StateStretch, ...]
    rows: Sequence[IncidentRow]
    parts: Sequence[HostLedger]
    hosts: Sequence[SubjectHost]
    services: tuple[ServiceState, ...]
    service_ids: frozenset[str]
    notes: tuple[str, ...] = ()


class IncidentReads:
    """Reads of incidents."""

    def __init__(self, context: ReadContext, tenants: TellsTaken) -> None:
        self._context = context
        self._tenants = tenants
        self._ledgers = LedgerReads(context)
        self._metrics = ServiceMetricReads(context)

    def show(self, alert_id: str, *, max_points: int) -> Incident:
        """The incident of one alert.

        Raises:
            NotFound: there is no such alert, or its host or service is gone.
        """
        now = self._context.clock()
        with self._context.database.read() as session:
            row = require_alert(session, alert_id)
            condition = find_condition(session, row)
            onset = _read_onset(session, row, condition, now)
        began = min(onset.held_at or row.started_at, row.started_at)
        window, judged = _window(row, began, now), _judged(row, began, now)
        found = self._read(row, window, judged, now, max_points)
        hosts, cause = view_hosts(found.parts) if found.parts else ((), NO_HOST)
        of_service = row.subject_id if row.subject_kind == "service" else None
        shared = self._tenants.taken([host.host_id for host in hosts], of_service, judged)
        with self._context.database.read() as session:
            events = events_around(session, window, {host.public_id for host in found.hosts}, found.service_ids)
        long = (row.resolved_at or now) - window.end > TAIL
        return Incident(
            alert_id=row.public_id,
            kind="tiering" if isinstance(condition, str) else kind_of(condition.checked.inputs),
            subject=AlertSubject(row.subject_kind, row.subject_id, row.subject_name),
            origin=row.origin,
            window=window,
            judged=judged,
            axis=found.axis,
            onset=onset,
            ribbon=found.ribbon,
            rows=in_order(found.rows),
            events=events,
            cause=cause,
            hosts=hosts,
            services=found.services,
            shared=shared,
            notes=(*((_TOO_LONG,) if long else ()), *found.notes),
        )

    def _read(self, row: AlertRow, window: Window, judged: Window, now: datetime, max_points: int) -> _Found:
        if row.subject_kind == "host":
            return self._host(row.subject_id, window, judged, now, max_points)
        if row.subject_kind == "service":
            return self._service(row.subject_id, window, judged, now, max_points)
        grid = make_grid(window, interval_s=float(MINUTE_S), max_points=max_points)
        return _Found(grid.axis(), (), rows_of_fleet(), (), (), (), frozenset())

    def _host(self, host_id: str, window: Window, judged: Window, now: datetime, max_points: int) -> _Found:
        ledger = self._ledgers.host(host_id, **_asked(window), max_points=max_points)
        services = self._ledgers.host(host_id, **_asked(judged), max_points=1).services
        grid = grid_of(ledger.axis)
        with self._context.database.read() as session:
            host = require_subject_host(session, host_id)
            rows = [
                *rows_of_ledger(ledger),
                row_of_free_memory(session, [host], grid, now=now),
                row_of_host_throughput(session, host, grid, now=now),
            ]
            parts = read_ledgers(session, [host], judged)
        ids = frozenset(service.service_id for service in services)
        return _Found(ledger.axis, ledger.ping_pong.ribbon, rows, parts, [host], services, ids)

    def _service(self, service_id: str, window: Window, judged: Window, now: datetime, max_points: int) -> _Found:
        asked = _asked(window)
        ledger = self._ledgers.service(service_id, **asked, max_points=max_points)
        metrics = self._metrics.read(service_id, **asked, max_points=max_points)
        grid = grid_of(ledger.axis)
        with self._context.database.read() as session:
            service, every = require_service_hosts(session, service_id)
            hosts = busiest(session, service, every, judged, own=True)
            parts, warning = read_parts(session, service, hosts, judged)
            rows = [
                *rows_of_ledger(ledger),
                row_of_free_memory(session, hosts, grid, now=now),
                row_of_service_metrics(metrics, grid),
            ]
        notes = _service_notes(ledger, len(hosts), len(every), warning)
        return _Found(ledger.axis, ledger.ping_pong.ribbon, rows, parts, every, (), frozenset([service_id]), notes)


def _asked(window: Window) -> dict[str, str]:
    return {"from_": window.start.isoformat(), "to": window.end.isoformat()}


def _service_notes(ledger: Ledger, taken: int, every: int, warning: str | None) -> tuple[str, ...]:
    some = f"Hosts and free memory are of the {taken} of {every} hosts that moved most pages."
    return (
        *((some,) if taken < every else ()),
        *((warning,) if warning is not None else ()),
        *(() if ledger.ping_pong.ribbon or not ledger.n_hosts else (_NO_RIBBON,)),
    )


def _window(row: AlertRow, began: datetime, now: datetime) -> Window:
    end = min(now, (row.resolved_at or now) + TAIL)
    lead = max(LEAD, min((end - began) / 4, MOST_LEAD))
    start = _whole_minute(began - lead)
    return Window(start, min(_whole_minute(end), start + LONGEST))


def _judged(row: AlertRow, began: datetime, now: datetime) -> Window:
    """While the condition held: half an hour at least, to have enough to judge; of a long alert the newest day."""
    end = _whole_minute(min(now, row.resolved_at or now))
    return Window(max(min(began - _MINUTE, end - LEAST_JUDGED), end - MOST_JUDGED), end)


def _whole_minute(at: datetime) -> datetime:
    return at.replace(second=0, microsecond=0)


def kind_of(inputs: frozenset[str]) -> IncidentKind:
    """What a rule of these inputs watches."""
    if inputs & {DAYS_EARLY, DAYS_MEDIAN}:
        return "capacity"
    if "allocation_spill" in inputs:
        return "spill"
    return "agent" if any(name.startswith("agent_") for name in inputs) else "tiering"


def _read_onset(session: ReadSession, row: AlertRow, condition: AlertCondition | str, now: datetime) -> IncidentOnset:
    changes = changes_of(session, [row.id])
    pending = next((change.at for change in changes if change.to_state == "pending"), None)
    if isinstance(condition, str):
        return IncidentOnset(None, pending, row.fired_at, row.resolved_at, ())
    end = min(now, row.fired_at or row.resolved_at or now)
    frame, count = condition.read(session, row.started_at - LOOKED_BACK, max(end, row.started_at))
    truth = evaluate(condition.checked.condition, frame)[0, -count:]
    fired = None if row.fired_at is None else _minute(row.fired_at)
    onset = find_onset(truth, frame.minutes[-count:], frame.seconds[0, -count:], _minute(row.started_at), fired)
    why = explain_onset(
        onset, condition.checked, rule_since=_minute(condition.rule.updated_at), arrival_s=ARRIVAL_SECONDS
    )
    return IncidentOnset(_held_at(onset), pending, row.fired_at, row.resolved_at, why)


def _held_at(onset: Onset) -> datetime | None:
    return None if onset.held_from is None else datetime.fromtimestamp(onset.held_from * MINUTE_S, UTC)


def _minute(at: datetime) -> int:
    return int(at.timestamp() // MINUTE_S)


def events_around(
    session: ReadSession, window: Window, hosts: set[str], services: frozenset[str]
) -> tuple[EventItem, ...]:
    """Marks of these hosts and services, and those of nobody in particular, the oldest first."""
    found = list_events(
        session, start=window.start, end=window.end, service=None, host=None, before=None, limit=MAX_EVENTS
    )
    return tuple(
        event
        for event in reversed(found)
        if event.host_id in hosts
        or event.service_id in services
        or (event.host_id is None and event.service_id is None)
    )
