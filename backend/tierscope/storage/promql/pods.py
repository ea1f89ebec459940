"""Pods with the time in which each is known to have run."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import text

from tierscope.core.database import ReadSession
from tierscope.storage.base.subjects import SubjectHost


@dataclass(frozen=True, slots=True)
class PodSpan:
    """A pod on its node, from the first inventory that listed it to the last word of the host."""

    host: SubjectHost
    labels: dict[str, str]
    """namespace, pod, uid, owner_kind, owner, node, service, service_id; empty where something is not known."""
    start: datetime
    end: datetime


def list_pod_spans(session: ReadSession, start: datetime, end: datetime) -> list[PodSpan]:
    """Pods that the newest inventories list and that ran within (start, end]."""
    statement = text(
        "SELECT h.id, h.public_id, h.name AS host, h.origin, h.layout_id, p.namespace, p.name AS pod, p.uid,"
        " p.owner_kind, p.owner, p.node, s.name AS service, s.public_id AS service_id, p.first_seen_at,"
        " h.last_seen_at FROM host_pods p JOIN hosts h ON h.id = p.host_id"
        " LEFT JOIN services s ON s.id = p.service_id"
        " WHERE h.revoked_at IS NULL AND p.first_seen_at <= :end AND h.last_seen_at > :start"
        " ORDER BY h.name, h.public_id, p.uid"
    )
    names = ("namespace", "pod", "uid", "owner_kind", "owner", "node", "service", "service_id")
    return [
        PodSpan(
            SubjectHost(row.id, row.public_id, row.host, row.origin, row.layout_id),
            {name: getattr(row, name) or "" for name in names},
            row.first_seen_at,
            row.last_seen_at,
        )
        for row in session.execute(statement, {"start": start, "end": end})
    ]
