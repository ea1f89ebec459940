"""Where alerts are sent: reading and replacing the configuration, and trying a receiver."""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Literal

from tierscope.core.clock import Clock
from tierscope.core.database import Database
from tierscope.core.errors import Conflict, NotFound, Unprocessable
from tierscope.core.secret_values import SecretValues
from tierscope.core.settings import Settings
from tierscope.domain.base.described import Described
from tierscope.domain.base.patterns import BadPattern
from tierscope.domain.notifications.content import Notification, SentAlert
from tierscope.domain.notifications.receivers import Receiver, secret_references
from tierscope.domain.notifications.routing import check_routing, read_routing, routing_document
from tierscope.storage.access.credentials import AuditRow, append_audit
from tierscope.storage.notifications import outbox
from tierscope.storage.notifications.routes import StoredRouting, read_stored_routing, write_routing
from tierscope.usecases.base.context import ReadContext
from tierscope.usecases.notifications.channels import Channels, NotTaken

TEST_GROUP = "test"


@dataclass(frozen=True, slots=True)
class ReceiverSecret:
    """A secret of a receiver: where it is, and whether there is a value. Never the value."""

    field: str
    source: Literal["environment", "file"]
    name: str
    is_set: bool


@dataclass(frozen=True, slots=True)
class TestAnswer:
    """What became of a test: `said` why it failed, or what is to be known all the same."""

    delivered: bool
    said: Annotated[str | None, Described("Why it failed, or what is to be known though it was taken.")]
    notification_id: str


class AlertRoutes:
    """The configuration of receivers, routes and inhibitions."""

    def __init__(self, context: ReadContext) -> None:
        self._database: Database = context.database
        self._clock: Clock = context.clock
        self._settings: Settings = context.settings

    def read(self) -> dict[str, Any]:
        """The configuration as it travels."""
        with self._database.read() as session:
            return self._view(read_stored_routing(session))

    def replace(self, document: Mapping[str, Any], *, version: int | None, actor: str) -> dict[str, Any]:
        """Put another configuration in its place. Alerts that fire now go through the new routes.

        Raises:
            Unprocessable: it cannot be meant; the detail names the place.
            Conflict: it was changed since `version` was read.
        """
        try:
            routing = read_routing(document)
            check_routing(routing)
        except BadPattern as error:
            raise Unprocessable(str(error), next_step=error.next_step) from error
        except ValueError as error:
            raise Unprocessable(str(error)) from error
        now = self._clock()
        with self._database.write() as transaction:
            before = read_stored_routing(transaction)
            if version is not None and version != before.version:
                raise _changed_meanwhile()
            if not write_routing(transaction, routing, version=before.version, by=actor, now=now):
                raise _changed_meanwhile()
            detail = {"version": before.version + 1, **routing_document(routing)}
            append_audit(transaction, AuditRow(now, actor, "alert_routes.replace", "alert-routes", detail))
            return self._view(read_stored_routing(transaction))

    def test(self, name: str, *, actor: str) -> TestAnswer:
        """Send a made-up alert to a receiver at once, once; it stands in the log like every notification.

        Raises:
            NotFound: there is no such receiver.
        """
        now = self._clock()
        with self._database.read() as session:
            receiver = read_stored_routing(session).routing.receiver(name)
        if receiver is None:
            raise NotFound(f"there is no receiver {name[:80]!r}", next_step="List them with GET /v1/alert-routes.")
        public_id = "n" + secrets.token_hex(8)
        alert = _made_up_alert(public_id, actor, now)
        said: str | None = None
        failure = None
        notification = Notification(
            id=public_id,
            receiver=receiver.name,
            group_key=f"{TEST_GROUP}:{public_id}",
            group_labels={"alertname": alert.labels["alertname"]},
            reason="test",
            at=now,
            alerts=(alert,),
            more_alerts=0,
            public_url=self._settings.public_url,
        )
        try:
            said = Channels(self._settings).send(receiver, notification, now)
        except NotTaken as error:
            failure = error.failure
        with self._database.write() as transaction:
            outbox.insert_notification(transaction, _log_entry(receiver, notification))
            row = outbox.find_notification(transaction, public_id)
            assert row is not None  # stored a moment ago
            if failure is None:
                outbox.mark_delivered(transaction, row.number, self._clock(), note=said)
            else:
                outbox.mark_failed(
                    transaction,
                    row.number,
                    now=self._clock(),
                    retry_at=None,
                    said=failure.said,
                    status_code=failure.status_code,
                )
            detail = {"receiver": name, "delivered": failure is None}
            append_audit(transaction, AuditRow(now, actor, "alert_routes.test", public_id, detail))
        return TestAnswer(failure is None, said if failure is None else failure.said, public_id)

    def _view(self, stored: StoredRouting) -> dict[str, Any]:
        document = routing_document(stored.routing)
        values = SecretValues(self._settings.outgoing.secrets_dir)
        for entry, receiver in zip(document["receivers"], stored.routing.receivers, strict=True):
            entry["secrets"] = [
                ReceiverSecret(found.field, found.source, found.name, values.is_set(found.source, found.name))
                for found in secret_references(receiver)
            ]
        return {
            **document,
            "version": stored.version,
            "updated_at": stored.updated_at,
            "updated_by": stored.updated_by,
        }


def _changed_meanwhile() -> Conflict:
    return Conflict("the routes were changed meanwhile", next_step="Read them again with GET /v1/alert-routes.")


def _made_up_alert(public_id: str, actor: str, now: datetime) -> SentAlert:
    return SentAlert(
        id=public_id,
        fingerprint=public_id,
        labels={"alertname": "Test", "severity": "info"},
        annotations={"summary": f"A test that {actor} sent. Nothing is wrong."},
        starts_at=now,
        ends_at=None,
    )


def _log_entry(receiver: Receiver, notification: Notification) -> outbox.NewNotification:
    return outbox.NewNotification(
        public_id=notification.id,
        key=notification.group_key,
        group_key=notification.group_key,
        group_labels=dict(notification.group_labels),
        receiver=receiver.name,
        kind=receiver.kind,
        reason="test",
        firing=1,
        resolved=0,
        alerts=notification.alerts,
        more_alerts=0,
        created_at=notification.at,
    )
