"""How much memory the hosts of a fleet or of a service have: one group for those of a kind, not one row for each."""

from dataclasses import dataclass

from sqlalchemy import text

from tierscope.core.database import ReadSession


@dataclass(frozen=True, slots=True)
class MemoryGroup:
    """Hosts with the same memory in the same tiers, live or not. `example`: the id of one of them."""

    live: bool
    hosts: int
    example: int


def group_memory(session: ReadSession, *, service_id: int | None = None) -> list[MemoryGroup]:
    """Hosts that are neither retired nor revoked, by what workers keep of their inventories; the largest group first.

    Hosts of which no worker has kept anything yet are told apart by nothing, so that each is a group.
    """
    joined = (
        "" if service_id is None else f" JOIN host_services m ON m.host_id = h.id AND m.service_id = {service_id:d}"
    )
    statement = text(
        "SELECT live, count(*) AS hosts, min(id) AS example FROM (SELECT h.id, h.origin = 'live' AS live,"  # noqa: S608
        " r.memory_bytes, r.top_bytes, r.tier_classes, CASE WHEN r.host_id IS NULL THEN h.id END AS alone"
        f" FROM hosts h{joined} LEFT JOIN host_recent r ON r.host_id = h.id"
        " WHERE h.revoked_at IS NULL AND h.retired_at IS NULL) AS t"
        " GROUP BY live, memory_bytes, top_bytes, tier_classes, alone ORDER BY hosts DESC, example"
    )
    return [MemoryGroup(row.live, row.hosts, row.example) for row in session.execute(statement)]
