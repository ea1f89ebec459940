"""What agents are asked to do: which hosts run which services, and who is paused."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from sqlalchemy import and_, delete, select, text
from sqlalchemy.dialects.postgresql import insert

from tierscope.core.database import ReadSession, WriteTransaction
from tierscope.storage.tables import hosts, pauses

PauseScope = Literal["all", "heat"]


@dataclass(frozen=True, slots=True)
class Pause:
    """A pause that holds. `host_id` is the public id, None for every host."""

    host_id: str | None
    scope: PauseScope
    since: datetime
    actor: str


@dataclass(frozen=True, slots=True)
class PlacedService:
    """A service (`namespace/name`) of live hosts and the hosts that run it."""

    name: str
    hosts: tuple[int, ...]


def list_placed_services(session: ReadSession, *, seen_after: datetime) -> list[PlacedService]:
    """Services with the live hosts on which they were seen since; hosts that are retired or revoked do not count."""
    statement = text(
        "SELECT s.namespace || '/' || s.name AS name, array_agg(hs.host_id ORDER BY hs.host_id) AS hosts"
        " FROM host_services hs JOIN services s ON s.id = hs.service_id JOIN hosts h ON h.id = hs.host_id"
        " WHERE hs.last_seen_at > :after AND h.origin = 'live' AND h.retired_at IS NULL AND h.revoked_at IS NULL"
        " GROUP BY s.id, s.namespace, s.name"
    )
    return [PlacedService(row.name, tuple(row.hosts)) for row in session.execute(statement, {"after": seen_after})]


def read_pauses(session: ReadSession, *, host_id: int | None = None) -> list[Pause]:
    """Pauses that hold, oldest first: those of one host, every host's among them, or all.

    That of a host whose server is away is left out.
    """
    c = pauses.c
    same = hosts.c.id == c.host_id
    whose = same if host_id is None else and_(same, hosts.c.id == host_id)
    seen = c.host_id.is_(None) | hosts.c.id.is_not(None)
    statement = select(hosts.c.public_id, c.scope, c.since, c.actor).outerjoin(hosts, whose).where(seen)
    if host_id is not None:
        statement = statement.where(c.host_id.is_(None) | (c.host_id == host_id))
    rows = session.execute(statement.order_by(c.since, c.id))
    return [Pause(row.public_id, row.scope, row.since, row.actor) for row in rows]


def insert_pause(
    transaction: WriteTransaction, *, host_id: int | None, scope: PauseScope, actor: str, now: datetime
) -> bool:
    """Begin a pause; False where it holds already."""
    values = {"host_id": host_id, "scope": scope, "actor": actor, "since": now}
    statement = insert(pauses).values(values).on_conflict_do_nothing().returning(pauses.c.id)
    return transaction.execute(statement).one_or_none() is not None


def delete_pauses(transaction: WriteTransaction, *, host_id: int | None, scopes: tuple[PauseScope, ...]) -> int:
    """End the pauses of one host, or all of them; returns how many there were."""
    statement = delete(pauses).where(pauses.c.scope.in_(scopes))
    if host_id is not None:
        statement = statement.where(pauses.c.host_id == host_id)
    return len(transaction.execute(statement.returning(pauses.c.id)).all())
