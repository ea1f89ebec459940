"""Where the notifier stands: how far it has read changes of alerts, and its groups with what their receivers know."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Any

from sqlalchemy import delete, text
from sqlalchemy.dialects.postgresql import insert

from tierscope.core.database import ReadSession, WriteTransaction
from tierscope.domain.base.copying import copied
from tierscope.domain.notifications.content import SentAlert
from tierscope.domain.notifications.groups import Group, Member, MemberState
from tierscope.domain.notifications.routes import Timing
from tierscope.storage.notifications.silences import alert_labels
from tierscope.storage.tables import notification_groups, notification_members

LOCK_KEY = 0x7473_6E6F_7469_6679
"""Of the advisory lock that one notifier at a time holds."""


@dataclass(frozen=True, slots=True)
class NotifierState:
    """The last change of an alert that was taken in, and the version of the routes that it went through."""

    position: int
    routing_version: int


@dataclass(frozen=True, slots=True)
class AlertEvent:
    """An alert that began to fire or was resolved, as it is to be sent. `number` of the change; 0 = as it stands."""

    number: int
    at: datetime
    state: MemberState
    alert: SentAlert


@dataclass(frozen=True, slots=True)
class StoredGroup:
    """A group with what its members look like."""

    receiver: str
    labels: Mapping[str, str]
    group: Group
    alerts: Mapping[str, SentAlert]
    """By fingerprint."""


def lock_notifier(transaction: WriteTransaction) -> bool:
    """Be the one notifier until the transaction ends; False where another one is."""
    statement = text("SELECT pg_try_advisory_xact_lock(:key)")
    return bool(transaction.execute(statement, {"key": LOCK_KEY}).scalar_one())


def read_notifier(session: ReadSession) -> NotifierState | None:
    """Where it stands; None before its first run."""
    row = session.execute(text("SELECT position, routing_version FROM notifier")).one_or_none()
    return None if row is None else NotifierState(row.position, row.routing_version)


def write_notifier(transaction: WriteTransaction, state: NotifierState, now: datetime) -> None:
    """Move it on."""
    statement = text(
        "INSERT INTO notifier (position, routing_version, ran_at) VALUES (:position, :version, :now)"
        " ON CONFLICT (id) DO UPDATE SET position = excluded.position, routing_version = excluded.routing_version,"
        " ran_at = excluded.ran_at"
    )
    values = {"position": state.position, "version": state.routing_version, "now": now}
    transaction.execute(statement, values)


def read_changes(session: ReadSession, after: int, limit: int) -> tuple[list[AlertEvent], int]:
    """Changes behind a position that are to be told, and the number of the last one looked at."""
    statement = text(
        "SELECT c.id, c.at, c.value, c.summary, c.to_state AS state, a.public_id,"
        " a.fingerprint, a.rule_name, a.severity, a.subject_kind, a.subject_id, a.subject_name, a.origin, a.labels,"
        " a.unit, a.threshold, a.description, a.runbook_url, a.started_at, a.fired_at, a.resolved_at"
        " FROM alert_changes c JOIN alerts a ON a.id = c.alert_id WHERE c.id > :after ORDER BY c.id LIMIT :limit"
    )
    rows = session.execute(statement, {"after": after, "limit": limit}).all()
    events = [event for row in rows if (event := _event(row)) is not None]
    return events, rows[-1].id if rows else after


def read_firing(session: ReadSession) -> list[AlertEvent]:
    """All alerts that fire now."""
    statement = text(
        "SELECT 0 AS id, coalesce(a.fired_at, a.started_at) AS at, a.value, a.summary, a.state,"
        " a.public_id, a.fingerprint, a.rule_name, a.severity, a.subject_kind,"
        " a.subject_id, a.subject_name, a.origin, a.labels, a.unit, a.threshold, a.description, a.runbook_url,"
        " a.started_at, a.fired_at, a.resolved_at"
        " FROM alerts a WHERE a.resolved_at IS NULL ORDER BY a.id"
    )
    events = [event for row in session.execute(statement) if (event := _event(row)) is not None]
    return [event for event in events if event.state == "firing"]


def read_lost(session: ReadSession, now: datetime, position: int) -> list[AlertEvent]:
    """Alerts that groups still hold as firing though they are over or gone, and no change behind `position` tells.

    A rule or a host that is removed can take its alerts away without a change; nobody is to wait for their end.
    """
    statement = text(
        "SELECT DISTINCT ON (m.alert_id) m.body, a.resolved_at FROM notification_members m"
        " LEFT JOIN alerts a ON a.public_id = m.alert_id WHERE m.state = 'firing'"
        " AND (a.id IS NULL OR a.resolved_at IS NOT NULL)"
        " AND NOT EXISTS (SELECT 1 FROM alert_changes c WHERE c.alert_id = a.id AND c.id > :position)"
    )
    rows = session.execute(statement, {"position": position})
    ended = ((SentAlert.read(row.body), row.resolved_at or now) for row in rows)
    return [AlertEvent(0, at, "resolved", replace(alert, ends_at=at)) for alert, at in ended]


def read_groups(
    session: ReadSession,
    *,
    keys: Iterable[str] = (),
    fingerprints: Iterable[str] = (),
    now: datetime | None = None,
    every: bool = False,
) -> list[StoredGroup]:
    """Groups of these keys, those that hold these alerts, those that may have something to say at `now`; or all."""
    statement = text(
        "SELECT g.id, g.key, g.receiver, g.timing, g.keeps_alive, g.labels, g.notified_at FROM notification_groups g"
        " WHERE :every OR g.key = ANY(:keys) OR EXISTS (SELECT 1 FROM notification_members m WHERE m.group_id = g.id"
        " AND m.fingerprint = ANY(:fingerprints)) OR (CAST(:now AS timestamptz) IS NOT NULL AND ("
        " g.notified_at + make_interval(secs => CAST(g.timing->>'repeat_interval_seconds' AS double precision)) <= :now"
        " OR EXISTS (SELECT 1 FROM notification_members m WHERE m.group_id = g.id"
        " AND (m.state = 'resolved' OR m.told_alert_id IS DISTINCT FROM m.alert_id)))) ORDER BY g.id"
    )
    values = {"keys": list(keys), "fingerprints": list(fingerprints), "now": now, "every": every}
    rows = session.execute(statement, values).all()
    members = _read_members(session, [row.id for row in rows])
    return [_group(row, members.get(row.id, [])) for row in rows]


def write_group(transaction: WriteTransaction, stored: StoredGroup, before: StoredGroup | None) -> None:
    """Store what has changed of a group since it was read as `before`; one without members is gone."""
    group = stored.group
    if not group.members:
        drop_group(transaction, group.key)
        return
    known = {
        "timing": asdict(group.timing),
        "keeps_alive": group.keeps_alive,
        "notified_at": group.notified_at,
    }
    made = {"key": group.key, "receiver": stored.receiver, "labels": dict(stored.labels), **known}
    statement = insert(notification_groups).values(made)
    statement = statement.on_conflict_do_update(index_elements=["key"], set_=known)
    number = transaction.execute(statement.returning(notification_groups.c.id)).scalar_one()
    old = {} if before is None else before.group.members
    gone = [fingerprint for fingerprint in old if fingerprint not in group.members]
    if gone:
        c = notification_members.c
        transaction.execute(delete(notification_members).where(c.group_id == number, c.fingerprint.in_(gone)))
    changed = [
        _member_row(number, member, stored.alerts[fingerprint])
        for fingerprint, member in group.members.items()
        if old.get(fingerprint) != member
    ]
    if changed:
        write = insert(notification_members)
        names = ("alert_id", "state", "changed_at", "told_alert_id", "body")
        write = write.on_conflict_do_update(
            index_elements=["group_id", "fingerprint"], set_={name: write.excluded[name] for name in names}
        )
        transaction.execute(write, changed)


def drop_group(transaction: WriteTransaction, key: str) -> None:
    """Forget a group: nobody is told more of it."""
    transaction.execute(delete(notification_groups).where(notification_groups.c.key == key))


def _read_members(session: ReadSession, groups: Sequence[int]) -> dict[int, list[tuple[Member, SentAlert]]]:
    statement = text(
        "SELECT group_id, fingerprint, alert_id, state, changed_at, told_alert_id, body FROM notification_members"
        " WHERE group_id = ANY(:groups) ORDER BY group_id, fingerprint"
    )
    found: dict[int, list[tuple[Member, SentAlert]]] = {}
    for row in session.execute(statement, {"groups": list(groups)}):
        member = Member(row.fingerprint, row.alert_id, row.state, row.changed_at, row.told_alert_id)
        found.setdefault(row.group_id, []).append((member, SentAlert.read(row.body)))
    return found


def _member_row(number: int, member: Member, alert: SentAlert) -> dict[str, Any]:
    return {
        "group_id": number,
        "fingerprint": member.fingerprint,
        "alert_id": member.alert_id,
        "state": member.state,
        "changed_at": member.changed_at,
        "told_alert_id": member.told_alert_id,
        "body": alert.document(),
    }


def _group(row: Any, members: Sequence[tuple[Member, SentAlert]]) -> StoredGroup:  # noqa: ANN401 - a row of the driver
    group = copied(
        Group, row, timing=Timing(**row.timing), members={member.fingerprint: member for member, _ in members}
    )
    alerts = {member.fingerprint: alert for member, alert in members}
    return StoredGroup(row.receiver, row.labels, group, alerts)


def _event(row: Any) -> AlertEvent | None:  # noqa: ANN401 - likewise
    state = _told_state(row.state)
    if state is None:
        return None
    annotations = {
        "summary": row.summary,
        "description": row.description,
        "runbook_url": row.runbook_url or "",
        "value": "" if row.value is None else f"{row.value:.6g} {row.unit}".strip(),
        "note": "There is no data to judge by." if row.state == "no_data" else "",
        "threshold": "" if row.threshold is None else f"{row.threshold:.6g} {row.unit}".strip(),
    }
    alert = SentAlert(
        id=row.public_id,
        fingerprint=row.fingerprint,
        labels=alert_labels(row),
        annotations={name: value for name, value in annotations.items() if value},
        starts_at=row.fired_at or row.started_at,
        ends_at=(row.resolved_at or row.at) if state == "resolved" else None,
    )
    return AlertEvent(row.id, row.at, state, alert)


def _told_state(state: str) -> MemberState | None:
    """What a state of an alert means to receivers. An alert about missing data is one that holds."""
    if state in ("firing", "no_data"):
        return "firing"
    return "resolved" if state in ("ok", "resolved") else None
