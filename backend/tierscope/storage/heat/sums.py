"""Sums over stored intervals of heat, made where they lie: overlaps of hot sets, and sampled loads by kind and tier."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import text

from tierscope.core.database import ReadSession
from tierscope.domain.heat.placement import FAST_TIERS
from tierscope.domain.heat.rows import BACKENDS, KINDS, SAMPLERS, Method

LAGS = (10, 30, 60)
"""In intervals, in the order of the stored columns."""


@dataclass(frozen=True, slots=True)
class Overlap:
    """One lag on one host at the end of one interval, over all its memory; bytes."""

    host_id: int
    method: Method
    lag_intervals: int
    intersection_bytes: float
    union_bytes: float


def read_overlaps(
    session: ReadSession, service_id: int, host_ids: Sequence[int], start: datetime, end: datetime
) -> list[Overlap]:
    """All overlaps of (start, end] that were measured: summed over groups, kinds and tiers of an interval."""
    statement = text(
        "SELECT h.host_id, h.backend, h.granularity, h.interval_ns, (u.place - 1) % 3 AS lag,"
        " sum(u.shared)::float8 AS intersection, sum(u.united)::float8 AS total FROM heat_live h,"
        " LATERAL unnest(h.hot_intersection_bytes, h.hot_union_bytes) WITH ORDINALITY AS u (shared, united, place)"
        " WHERE h.service_id = :service AND h.host_id = ANY(:hosts) AND h.ts > :start AND h.ts <= :end"
        " AND h.hot_union_bytes IS NOT NULL"
        " GROUP BY h.host_id, h.backend, h.granularity, h.interval_ns, h.ts, 5 HAVING sum(u.united) > 0"
        " ORDER BY h.host_id, h.ts, 5"
    )
    values = {"service": service_id, "hosts": list(host_ids), "start": start, "end": end}
    return [
        Overlap(
            row.host_id,
            Method(row.backend, row.granularity, row.interval_ns),
            LAGS[row.lag],
            row.intersection,
            row.total,
        )
        for row in session.execute(statement, values)
    ]


def read_loads(
    session: ReadSession, service_id: int, host_ids: Sequence[int], method: Method, start: datetime, end: datetime
) -> dict[int, tuple[float, float]]:
    """Sampled loads of (start, end] by host: on anon memory, and on all other memory."""
    anon = KINDS.index("anon")
    statement = text(
        "SELECT h.host_id, coalesce(sum(u.loads) FILTER (WHERE u.kind = :anon), 0)::float8 AS anon,"
        " coalesce(sum(u.loads) FILTER (WHERE u.kind <> :anon), 0)::float8 AS other FROM heat_live h,"
        " LATERAL unnest(h.kinds, h.load_samples) AS u (kind, loads)"
        " WHERE h.service_id = :service AND h.host_id = ANY(:hosts) AND h.ts > :start AND h.ts <= :end"
        " AND h.backend = :backend AND h.granularity = :granularity AND h.interval_ns = :interval"
        " AND h.load_samples IS NOT NULL GROUP BY h.host_id"
    )
    values = {
        "service": service_id,
        "hosts": list(host_ids),
        "start": start,
        "end": end,
        "anon": anon,
        "backend": method.backend,
        "granularity": method.granularity,
        "interval": method.interval_ns,
    }
    return {row.host_id: (row.anon, row.other) for row in session.execute(statement, values)}


@dataclass(frozen=True, slots=True)
class LoadsByTier:
    """Loads of one host in the bucket that ends at `end_s`, in events: on slower tiers, and where the tier is known."""

    host_id: int
    end_s: int
    slow_events: float
    known_events: float
    known_samples: int


def read_loads_by_tier(
    session: ReadSession, service_id: int, host_ids: Sequence[int], start: datetime, end: datetime, *, step_s: int
) -> list[LoadsByTier]:
    """Sampled loads of (start, end] by host and bucket of `step_s` seconds, of hardware samplers alone."""
    statement = text(
        "SELECT h.host_id, (ceil(extract(epoch FROM h.ts) / :step) * :step)::bigint AS end_s,"
        " coalesce(sum(u.loads * h.period_events / coalesce(h.duty_ratio, 1))"
        " FILTER (WHERE NOT u.tier = ANY(:fast)), 0)::float8 AS slow,"
        " sum(u.loads * h.period_events / coalesce(h.duty_ratio, 1))::float8 AS known, sum(u.loads)::bigint AS samples"
        " FROM heat_live h, LATERAL unnest(h.tiers, h.load_samples) AS u (tier, loads)"
        " WHERE h.service_id = :service AND h.host_id = ANY(:hosts) AND h.ts > :start AND h.ts <= :end"
        " AND h.backend = ANY(:backends) AND h.load_samples IS NOT NULL AND h.period_events IS NOT NULL"
        " AND u.tier <> '' GROUP BY 1, 2 HAVING sum(u.loads) > 0 ORDER BY 1, 2"
    )
    values = {
        "service": service_id,
        "hosts": list(host_ids),
        "start": start,
        "end": end,
        "step": step_s,
        "fast": sorted(FAST_TIERS),
        "backends": [BACKENDS.index(name) for name in sorted(SAMPLERS)],
    }
    return [
        LoadsByTier(row.host_id, row.end_s, row.slow, row.known, row.samples)
        for row in session.execute(statement, values)
    ]
