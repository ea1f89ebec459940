"""Which heat there is: page kinds and tiers of services on hosts, without the figures themselves."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import TextClause, text

from tierscope.core.database import ReadSession
from tierscope.domain.heat.rows import KINDS, Method
from tierscope.storage.heat.rows import read_rows, split_rows

_Key = tuple[int, int, Method, int, str]
"""Service, host, method, number of the page kind, tier."""
_HOUR = timedelta(hours=1)


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
    newest = max(start, end - _HOUR)
    older, newer = split_rows(session, newest, end)
    rows = _hours(session, service_ids, start, end)
    single: Counter[_Key] = Counter()
    if older is not None:
        for service_id in service_ids:
            for host_id, some in read_rows(session, service_id, *older).items():
                for row in some:
                    groups = zip(row.kinds.tolist(), row.tiers, strict=True)
                    single.update((service_id, host_id, row.method, kind, tier) for kind, tier in groups)
    if newer is not None:
        single.update(_intervals(session, service_ids, *newer))
    found = {key: max(rows.get(key, 0), single.get(key, 0)) for key in {*rows, *single}}
    return [
        HeatGroup(service_id, host_id, method, KINDS[kind] if kind < len(KINDS) else "", tier, n)
        for (service_id, host_id, method, kind, tier), n in sorted(
            found.items(), key=lambda item: (item[0][0], item[0][1], item[0][3], item[0][4])
        )
    ]


def _hours(session: ReadSession, service_ids: Sequence[int], start: datetime, end: datetime) -> dict[_Key, int]:
    statement = text(
        "SELECT h.service_id, h.host_id, h.backend, h.granularity, h.interval_ns, u.kind, u.tier,"
        " sum(h.n_intervals)::bigint AS n FROM heat_1h h, LATERAL unnest(h.kinds, h.tiers) AS u (kind, tier)"
        " WHERE h.service_id = ANY(:services) AND h.ts < :end"
        " AND h.ts > CAST(:start AS timestamptz) - interval '1 hour' GROUP BY 1, 2, 3, 4, 5, 6, 7"
    )
    return _counts(session, statement, service_ids, start, end)


def _intervals(session: ReadSession, service_ids: Sequence[int], start: datetime, end: datetime) -> dict[_Key, int]:
    statement = text(
        "SELECT h.service_id, h.host_id, h.backend, h.granularity, h.interval_ns, u.kind, u.tier, count(*) AS n"
        " FROM heat_live h, LATERAL unnest(h.kinds, h.tiers) AS u (kind, tier)"
        " WHERE h.service_id = ANY(:services) AND h.ts > :start AND h.ts <= :end GROUP BY 1, 2, 3, 4, 5, 6, 7"
    )
    return _counts(session, statement, service_ids, start, end)


def _counts(
    session: ReadSession, statement: TextClause, service_ids: Sequence[int], start: datetime, end: datetime
) -> dict[_Key, int]:
    rows = session.execute(statement, {"services": list(service_ids), "start": start, "end": end})
    return {
        (
            row.service_id,
            row.host_id,
            Method(row.backend, row.granularity, row.interval_ns),
            row.kind,
            row.tier,
        ): int(row.n)
        for row in rows
    }
