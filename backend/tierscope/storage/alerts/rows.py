"""Alerts as stored: one row from when a condition begins to hold until it is resolved, and every change of state."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from sqlalchemy import insert, text
from sqlalchemy.dialects.postgresql import insert as upsert

from tierscope.core.database import ReadSession, WriteTransaction
from tierscope.domain.alerts.vocabulary import ScopeKind
from tierscope.domain.base.figures import Origin
from tierscope.domain.base.vocabulary import Severity
from tierscope.storage.fleet.tags import Tagged
from tierscope.storage.tables import alert_changes, alert_states, alerts

_ON_ITS_HOSTS = (
    "(a.subject_kind = 'host' AND a.subject_id IN (SELECT h.public_id FROM host_services hs"
    " JOIN hosts h ON h.id = hs.host_id JOIN services s ON s.id = hs.service_id WHERE s.public_id = :service))"
)
AlertState = Literal["pending", "firing", "resolved", "no_data"]
ChangeState = Literal["ok", "pending", "firing", "resolved", "no_data"]
_LOCK_KEY = 7_201_306_114
_SELECT = (
    "SELECT id, public_id, rule_id, rule_name, fingerprint, severity, state, subject_kind, subject_id, subject_name,"
    " origin, labels, value, unit, threshold, summary, description, runbook_url, started_at, fired_at, resolved_at,"
    " last_seen_at FROM alerts a"
)
"""In the order of the fields of `AlertRow`."""


@dataclass(frozen=True, slots=True)
class AlertRow:
    """An alert. `fingerprint` is that of rule and subject; `last_seen_at` when its value was last known."""

    id: int
    public_id: str
    rule_id: int | None
    rule_name: str
    fingerprint: str
    severity: Severity
    state: AlertState
    subject_kind: ScopeKind
    subject_id: str
    subject_name: str
    origin: Origin
    labels: dict[str, str]
    value: float | None
    unit: str
    threshold: float | None
    summary: str
    description: str
    runbook_url: str | None
    started_at: datetime
    fired_at: datetime | None
    resolved_at: datetime | None
    last_seen_at: datetime


@dataclass(frozen=True, slots=True)
class ChangeRow:
    """A change of an alert's state, at the end of the minute that made it."""

    alert_id: int
    rule_id: int | None
    fingerprint: str
    at: datetime
    from_state: ChangeState
    to_state: ChangeState
    severity: Severity
    labels: dict[str, str]
    value: float | None
    summary: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class AlertFilter:
    """Which alerts are wanted; None = any. Subjects by public id."""

    state: str | None = None
    severity: str | None = None
    host: str | None = None
    service: str | None = None
    rule: str | None = None
    tagged: Tagged | None = None


def lock_alerts(transaction: WriteTransaction, *, wait: bool) -> bool:
    """Become the one that changes alerts until the transaction ends; False where another one is and `wait` is not set.

    All changes are written under this lock, so that they commit in the order of their ids.
    """
    if wait:
        transaction.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LOCK_KEY})
        return True
    return bool(transaction.execute(text("SELECT pg_try_advisory_xact_lock(:key)"), {"key": _LOCK_KEY}).scalar_one())


def insert_alert(transaction: WriteTransaction, values: Mapping[str, Any]) -> int:
    """Store an alert; its id."""
    return int(transaction.execute(insert(alerts).values(dict(values)).returning(alerts.c.id)).scalar_one())


def update_alert(transaction: WriteTransaction, alert_id: int, values: Mapping[str, Any]) -> None:
    """Change some fields of an alert."""
    transaction.execute(alerts.update().where(alerts.c.id == alert_id).values(dict(values)))


def touch_alerts(transaction: WriteTransaction, seen: Sequence[tuple[int, float | None, str]], at: datetime) -> None:
    """Note the newest values and texts of alerts that go on: (id, value, summary)."""
    if not seen:
        return
    statement = text(
        "UPDATE alerts SET value = s.value, summary = s.summary, last_seen_at = :at FROM unnest("
        "CAST(:ids AS bigint[]), CAST(:vals AS float8[]), CAST(:texts AS text[])) AS s (id, value, summary)"
        " WHERE alerts.id = s.id"
    )
    ids, values, texts = zip(*seen, strict=True)
    parameters = {"ids": list(ids), "vals": list(values), "texts": list(texts), "at": at}
    transaction.execute(statement, parameters)


def append_changes(transaction: WriteTransaction, changes: Sequence[ChangeRow], *, now: datetime) -> None:
    """Store changes, in order."""
    if changes:
        rows = [
            {name: getattr(change, name) for name in ChangeRow.__slots__} | {"recorded_at": now} for change in changes
        ]
        transaction.execute(insert(alert_changes), rows)


@dataclass(frozen=True, slots=True)
class StoredStates:
    """Where a rule stands: the newest minute that was judged, and the packed states of its subjects."""

    version: int
    evaluated_to: datetime
    body: bytes


