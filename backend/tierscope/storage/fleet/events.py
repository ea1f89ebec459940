"""Events: marks on charts."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import delete, insert, select
from sqlalchemy.dialects.postgresql import insert as upsert

from tierscope.core.database import ReadSession, WriteTransaction
from tierscope.storage.tables import events, hosts, idempotency_keys, services

READABLE_FROM, READABLE_TO = datetime(1, 1, 2, tzinfo=UTC), datetime(9999, 12, 30, tzinfo=UTC)
"""Times that Python can hold in every zone; PostgreSQL has others too, and infinity."""


@dataclass(frozen=True, slots=True)
class EventItem:
    """A stored mark; ids are the public ones."""

    id: str
    at: datetime
    kind: str
    text: str
    host_id: str | None
    service_id: str | None
    author: str | None


def host_by_public_id(session: ReadSession, public_id: str) -> int | None:
    """Returns the internal id of a host."""
    return session.execute(select(hosts.c.id).where(hosts.c.public_id == public_id)).scalar_one_or_none()


def service_by_public_id(session: ReadSession, public_id: str) -> int | None:
    """Returns the internal id of a service."""
    return session.execute(select(services.c.id).where(services.c.public_id == public_id)).scalar_one_or_none()


def insert_event(
    transaction: WriteTransaction,
    *,
    at: datetime,
    kind: str,
    text: str,
    host_id: int | None,
    service_id: int | None,
    author: str,
) -> int:
    """Stores an event and returns its id."""
    values = {"at": at, "kind": kind, "text": text, "host_id": host_id, "service_id": service_id, "author": author}
    return int(transaction.execute(insert(events).values(values).returning(events.c.id)).scalar_one())


def delete_event(transaction: WriteTransaction, event_id: int) -> EventItem | None:
    """Removes an event and returns it, with a time that Python can hold; None where there is none."""
    c = events.c
    statement = delete(events).where(c.id == event_id).returning(c.id, c.kind, c.text, c.author)
    row = transaction.execute(statement).one_or_none()
    return None if row is None else EventItem(str(row.id), READABLE_FROM, row.kind, row.text, None, None, row.author)


def list_events(
    session: ReadSession,
    *,
    start: datetime,
    end: datetime,
    service: str | None,
    host: str | None,
    before: tuple[datetime, int] | None,
    limit: int,
) -> list[EventItem]:
    """Returns events of [start, end), newest first; `before` is (time, id) of the last one seen.

    Times that Python's calendar does not have are left out, and events of hosts whose server is away.
    """
    c = events.c
    statement = (
        select(c.id, c.at, c.kind, c.text, hosts.c.public_id, services.c.public_id.label("service"), c.author)
        .select_from(
            events.outerjoin(hosts, hosts.c.id == c.host_id).outerjoin(services, services.c.id == c.service_id)
        )
        .where(c.at >= max(start, READABLE_FROM), c.at < min(end, READABLE_TO))
        .where(c.host_id.is_(None) | hosts.c.id.is_not(None))
        .order_by(c.at.desc(), c.id.desc())
        .limit(limit)
    )
    if service is not None:
        statement = statement.where(services.c.public_id == service)
    if host is not None:
        statement = statement.where(hosts.c.public_id == host)
    if before is not None:
        at, event_id = before
        statement = statement.where((c.at < at) | ((c.at == at) & (c.id < event_id)))
    rows = session.execute(statement)
    return [EventItem(str(row.id), row.at, row.kind, row.text, row.public_id, row.service, row.author) for row in rows]


def remembered_answer(
    transaction: WriteTransaction, *, actor: str, key: str, request_hash: bytes
) -> tuple[bool, dict[str, Any]] | None:
    """Returns whether the request was the same and the answer it got, if the key was used before."""
    c = idempotency_keys.c
    statement = select(c.request_hash, c.answer).where(c.actor == actor, c.key == key)
    row = transaction.execute(statement).one_or_none()
    return None if row is None else (bytes(row.request_hash) == request_hash, row.answer)


def remember_answer(
    transaction: WriteTransaction, *, actor: str, key: str, request_hash: bytes, answer: Mapping[str, Any]
) -> bool:
    """Keeps an answer under its key; False where another request was faster."""
    statement = (
        upsert(idempotency_keys)
        .values(actor=actor, key=key, request_hash=request_hash, answer=dict(answer))
        .on_conflict_do_nothing()
        .returning(idempotency_keys.c.key)
    )
    return transaction.execute(statement).one_or_none() is not None
