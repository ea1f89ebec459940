"""The one configuration of where alerts are sent."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import text
from sqlalchemy.dialects.postgresql import insert

from tierscope.core.database import ReadSession, WriteTransaction
from tierscope.domain.notifications.routing import Routing, routing_document
from tierscope.domain.notifications.stored_routing import read_stored
from tierscope.storage.tables import alert_routing


@dataclass(frozen=True, slots=True)
class StoredRouting:
    """The configuration with its version; version 0 = none was ever stored.

    `problems`: parts that cannot be read, by their place; they are left out of `routing`.
    """

    version: int
    routing: Routing
    updated_at: datetime | None
    updated_by: str | None
    problems: tuple[str, ...] = ()


def read_stored_routing(session: ReadSession) -> StoredRouting:
    """The configuration in force."""
    row = session.execute(text("SELECT version, body, updated_at, updated_by FROM alert_routing")).one_or_none()
    if row is None:
        return StoredRouting(0, Routing(), None, None)
    routing, problems = read_stored(row.body)
    return StoredRouting(row.version, routing, row.updated_at, row.updated_by, problems)


def write_routing(transaction: WriteTransaction, routing: Routing, *, version: int, by: str, now: datetime) -> bool:
    """Store `routing` as the one after `version`; False where another one was stored meanwhile."""
    values = {"version": version + 1, "body": routing_document(routing), "updated_at": now, "updated_by": by}
    statement = insert(alert_routing).values(id=1, **values)
    statement = statement.on_conflict_do_update(
        index_elements=["id"], set_=values, where=alert_routing.c.version == version
    )
    return transaction.execute(statement.returning(alert_routing.c.id)).scalar_one_or_none() is not None
