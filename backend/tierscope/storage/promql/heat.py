"""Which heat there is: page kinds and tiers of services on hosts, without the figures themselves."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import text

from tierscope.core.database import ReadSession
from tierscope.domain.heat.rows import KINDS, Method


@dataclass(frozen=True, slots=True)
class HeatGroup:
    """A page kind and tier of a service on a host, by one method, with the intervals that have it."""

    service_id: int
    host_id: int
    method: Method
    kind: str
    tier: str
    n_intervals: int


def list_heat_groups(
    session: ReadSession, service_ids: Sequence[int], start: datetime, end: datetime
) -> list[HeatGroup]:
    """The groups of (start, end]: of hours that are summed up, and of single intervals of its newest hour."""
    statement = text(
        "SELECT service_id, host_id, backend, granularity, interval_ns, kind, tier, max(n)::bigint AS n FROM ("
        " SELECT h.service_id, h.host_id, h.backend, h.granularity, h.interval_ns, u.kind, u.tier,"
        " sum(h.n_intervals) AS n FROM heat_1h h, LATERAL unnest(h.kinds, h.tiers) AS u (kind, tier)"
        " WHERE h.service_id = ANY(:services) AND h.ts < :end"
        " AND h.ts > CAST(:start AS timestamptz) - interval '1 hour'"
        " GROUP BY 1, 2, 3, 4, 5, 6, 7"
        " UNION ALL SELECT h.service_id, h.host_id, h.backend, h.granularity, h.interval_ns, u.kind, u.tier,"
        " count(*) AS n FROM heat_live h, LATERAL unnest(h.kinds, h.tiers) AS u (kind, tier)"
        " WHERE h.service_id = ANY(:services) AND h.ts > :start AND h.ts <= :end"
        " AND h.ts > CAST(:end AS timestamptz) - interval '1 hour'"
        " GROUP BY 1, 2, 3, 4, 5, 6, 7) AS found GROUP BY 1, 2, 3, 4, 5, 6, 7 ORDER BY 1, 2, 6, 7"
    )
    rows = session.execute(statement, {"services": list(service_ids), "start": start, "end": end})
    return [
        HeatGroup(
            row.service_id,
            row.host_id,
            Method(row.backend, row.granularity, row.interval_ns),
            KINDS[row.kind] if row.kind < len(KINDS) else "",
            row.tier,
            row.n,
        )
        for row in rows
    ]
