"""The log of notifications, and giving those that were given up another chance."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from tierscope.core.errors import Conflict, NotFound
from tierscope.domain.base.copying import copied
from tierscope.domain.base.described import Described
from tierscope.domain.base.pages import Page
from tierscope.domain.notifications.groups import Reason
from tierscope.domain.notifications.receivers import Kind
from tierscope.storage.access.credentials import AuditRow, append_audit
from tierscope.storage.notifications import outbox
from tierscope.storage.notifications.outbox import NotificationRow, Status
from tierscope.usecases.base.context import ClockedUseCase
from tierscope.usecases.base.subjects import decode_cursor, encode_cursor

__all__ = ["Notification", "NotificationLog", "Status"]


@dataclass(frozen=True, slots=True)
class Notification:
    """A notification: to whom, about what, and what became of it."""

    id: str
    receiver: str
    kind: Kind
    reason: Reason
    status: Annotated[Status, Described("`dead`: given up; it can be tried again.")]
    group_labels: dict[str, str]
    firing: int
    resolved: int
    created_at: datetime
    attempts: int
    next_attempt_at: datetime | None
    delivered_at: datetime | None
    given_up_at: datetime | None
    status_code: Annotated[int | None, Described("HTTP status of the last answer, where there was a failure with one.")]
    said: Annotated[str | None, Described("Why the last attempt failed, or what is to be known though it was taken.")]


class NotificationLog(ClockedUseCase):
    """What was sent, what waits, what was given up."""

    def list(
        self, *, status: Status | None, receiver: str | None, alert: str | None, limit: int, cursor: str | None
    ) -> Page[Notification]:
        """Notifications, newest first.

        Raises:
            BadRequest: the cursor is not one of ours.
        """
        before = None if cursor is None else int(decode_cursor(cursor, (int,))[0])
        with self._database.read() as session:
            rows = outbox.list_notifications(
                session, status=status, receiver=receiver, alert=alert, before=before, limit=limit + 1
            )
        more = encode_cursor(rows[limit - 1].number) if len(rows) > limit else None
        return Page(tuple(_view(row) for row in rows[:limit]), more)

    def retry(self, notification_id: str, *, actor: str) -> Notification:
        """Try one that was given up again.

        Raises:
            NotFound: there is no such notification.
            Conflict: it was delivered, or still waits.
        """
        now = self._clock()
        with self._database.write() as transaction:
            row = outbox.find_notification(transaction, notification_id)
            if row is None:
                raise NotFound(
                    f"there is no notification {notification_id[:80]!r}",
                    next_step="List them with GET /v1/notifications.",
                )
            if row.reason == "test" or not outbox.revive(transaction, notification_id, now):
                raise Conflict(
                    "only a notification that was given up can be tried again, and a test cannot",
                    next_step="List those with GET /v1/notifications?status=dead.",
                )
            append_audit(transaction, AuditRow(now, actor, "notification.retry", notification_id, {}))
            again = outbox.find_notification(transaction, notification_id)
            assert again is not None  # found a moment ago, in the same transaction
            return _view(again)


def _view(row: NotificationRow) -> Notification:
    return copied(
        Notification,
        row,
        next_attempt_at=row.next_attempt_at if row.status == "waiting" else None,
        delivered_at=row.ended_at if row.status == "delivered" else None,
        given_up_at=row.ended_at if row.status == "dead" else None,
        status_code=row.last_status_code,
        said=row.last_error,
    )
