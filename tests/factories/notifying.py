"""A notifier for a test: its database, a clock that stands, settings that open loopback, routes put in place."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import text

from factories.alert_changes import SetClock, change_alert
from tierscope.core.database import Database
from tierscope.core.settings import Settings
from tierscope.usecases.base.context import ReadContext
from tierscope.usecases.notifications.deliver import Delivered, DeliverNotifications
from tierscope.usecases.notifications.reads import Notification, NotificationLog
from tierscope.usecases.notifications.routes import AlertRoutes


def route(receiver: str | None, *matchers: tuple[str, str, str], **fields: Any) -> dict[str, Any]:  # noqa: ANN401
    """A route that waits for nothing unless it is told to."""
    waits = {"group_wait_seconds": 0, "group_interval_seconds": 0, "repeat_interval_seconds": 3600}
    named = [{"name": name, "op": op, "value": value} for name, op, value in matchers]
    return {"matchers": named, "receiver": receiver, **waits, **fields}


def receiver(name: str, kind: str, **settings: object) -> dict[str, Any]:
    return {"name": name, "kind": kind, "settings": settings}


@dataclass(slots=True)
class Notifying:
    database: Database
    clock: SetClock = field(default_factory=SetClock)
    settings: Settings = field(default_factory=lambda: Settings.model_validate({"outgoing": {"allow": "127.0.0.0/8"}}))

    def put_routes(
        self,
        receivers: Sequence[Mapping[str, Any]],
        routes: Sequence[Mapping[str, Any]],
        inhibitions: Sequence[Mapping[str, Any]] = (),
    ) -> None:
        document = {"receivers": receivers, "routes": routes, "inhibitions": inhibitions}
        context = ReadContext(self.database, self.clock, self.settings)
        AlertRoutes(context).replace(document, version=None, actor="test")

    def change(self, name: str, to_state: str, **about: Any) -> None:  # noqa: ANN401 - as change_alert takes it
        change_alert(self.database, name, to_state, self.clock.now, **about)

    def run(self, seconds: float = 0.0) -> Delivered:
        """Move the clock, then let the notifier run."""
        self.clock.move(seconds)
        done = DeliverNotifications(self.database, self.clock, self.settings).run()
        assert done is not None
        return done

    def log(self, **wanted: Any) -> list[Notification]:  # noqa: ANN401 - filters of the log
        filters = {"status": None, "receiver": None, "alert": None, "limit": 1000, "cursor": None, **wanted}
        return list(reversed(NotificationLog(self.database, clock=self.clock).list(**filters).items))

    def count(self, table: str) -> int:
        with self.database.read() as session:
            return int(session.execute(text(f"SELECT count(*) FROM {table}")).scalar_one())
