"""Services as stored: the list, one service, its aliases."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import select, text, tuple_

from tierscope.core.database import ReadSession
from tierscope.storage.tables import host_services, hosts, services

_COLUMNS = (
    services.c.id,
    services.c.public_id,
    services.c.namespace,
    services.c.name,
    services.c.origin,
    services.c.last_seen_at,
)


@dataclass(frozen=True, slots=True)
class ServiceRow:
    """A service."""

    id: int
    public_id: str
    namespace: str
    name: str
    origin: str
    last_seen_at: datetime | None


def list_services(
    session: ReadSession,
    *,
    origin: str | None,
    host: str | None,
    after: tuple[str, str, int] | None,
    limit: int | None,
) -> list[ServiceRow]:
    """Services by namespace, name, then id; `after` is that of the last one seen, `host` a public id."""
    statement = select(*_COLUMNS).order_by(services.c.namespace, services.c.name, services.c.id)
    if origin is not None:
        statement = statement.where(services.c.origin == origin)
    if host is not None:
        inner = select(host_services.c.service_id).join(hosts, hosts.c.id == host_services.c.host_id)
        statement = statement.where(services.c.id.in_(inner.where(hosts.c.public_id == host)))
    if after is not None:
        statement = statement.where(tuple_(services.c.namespace, services.c.name, services.c.id) > after)
    if limit is not None:
        statement = statement.limit(limit)
    return [ServiceRow(**row) for row in session.execute(statement).mappings()]


def find_service(session: ReadSession, public_id: str) -> ServiceRow | None:
    """One service by its public id."""
    row = session.execute(select(*_COLUMNS).where(services.c.public_id == public_id)).mappings().one_or_none()
    return None if row is None else ServiceRow(**row)


def read_aliases(session: ReadSession, service_id: int) -> list[str]:
    """Other names of a service, as `namespace/name`."""
    statement = text("SELECT namespace, name FROM service_aliases WHERE service_id = :id ORDER BY namespace, name")
    return [f"{row.namespace}/{row.name}" for row in session.execute(statement, {"id": service_id})]


def service_names(session: ReadSession) -> dict[str, int]:
    """Ids of services by every name that they have, as `namespace/name`."""
    statement = text(
        "SELECT namespace, name, service_id AS id FROM service_aliases"
        " UNION ALL SELECT namespace, name, id FROM services"
    )
    return {f"{row.namespace}/{row.name}": int(row.id) for row in session.execute(statement)}
