"""The notifier's run: plan what is to be said, send what is due. One run at a time, under an advisory lock.

A notification is marked as delivered after its receiver has taken it. A notifier that is killed between the two sends
it again, with the same Idempotency-Key; where nothing fails it is sent once.
"""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import timedelta

import structlog

from tierscope.core.clock import Clock, TimeLimit
from tierscope.core.database import Database
from tierscope.core.settings import Settings
from tierscope.domain.base.copying import copied
from tierscope.domain.notifications.backoff import Failure, retry_at
from tierscope.domain.notifications.content import Notification
from tierscope.domain.notifications.receivers import Receiver
from tierscope.storage.notifications import outbox
from tierscope.storage.notifications.groups import lock_notifier
from tierscope.storage.notifications.outbox import NotificationRow
from tierscope.storage.notifications.routes import read_stored_routing
from tierscope.usecases.notifications.channels import Channels, NotTaken
from tierscope.usecases.notifications.plan import plan_notifications

AT_MOST = timedelta(seconds=20)
AT_ONCE = 8
"""Receivers that are called at the same time: one that does not answer keeps none of the others waiting."""
_BATCH = 50
log = structlog.get_logger(__name__)


@dataclass(slots=True)
class Delivered:
    """What one run did: changes taken in, notifications planned, sent, and attempts that failed."""

    changes: int = 0
    planned: int = 0
    sent: int = 0
    failed: int = 0


class DeliverNotifications:
    """The run that a worker makes every few seconds."""

    def __init__(self, database: Database, clock: Clock, settings: Settings) -> None:
        self._database = database
        self._clock = clock
        self._settings = settings
        self._channels = Channels(settings)

    def run(self, *, at_most: timedelta = AT_MOST) -> Delivered | None:
        """Plan and send until nothing is due or time is up; None while another notifier is at it."""
        limit = TimeLimit(self._clock(), at_most)
        done = Delivered()
        with self._database.write() as lock:
            if not lock_notifier(lock):
                return None
            more = True
            while more and not limit.is_over(self._clock()):
                more = self._plan(done)
            with self._database.read() as session:
                receivers = {receiver.name: receiver for receiver in read_stored_routing(session).routing.receivers}
                due = outbox.due_receivers(session, self._clock())
            with ThreadPoolExecutor(max_workers=AT_ONCE, thread_name_prefix="notify") as pool:
                served = [pool.submit(self._serve, name, receivers, limit.left(self._clock())) for name in due]
                for sent, failed in (future.result() for future in served):
                    done.sent += sent
                    done.failed += failed
        return done

    def _plan(self, done: Delivered) -> bool:
        with self._database.write() as transaction:
            planned = plan_notifications(transaction, self._clock())
            outbox.drop_old_notifications(transaction, self._clock())
        done.changes += planned.changes
        done.planned += planned.notifications
        return planned.more

    def _serve(self, name: str, receivers: Mapping[str, Receiver], at_most: timedelta) -> tuple[int, int]:
        """Send what is due to one receiver, until one shows that it does not answer; how many were sent, and failed."""
        limit = TimeLimit(self._clock(), at_most)
        sent = failed = 0
        while not limit.is_over(self._clock()):
            with self._database.read() as session:
                rows = outbox.due_notifications(session, name, self._clock(), _BATCH)
            if not rows:
                break
            for row in rows:
                failure = self._attempt(row, receivers.get(name))
                sent += failure is None
                failed += failure is not None
                if failure is not None and not failure.is_refusal:
                    return sent, failed
                if limit.is_over(self._clock()):
                    break
        return sent, failed

    def _attempt(self, row: NotificationRow, receiver: Receiver | None) -> Failure | None:
        """Send one notification and write down what became of it."""
        if receiver is None:
            failure = Failure("the receiver is no longer configured")
            self._mark_failed(row, failure, gone=True)
            return failure
        try:
            note = self._channels.send(receiver, self._notification(row), self._clock())
        except NotTaken as error:
            self._mark_failed(row, error.failure, gone=False)
            return error.failure
        except Exception:
            # One notification that cannot be put into words must not stop all others.
            log.exception("sending a notification failed", notification=row.id, receiver=row.receiver)
            failure = Failure("sending failed inside the service; its log says why", status_code=400)
            self._mark_failed(row, failure, gone=False)
            return failure
        with self._database.write() as transaction:
            if row.reason == "repeat" and receiver.keeps_alive:
                outbox.delete_notification(transaction, row.number)
            else:
                outbox.mark_delivered(transaction, row.number, self._clock(), note=note)
        return None

    def _mark_failed(self, row: NotificationRow, failure: Failure, *, gone: bool) -> None:
        now = self._clock()
        again = None if gone else retry_at(failure, attempts=row.attempts + 1, created_at=row.created_at, now=now)
        log.warning("a notification was not taken", notification=row.id, receiver=row.receiver, said=failure.said)
        with self._database.write() as transaction:
            outbox.mark_failed(
                transaction, row.number, now=now, retry_at=again, said=failure.said, status_code=failure.status_code
            )
            if again is not None and not failure.is_refusal:
                outbox.postpone(transaction, row.receiver, again)

    def _notification(self, row: NotificationRow) -> Notification:
        return copied(Notification, row, at=row.created_at, public_url=self._settings.public_url)