def read_states(session: ReadSession) -> dict[int, StoredStates]:
    """Where each rule stands, by id."""
    statement = text("SELECT rule_id, version, evaluated_to, body FROM alert_states")
    rows = session.execute(statement)
    return {row.rule_id: StoredStates(row.version, row.evaluated_to, bytes(row.body)) for row in rows}


def store_states(transaction: WriteTransaction, rule_id: int, states: StoredStates, counts: Mapping[str, int]) -> None:
    """Store where a rule stands."""
    values = {
        "rule_id": rule_id,
        "version": states.version,
        "evaluated_to": states.evaluated_to,
        "counts": dict(counts),
        "body": states.body,
    }
    statement = upsert(alert_states).values(values)
    changed = {name: statement.excluded[name] for name in values if name != "rule_id"}
    transaction.execute(statement.on_conflict_do_update(index_elements=["rule_id"], set_=changed))


def open_alerts_of(session: ReadSession, rule_ids: Sequence[int]) -> list[AlertRow]:
    """Alerts of these rules that are not resolved."""
    statement = text(f"{_SELECT} WHERE a.resolved_at IS NULL AND a.rule_id = ANY(:rules) ORDER BY a.id")
    return [AlertRow(*row) for row in session.execute(statement, {"rules": list(rule_ids)})]


def list_alerts(
    session: ReadSession, wanted: AlertFilter, *, before: tuple[datetime, int] | None, limit: int
) -> list[AlertRow]:
    """Alerts, the newest first; `before` is the start and id of the last one seen."""
    conditions, values = _conditions(wanted)
    if before is not None:
        conditions.append("(a.started_at, a.id) < (:before_at, :before_id)")
        values |= {"before_at": before[0], "before_id": before[1]}
    where = " AND ".join(conditions) or "true"
    statement = text(f"{_SELECT} WHERE {where} ORDER BY a.started_at DESC, a.id DESC LIMIT :limit")
    return [AlertRow(*row) for row in session.execute(statement, values | {"limit": limit})]


def alerts_between(
    session: ReadSession, wanted: AlertFilter, start: datetime, end: datetime, *, limit: int
) -> list[AlertRow]:
    """Alerts that were open at any moment of [start, end), the oldest first."""
    conditions, values = _conditions(wanted)
    conditions += ["a.started_at < :end", "(a.resolved_at IS NULL OR a.resolved_at > :start)"]
    statement = text(f"{_SELECT} WHERE {' AND '.join(conditions)} ORDER BY a.started_at, a.id LIMIT :limit")
    values |= {"start": start, "end": end, "limit": limit}
    return [AlertRow(*row) for row in session.execute(statement, values)]


def find_alert_row(session: ReadSession, public_id: str) -> AlertRow | None:
    """One alert by its public id."""
    statement = text(f"{_SELECT} WHERE a.public_id = :id")
    row = session.execute(statement, {"id": public_id}).one_or_none()
    return None if row is None else AlertRow(*row)


def changes_of(session: ReadSession, alert_ids: Sequence[int]) -> list[ChangeRow]:
    """Changes of alerts, in order."""
    statement = text(
        "SELECT alert_id, rule_id, fingerprint, at, from_state, to_state, severity, labels, value, summary, reason"
        " FROM alert_changes WHERE alert_id = ANY(:ids) ORDER BY id"
    )
    return [ChangeRow(**row) for row in session.execute(statement, {"ids": list(alert_ids)}).mappings()]


def count_open(session: ReadSession) -> dict[tuple[int, str], int]:
    """How many alerts of each rule are open, by state."""
    statement = text("SELECT rule_id, state, count(*) AS n FROM alerts WHERE resolved_at IS NULL GROUP BY 1, 2")
    return {(row.rule_id, row.state): row.n for row in session.execute(statement)}


def _conditions(wanted: AlertFilter) -> tuple[list[str], dict[str, Any]]:
    conditions: list[str] = []
    values: dict[str, Any] = {}
    if wanted.state is not None:
        conditions.append("a.resolved_at IS NULL" if wanted.state == "open" else "a.state = :state")
        values |= {} if wanted.state == "open" else {"state": wanted.state}
    if wanted.severity is not None:
        conditions.append("a.severity = :severity")
        values["severity"] = wanted.severity
    for kind, subject in (("host", wanted.host), ("service", wanted.service)):
        if subject is None:
            continue
        own = f"(a.subject_kind = '{kind}' AND a.subject_id = :{kind})"
        if kind == "service":
            own = f"({own} OR {_ON_ITS_HOSTS})"
        conditions.append(own)
        values[kind] = subject
    if wanted.rule is not None:
        conditions.append("a.rule_id = (SELECT id FROM alert_rules WHERE public_id = :rule)")
        values["rule"] = wanted.rule
    if wanted.tagged is not None:
        conditions.append("a.subject_id = ANY(:tagged)")
        values["tagged"] = [*wanted.tagged.host_ids, *wanted.tagged.service_ids]
    return conditions, values
