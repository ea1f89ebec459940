"""Pods of hosts that are nodes of a Kubernetes cluster, as their newest inventories list them."""

from typing import Any

from sqlalchemy import Select, case, func, select, text

from tierscope.core.database import ReadSession
from tierscope.domain.fleet.pods import Pod, PodOwner, PodsState
from tierscope.storage.base.subjects import IN_SERVICE
from tierscope.storage.tables import host_pods, hosts, services

_SERVICE_NAME = case((services.c.id.is_(None), None), else_=services.c.namespace + "/" + services.c.name)
_KEY = func.coalesce(host_pods.c.namespace, ""), func.coalesce(host_pods.c.name, ""), host_pods.c.uid, hosts.c.id


def list_pods(
    session: ReadSession,
    *,
    host: str | None,
    service: int | None,
    after: tuple[str, str, str, int] | None,
    limit: int | None,
) -> list[tuple[Pod, tuple[str, str, str, int]]]:
    """Pods by namespace, name, uid and host, each with that key; `after` is that of the last one seen."""
    statement: Select[Any] = (
        select(
            host_pods.c.uid,
            host_pods.c.namespace,
            host_pods.c.name.label("pod"),
            host_pods.c.owner_kind,
            host_pods.c.owner,
            host_pods.c.owner_source,
            host_pods.c.node,
            hosts.c.public_id.label("host_id"),
            hosts.c.name.label("host"),
            services.c.public_id.label("service_id"),
            _SERVICE_NAME.label("service"),
            host_pods.c.labels,
            host_pods.c.first_seen_at,
            hosts.c.origin,
            hosts.c.id.label("number"),
        )
        .select_from(host_pods.join(hosts).outerjoin(services))
        .where(hosts.c.revoked_at.is_(None), hosts.c.retired_at.is_(None))
        .order_by(*_KEY)
    )
    if host is not None:
        statement = statement.where(hosts.c.public_id == host)
    if service is not None:
        statement = statement.where(host_pods.c.service_id == service)
    if after is not None:
        statement = statement.where(func.row(*_KEY) > func.row(*after))
    if limit is not None:
        statement = statement.limit(limit)
    found = []
    for row in session.execute(statement).mappings():
        fields = dict(row)
        number = int(fields.pop("number"))
        pod = Pod(**fields)
        found.append((pod, (pod.namespace or "", pod.pod or "", pod.uid, number)))
    return found


def read_pods_state(session: ReadSession, host_id: int) -> PodsState | None:
    """What a host says of its pods; None where it runs none."""
    statement = text(
        "SELECT h.pods_at AS at, (SELECT count(*) FROM host_pods WHERE host_id = :host) AS n_pods,"
        " h.pods_left_out AS left_out, h.pods_unavailable AS unavailable FROM hosts h"
        " WHERE h.id = :host AND h.pods_at IS NOT NULL"
    )
    row = session.execute(statement, {"host": host_id}).mappings().one_or_none()
    return None if row is None else PodsState(**row)


def count_pods(session: ReadSession, service_id: int) -> int:
    """Pods of a service on all its hosts in service."""
    statement = text(
        "SELECT count(*) FROM host_pods p JOIN hosts h ON h.id = p.host_id"  # noqa: S608 - a constant
        f" WHERE p.service_id = :service AND {IN_SERVICE}"
    )
    return int(session.execute(statement, {"service": service_id}).scalar_one())


def owner_of(session: ReadSession, service_id: int) -> PodOwner | None:
    """The owner of most pods of a service; what the cluster says comes before what names say."""
    statement = text(
        "SELECT p.owner_kind AS kind, p.owner AS name, p.owner_source AS source"  # noqa: S608 - a constant
        " FROM host_pods p JOIN hosts h ON h.id = p.host_id"
        f" WHERE p.service_id = :service AND p.owner IS NOT NULL AND {IN_SERVICE}"
        " GROUP BY p.owner_kind, p.owner, p.owner_source"
        " ORDER BY p.owner_source = 'api' DESC, count(*) DESC, p.owner_kind, p.owner LIMIT 1"
    )
    row = session.execute(statement, {"service": service_id}).mappings().one_or_none()
    return None if row is None else PodOwner(**row)
