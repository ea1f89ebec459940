"""Sums over stored intervals of heat: overlaps of hot sets, and sampled loads by kind and tier.

Those of live rows are made where they lie; what is in packs is summed here.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
from sqlalchemy import text

from tierscope.core.database import ReadSession
from tierscope.domain.base.buckets import SECOND_US
from tierscope.domain.heat.placement import FAST_TIERS
from tierscope.domain.heat.rows import BACKENDS, KINDS, SAMPLERS, Method
from tierscope.storage.heat.rows import Stretch, read_older_columns, split_rows

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
    older, newer = split_rows(session, start, end)
    found = [] if older is None else _older_overlaps(session, service_id, host_ids, older)
    if newer is not None:
        found += _live_overlaps(session, service_id, host_ids, *newer)
    return sorted(found, key=lambda overlap: overlap.host_id)


def _older_overlaps(session: ReadSession, service_id: int, host_ids: Sequence[int], stretch: Stretch) -> list[Overlap]:
    names = ("hot_intersection_bytes", "hot_union_bytes")
    found: list[tuple[int, Overlap]] = []
    for host_id, method, columns in read_older_columns(session, host_ids, stretch, names, service_id=service_id):
        shared, united = (columns.values[name] for name in names)
        if shared is None or united is None:
            continue
        sums = (cells.reshape(len(cells), -1, len(LAGS)).sum(axis=1).tolist() for cells in (shared, united))
        for end_us, *both in zip(columns.ends_us.tolist(), *sums, strict=True):
            found += [
                (end_us, Overlap(host_id, method, lag, float(intersection), float(union)))
                for lag, intersection, union in zip(LAGS, *both, strict=True)
                if union > 0
            ]
    return [overlap for _, overlap in sorted(found, key=lambda item: item[0])]


def _live_overlaps(
    session: ReadSession, service_id: int, host_ids: Sequence[int], start: datetime, end: datetime
) -> list[Overlap]:
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
    older, newer = split_rows(session, start, end)
    found: dict[int, tuple[float, float]] = {}
    if older is not None:
        names, backends = ("kinds", "load_samples"), [method.backend]
        packed = read_older_columns(session, host_ids, older, names, service_id=service_id, backends=backends)
        for host_id, measured, columns in packed:
            kinds, loads = (columns.values[name] for name in names)
            if measured == method and kinds is not None and loads is not None:
                on_anon = float(loads[kinds == KINDS.index("anon")].sum())
                before = found.get(host_id, (0.0, 0.0))
                found[host_id] = (before[0] + on_anon, before[1] + float(loads.sum()) - on_anon)
    if newer is not None:
        for host_id, taken in _live_loads(session, service_id, host_ids, method, *newer).items():
            before = found.get(host_id, (0.0, 0.0))
            found[host_id] = (before[0] + taken[0], before[1] + taken[1])
    return found


def _live_loads(
    session: ReadSession, service_id: int, host_ids: Sequence[int], method: Method, start: datetime, end: datetime
) -> dict[int, tuple[float, float]]:
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
        "anon": KINDS.index("anon"),
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


_TIER_BACKENDS = tuple(BACKENDS.index(name) for name in sorted(SAMPLERS))


def read_loads_by_tier(
    session: ReadSession, service_id: int, host_ids: Sequence[int], start: datetime, end: datetime, *, step_s: int
) -> list[LoadsByTier]:
    """Sampled loads of (start, end] by host and bucket of `step_s` seconds, of hardware samplers alone."""
    older, newer = split_rows(session, start, end)
    found = [] if older is None else _older_tiers(session, service_id, host_ids, older, step_s=step_s)
    if newer is not None:
        found += _live_tiers(session, service_id, host_ids, *newer, step_s=step_s)
    summed: dict[tuple[int, int], LoadsByTier] = {}
    for part in found:
        key = (part.host_id, part.end_s)
        before = summed.get(key, LoadsByTier(*key, 0.0, 0.0, 0))
        summed[key] = LoadsByTier(
            *key,
            before.slow_events + part.slow_events,
            before.known_events + part.known_events,
            before.known_samples + part.known_samples,
        )
    return [summed[key] for key in sorted(summed)]


def _older_tiers(
    session: ReadSession, service_id: int, host_ids: Sequence[int], stretch: Stretch, *, step_s: int
) -> list[LoadsByTier]:
    found = []
    packed = read_older_columns(
        session, host_ids, stretch, ("load_samples",), service_id=service_id, backends=_TIER_BACKENDS
    )
    for host_id, _, columns in packed:
        loads = columns.values["load_samples"]
        if loads is None:
            continue
        known = np.array([tier != "" for tier in columns.tiers], bool)
        slow = known & np.array([tier not in FAST_TIERS for tier in columns.tiers], bool)
        sums = zip(loads[:, known].sum(axis=1).tolist(), loads[:, slow].sum(axis=1).tolist(), strict=True)
        rows = zip(columns.ends_us.tolist(), columns.period_events, columns.duty_ratios, sums, strict=True)
        for end_us, period_events, duty_ratio, (samples, slow_samples) in rows:
            if period_events is not None and samples > 0:
                weight = period_events / (1.0 if duty_ratio is None else duty_ratio)
                end_s = -(-end_us // (step_s * SECOND_US)) * step_s
                found.append(LoadsByTier(host_id, end_s, slow_samples * weight, samples * weight, samples))
    return found


def _live_tiers(
    session: ReadSession, service_id: int, host_ids: Sequence[int], start: datetime, end: datetime, *, step_s: int
) -> list[LoadsByTier]:
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
        "backends": list(_TIER_BACKENDS),
    }
    return [
        LoadsByTier(row.host_id, row.end_s, row.slow, row.known, row.samples)
        for row in session.execute(statement, values)
    ]
