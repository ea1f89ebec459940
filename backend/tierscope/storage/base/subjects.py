"""Whom a read is about: a host, or a service with its hosts, and what their inventory says."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import text

from tierscope.core.database import ReadSession
from tierscope.domain.base.figures import Origin

IN_SERVICE = "h.revoked_at IS NULL AND h.retired_at IS NULL"
"""Whether a host of `hosts h` counts: it is neither revoked nor retired."""


@dataclass(frozen=True, slots=True)
class SubjectHost:
    """A host by both its ids; `layout_id` is that of its newest counters."""

    id: int
    public_id: str
    name: str
    origin: Origin
    layout_id: int | None


@dataclass(frozen=True, slots=True)
class SubjectService:
    """A service by both its ids."""

    id: int
    public_id: str
    namespace: str
    name: str
    origin: Origin


def find_host(session: ReadSession, public_id: str) -> SubjectHost | None:
    """The host with this public id."""
    statement = text("SELECT id, public_id, name, origin, layout_id FROM hosts WHERE public_id = :id")
    row = session.execute(statement, {"id": public_id}).mappings().one_or_none()
    return None if row is None else SubjectHost(**row)


def find_host_named(session: ReadSession, name: str) -> SubjectHost | None:
    """The host with this id, else one of this name: live before recorded."""
    statement = text(
        "SELECT id, public_id, name, origin, layout_id FROM hosts WHERE public_id = :name OR name = :name"
        " ORDER BY public_id <> :name, origin <> 'live', public_id LIMIT 1"
    )
    row = session.execute(statement, {"name": name}).mappings().one_or_none()
    return None if row is None else SubjectHost(**row)


def find_service(session: ReadSession, public_id: str) -> SubjectService | None:
    """The service with this public id."""
    statement = text("SELECT id, public_id, namespace, name, origin FROM services WHERE public_id = :id")
    row = session.execute(statement, {"id": public_id}).mappings().one_or_none()
    return None if row is None else SubjectService(**row)


def find_service_named(session: ReadSession, name: str) -> SubjectService | None:
    """The service with this id, else one of this `namespace/name`: live before recorded."""
    namespace, _, short = name.rpartition("/")
    statement = text(
        "SELECT id, public_id, namespace, name, origin FROM services"
        " WHERE public_id = :id OR (namespace = :namespace AND name = :name)"
        " ORDER BY public_id <> :id, origin <> 'live', public_id LIMIT 1"
    )
    row = session.execute(statement, {"id": name, "namespace": namespace, "name": short}).mappings().one_or_none()
    return None if row is None else SubjectService(**row)


def hosts_of_service(session: ReadSession, service_id: int) -> list[SubjectHost]:
    """All hosts on which the service was ever found, by name."""
    statement = text(
        "SELECT h.id, h.public_id, h.name, h.origin, h.layout_id FROM host_services s JOIN hosts h ON h.id = s.host_id"
        " WHERE s.service_id = :service ORDER BY h.name, h.public_id"
    )
    return [SubjectHost(*row) for row in session.execute(statement, {"service": service_id})]


def like_hosts(session: ReadSession, host_id: int, *, limit: int) -> list[int]:
    """Other hosts that run a service of this one, those with most of them first."""
    statement = text(
        "SELECT o.host_id FROM host_services m JOIN host_services o ON o.service_id = m.service_id"
        " WHERE m.host_id = :host AND o.host_id <> :host GROUP BY o.host_id"
        " ORDER BY count(*) DESC, o.host_id LIMIT :limit"
    )
    return [int(found) for found in session.execute(statement, {"host": host_id, "limit": limit}).scalars()]


def hosts_by_id(session: ReadSession, host_ids: Sequence[int]) -> list[SubjectHost]:
    """These hosts, by name."""
    statement = text(
        "SELECT id, public_id, name, origin, layout_id FROM hosts WHERE id = ANY(:ids) ORDER BY name, public_id"
    )
    return [SubjectHost(*row) for row in session.execute(statement, {"ids": list(host_ids)})]


def all_hosts(session: ReadSession) -> list[SubjectHost]:
    """All hosts, by name."""
    statement = text("SELECT id, public_id, name, origin, layout_id FROM hosts ORDER BY name, public_id")
    return [SubjectHost(*row) for row in session.execute(statement)]


def all_services(session: ReadSession) -> list[SubjectService]:
    """All services, by namespace and name."""
    statement = text("SELECT id, public_id, namespace, name, origin FROM services ORDER BY namespace, name, public_id")
    return [SubjectService(*row) for row in session.execute(statement)]


def newest_inventories(session: ReadSession, host_ids: Sequence[int], before: datetime) -> dict[int, Mapping[str, Any]]:
    """The newest inventory up to `before` of each host, else its first one."""
    statement = text(
        "SELECT DISTINCT ON (host_id) host_id, body FROM inventory WHERE host_id = ANY(:ids)"
        " ORDER BY host_id, (at <= :before) DESC, abs(extract(epoch FROM at - CAST(:before AS timestamptz)))"
    )
    rows = session.execute(statement, {"ids": list(host_ids), "before": before})
    return {row.host_id: row.body for row in rows}


def services_of_host(session: ReadSession, host_id: int) -> list[SubjectService]:
    """The services that were found on a host, by name."""
    statement = text(
        "SELECT s.id, s.public_id, s.namespace, s.name, s.origin FROM host_services h"
        " JOIN services s ON s.id = h.service_id WHERE h.host_id = :host ORDER BY s.namespace, s.name"
    )
    rows = session.execute(statement, {"host": host_id}).mappings()
    return [SubjectService(**row) for row in rows]


def service_scopes(session: ReadSession, host_id: int) -> dict[int, str]:
    """The scope (`service:<namespace>/<name>`) under which a host counts each of its services, by service id."""
    return scopes_of_hosts(session, [host_id])[host_id]


def scopes_of_hosts(session: ReadSession, host_ids: Sequence[int]) -> dict[int, dict[int, str]]:
    """The same of many hosts, by host id."""
    statement = text(
        "SELECT h.host_id, s.id, s.namespace, s.name FROM host_services h JOIN services s ON s.id = h.service_id"
        " WHERE h.host_id = ANY(:hosts) ORDER BY h.host_id, s.id"
    )
    found: dict[int, dict[int, str]] = {host: {} for host in host_ids}
    for row in session.execute(statement, {"hosts": list(host_ids)}):
        found[row.host_id][row.id] = f"service:{row.namespace}/{row.name}"
    return found


def service_members(session: ReadSession) -> list[tuple[int, int]]:
    """(service, host) of every service on every host where it was ever found."""
    rows = session.execute(text("SELECT service_id, host_id FROM host_services ORDER BY service_id, host_id"))
    return [(int(row.service_id), int(row.host_id)) for row in rows]
