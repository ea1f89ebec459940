"""Notifications: the outbox of what is to be sent, and the log of what was."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal

from sqlalchemy import text
from sqlalchemy.dialects.postgresql import insert

from tierscope.core.database import ReadSession, WriteTransaction
from tierscope.domain.base.copying import copied
from tierscope.domain.notifications.content import SentAlert
from tierscope.domain.notifications.groups import Reason
from tierscope.domain.notifications.receivers import Kind
from tierscope.storage.tables import notifications

Status = Literal["waiting", "delivered", "dead"]
KEPT = timedelta(days=90)


@dataclass(frozen=True, slots=True)
class NewNotification:
    """A notification to put into the outbox."""

    public_id: str
    key: str
    group_key: str
    group_labels: dict[str, str]
    receiver: str
    kind: str
    reason: str
    firing: int
    resolved: int
    alerts: tuple[SentAlert, ...]
    more_alerts: int
    created_at: datetime


@dataclass(frozen=True, slots=True)
class NotificationRow:
    """A notification as stored; `alerts` only where it was read to be sent or shown by itself."""

    number: int
    id: str
    group_key: str
    group_labels: dict[str, str]
    receiver: str
    kind: Kind
    reason: Reason
    status: Status
    firing: int
    resolved: int
    more_alerts: int
    created_at: datetime
    attempts: int
    next_attempt_at: datetime
    ended_at: datetime | None
    last_status_code: int | None
    last_error: str | None
    alerts: tuple[SentAlert, ...] = ()


_COLUMNS = (
    "SELECT n.id, n.public_id, n.group_key, n.group_labels, n.receiver, n.kind, n.reason, n.status, n.firing,"
    " n.resolved, n.more_alerts, n.created_at, n.attempts, n.next_attempt_at, n.ended_at, n.last_status_code,"
    " n.last_error"
)
_LOG = f"{_COLUMNS} FROM notifications n"
_WHOLE = f"{_COLUMNS}, n.alerts FROM notifications n"
# The first of each group that is not delivered: what a group says stays in order, also when one of it fails.
_FIRST = (
    "(SELECT DISTINCT ON (group_key) id, receiver, next_attempt_at FROM notifications WHERE status = 'waiting'"
    " ORDER BY group_key, id) f"
)


def insert_notification(transaction: WriteTransaction, new: NewNotification) -> bool:
    """Put a notification into the outbox; False where its key is there already."""
    values = {
        "public_id": new.public_id,
        "key": new.key,
        "group_key": new.group_key,
        "group_labels": new.group_labels,
        "receiver": new.receiver,
        "kind": new.kind,
        "reason": new.reason,
        "status": "waiting",
        "firing": new.firing,
        "resolved": new.resolved,
        "alerts": [alert.document() for alert in new.alerts],
        "more_alerts": new.more_alerts,
        "created_at": new.created_at,
        "next_attempt_at": new.created_at,
    }
    statement = insert(notifications).values(values).on_conflict_do_nothing(index_elements=["key"])
    return transaction.execute(statement.returning(notifications.c.id)).scalar_one_or_none() is not None


def waiting_groups(session: ReadSession) -> set[str]:
    """Keys of groups with something that is not delivered yet."""
    statement = text("SELECT DISTINCT group_key FROM notifications WHERE status = 'waiting'")
    return set(session.execute(statement).scalars())


def due_receivers(session: ReadSession, now: datetime) -> list[str]:
    """Receivers with something to send now."""
    statement = text(
        "SELECT DISTINCT receiver FROM (SELECT DISTINCT ON (group_key) receiver, next_attempt_at FROM notifications"
        " WHERE status = 'waiting' ORDER BY group_key, id) f WHERE next_attempt_at <= :now ORDER BY receiver"
    )
    return list(session.execute(statement, {"now": now}).scalars())


def due_notifications(session: ReadSession, receiver: str, now: datetime, limit: int) -> list[NotificationRow]:
    """What is to be sent to a receiver now, in the order in which it was said; of each group the first alone."""
    statement = text(
        f"{_WHOLE} JOIN {_FIRST} ON f.id = n.id"
        " WHERE f.receiver = :receiver AND f.next_attempt_at <= :now ORDER BY n.id LIMIT :limit"
    )
    rows = session.execute(statement, {"receiver": receiver, "now": now, "limit": limit})
    return [_row(row, row.alerts) for row in rows]


def mark_delivered(transaction: WriteTransaction, number: int, now: datetime, *, note: str | None) -> None:
    """It was taken; `note` where something about it is to be known all the same."""
    statement = text(
        "UPDATE notifications SET status = 'delivered', attempts = attempts + 1, ended_at = :now,"
        " last_status_code = NULL, last_error = :note WHERE id = :id"
    )
    transaction.execute(statement, {"id": number, "now": now, "note": note})


def delete_notification(transaction: WriteTransaction, number: int) -> None:
    """Forget one: a receiver was kept alive, which is no news."""
    transaction.execute(text("DELETE FROM notifications WHERE id = :id"), {"id": number})


def mark_failed(
    transaction: WriteTransaction,
    number: int,
    *,
    now: datetime,
    retry_at: datetime | None,
    said: str,
    status_code: int | None,
) -> None:
    """An attempt failed: it is tried again at `retry_at`, or given up where that is None."""
    statement = text(
        "UPDATE notifications SET attempts = attempts + 1, last_error = :said, last_status_code = :code,"
        " status = CASE WHEN CAST(:again AS timestamptz) IS NULL THEN 'dead' ELSE 'waiting' END,"
        " next_attempt_at = coalesce(:again, next_attempt_at),"
        " ended_at = CASE WHEN CAST(:again AS timestamptz) IS NULL THEN :now END WHERE id = :id"
    )
    values = {"id": number, "now": now, "again": retry_at, "said": said, "code": status_code}
    transaction.execute(statement, values)


def postpone(transaction: WriteTransaction, receiver: str, until: datetime) -> None:
    """A receiver does not answer: nothing is sent to it before `until`."""
    statement = text(
        "UPDATE notifications SET next_attempt_at = :until"
        " WHERE status = 'waiting' AND receiver = :receiver AND next_attempt_at < :until"
    )
    transaction.execute(statement, {"receiver": receiver, "until": until})


def revive(transaction: WriteTransaction, public_id: str, now: datetime) -> bool:
    """Put a notification that was given up back into the outbox; False where it is not among those."""
    statement = text(
        "UPDATE notifications SET status = 'waiting', attempts = 0, created_at = :now, next_attempt_at = :now,"
        " ended_at = NULL WHERE public_id = :id AND status = 'dead' RETURNING id"
    )
    return transaction.execute(statement, {"id": public_id, "now": now}).scalar_one_or_none() is not None


def list_notifications(
    session: ReadSession,
    *,
    status: Status | None,
    receiver: str | None,
    alert: str | None,
    before: int | None,
    limit: int,
) -> list[NotificationRow]:
    """Notifications, newest first, without their alerts; `before` is the number of the last one seen."""
    wanted = ["true"]
    wanted += [] if status is None else ["n.status = :status"]
    wanted += [] if receiver is None else ["n.receiver = :receiver"]
    wanted += [] if alert is None else ["n.alerts @> jsonb_build_array(jsonb_build_object('id', CAST(:alert AS text)))"]
    wanted += [] if before is None else ["n.id < :before"]
    statement = text(f"{_LOG} WHERE {' AND '.join(wanted)} ORDER BY n.id DESC LIMIT :limit")
    values = {"status": status, "receiver": receiver, "alert": alert, "before": before, "limit": limit}
    bound = {name: value for name, value in values.items() if f":{name}" in str(statement)}
    return [_row(row, ()) for row in session.execute(statement, bound)]


def find_notification(session: ReadSession, public_id: str) -> NotificationRow | None:
    """One notification with its alerts."""
    statement = text(f"{_WHOLE} WHERE n.public_id = :id")
    return next((_row(row, row.alerts) for row in session.execute(statement, {"id": public_id})), None)


def drop_old_notifications(transaction: WriteTransaction, now: datetime) -> int:
    """Forget what ended longer ago than it is kept; how many."""
    statement = text("DELETE FROM notifications WHERE ended_at < :before RETURNING id")
    return len(transaction.execute(statement, {"before": now - KEPT}).scalars().all())


def _row(row: Any, alerts: Sequence[dict[str, Any]]) -> NotificationRow:  # noqa: ANN401 - a row of the driver
    return copied(
        NotificationRow, row, number=row.id, id=row.public_id, alerts=tuple(SentAlert.read(alert) for alert in alerts)
    )
