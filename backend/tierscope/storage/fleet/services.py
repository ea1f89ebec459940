"""Services as stored: the list, one service, its aliases."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import select, text, tuple_

from tierscope.core.database import ReadSession
from tierscope.domain.base.figures import Origin
from tierscope.domain.fleet.gain import ServiceGain, read_gain
from tierscope.storage.access.teams import TeamRef
from tierscope.storage.tables import host_services, hosts, services, teams

_COLUMNS = (
    services.c.id,
    services.c.public_id,
    services.c.namespace,
    services.c.name,
    services.c.origin,
    services.c.last_seen_at,
    teams.c.public_id.label("owner_id"),
    teams.c.name.label("owner_name"),
)
_FROM = services.outerjoin(teams, teams.c.id == services.c.owner_team_id)


@dataclass(frozen=True, slots=True)
class ServiceRow:
    """A service."""

    id: int
    public_id: str
    namespace: str
    name: str
    origin: Origin
    last_seen_at: datetime | None
    owner_id: str | None = None
    owner_name: str | None = None

    @property
    def owner_team(self) -> TeamRef | None:
        """The team that owns it."""
        return None if self.owner_id is None else TeamRef(self.owner_id, self.owner_name or "")


def list_services(
    session: ReadSession,
    *,
    origin: Origin | None,
    host: str | None,
    after: tuple[str, str, int] | None,
    limit: int | None,
    ids: Sequence[int] | None = None,
) -> list[ServiceRow]:
    """Services by namespace, name, then id; `after` is that of the last one seen, `host` a public id."""
    statement = select(*_COLUMNS).select_from(_FROM).order_by(services.c.namespace, services.c.name, services.c.id)
    if origin is not None:
        statement = statement.where(services.c.origin == origin)
    if ids is not None:
        statement = statement.where(services.c.id.in_(ids))
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
    row = (
        session.execute(select(*_COLUMNS).select_from(_FROM).where(services.c.public_id == public_id))
        .mappings()
        .one_or_none()
    )
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


def service_numbers(session: ReadSession) -> list[int]:
    """Ids of all services, in order."""
    return [int(found) for found in session.execute(text("SELECT id FROM services ORDER BY id")).scalars()]


def services_with_hosts(session: ReadSession, service_ids: Sequence[int]) -> list[int]:
    """Those of these services that were ever found on a host. Nodes send all hosts of each: ask of few."""
    statement = text(
        "SELECT s.id FROM services s WHERE EXISTS (SELECT 1 FROM host_services h WHERE h.service_id = s.id"
        " AND h.service_id = ANY(:services)) AND s.id = ANY(:services) ORDER BY s.id"
    )
    return [int(found) for found in session.execute(statement, {"services": list(service_ids)}).scalars()]


def has_more_pairs(session: ReadSession, than: int) -> bool:
    """Whether services were found on hosts in more pairs than so many; no more of them are read."""
    statement = text("SELECT count(*) FROM (SELECT 1 FROM host_services LIMIT :most) AS pairs")
    return int(session.execute(statement, {"most": than + 1}).scalar_one()) > than


def count_hosts(session: ReadSession, service_ids: Sequence[int]) -> dict[int, int]:
    """On how many hosts each service was found, revoked ones left out."""
    statement = text(
        "SELECT hs.service_id, count(*) FROM host_services hs JOIN hosts h ON h.id = hs.host_id"
        " AND h.revoked_at IS NULL WHERE hs.service_id = ANY(:services) GROUP BY hs.service_id"
    )
    return {int(row[0]): int(row[1]) for row in session.execute(statement, {"services": list(service_ids)})}


def read_gains(session: ReadSession, service_ids: Sequence[int] | None = None) -> dict[int, ServiceGain]:
    """What the ratio of each service saves, as workers costed it last; of all services without `service_ids`."""
    statement = text(
        "SELECT service_id, body->'gain' AS gain FROM advice WHERE kind = 'ratio' AND status <> 'gone'"
        " AND body ? 'gain' AND (CAST(:services AS bigint[]) IS NULL OR service_id = ANY(:services))"
    )
    values = {"services": None if service_ids is None else list(service_ids)}
    return {int(row.service_id): read_gain(row.gain) for row in session.execute(statement, values)}


def commonest_reasons(session: ReadSession, service_ids: Sequence[int]) -> dict[int, str]:
    """The commonest reason why heat of each service is not measured on its hosts, where any has one."""
    statement = text(
        "SELECT hs.service_id, mode() WITHIN GROUP (ORDER BY hs.heat_reason) FROM host_services hs"
        " JOIN hosts h ON h.id = hs.host_id AND h.revoked_at IS NULL WHERE hs.service_id = ANY(:services)"
        " AND hs.heat_reason <> '' GROUP BY hs.service_id"
    )
    return {int(row[0]): str(row[1]) for row in session.execute(statement, {"services": list(service_ids)})}


def hosts_with_service(session: ReadSession, service_id: int) -> list[str]:
    """Public ids of the hosts of a service by name, revoked ones left out."""
    statement = text(
        "SELECT h.public_id FROM host_services hs JOIN hosts h ON h.id = hs.host_id"
        " WHERE hs.service_id = :service AND h.revoked_at IS NULL ORDER BY h.name, h.id"
    )
    return [str(found) for found in session.execute(statement, {"service": service_id}).scalars()]
