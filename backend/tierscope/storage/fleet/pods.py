"""Pods of hosts that are nodes of a Kubernetes cluster, as their newest inventories list them."""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Select, case, func, select, text

from tierscope.core.database import ReadSession
from tierscope.domain.fleet.pods import Pod, PodOwner, PodsState
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
        .where(hosts.c.revoked_at.is_(None))
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
        "SELECT h.pods_at AS at, (SELECT count(*) FROM host_pods p WHERE p.host_id = h.id) AS n_pods,"
        " h.pods_left_out AS left_out, h.pods_unavailable AS unavailable FROM hosts h"
        " WHERE h.id = :host AND h.pods_at IS NOT NULL"
    )
    row = session.execute(statement, {"host": host_id}).mappings().one_or_none()
    return None if row is None else PodsState(**row)


def count_pods(session: ReadSession, service_id: int) -> int:
    """Pods of a service on all its hosts."""
    statement = text("SELECT count(*) FROM host_pods WHERE service_id = :service")
    return int(session.execute(statement, {"service": service_id}).scalar_one())


def owners_of(session: ReadSession, service_ids: Sequence[int]) -> Mapping[int, PodOwner]:
    """The owner of most pods of each service; what the cluster says comes before what names say."""
    statement = text(
        "SELECT DISTINCT ON (service_id) service_id, owner_kind AS kind, owner AS name, owner_source AS source"
        " FROM host_pods WHERE service_id = ANY(:services) AND owner IS NOT NULL"
        " GROUP BY service_id, owner_kind, owner, owner_source"
        " ORDER BY service_id, owner_source = 'api' DESC, count(*) DESC, owner_kind, owner"
    )
    rows = session.execute(statement, {"services": list(service_ids)})
    return {int(row.service_id): PodOwner(row.kind, row.name, row.source) for row in rows}
