"""What goes into the minutes of rules besides counters: reports of agents, sampled loads by tier, forecasts."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
from sqlalchemy import text

from tierscope.core.database import ReadSession
from tierscope.domain.alerts.inputs import Placed, Report
from tierscope.domain.base.figures import Origin
from tierscope.domain.heat.placement import FAST_TIERS
from tierscope.storage.heat.rows import read_older_columns, split_rows


def read_reports(
    session: ReadSession, host_ids: Sequence[int], start: datetime, end: datetime
) -> dict[int, list[Report]]:
    """Reports of the hosts' agents that ended in (start, end]."""
    statement = text(
        "SELECT host_id, extract(epoch FROM ts)::float8 AS end_s, (window_ns / 1e9)::float8 AS seconds, budget_state,"
        " samples_taken, samples_lost, spool_batches FROM self_reports"
        " WHERE host_id = ANY(:hosts) AND ts > :start AND ts <= :end ORDER BY host_id, ts"
    )
    found: dict[int, list[Report]] = {}
    for row in session.execute(statement, {"hosts": list(host_ids), "start": start, "end": end}):
        values = (row.end_s, row.seconds, row.budget_state, row.samples_taken, row.samples_lost, row.spool_batches)
        report = Report(*values)
        found.setdefault(row.host_id, []).append(report)
    return found


def read_placed_loads(
    session: ReadSession, host_ids: Sequence[int], start: datetime, end: datetime
) -> dict[int, list[Placed]]:
    """Sampled loads of all services on hosts in the intervals of (start, end], by tier; -1 stands for not sampled."""
    older, newer = split_rows(session, start, end)
    found = {} if older is None else _packed_loads(session, host_ids, *older)
    if newer is None:
        return found
    statement = text(
        "SELECT h.host_id, extract(epoch FROM h.ts)::float8 AS end_s,"
        " sum(l.loads) FILTER (WHERE NOT l.tier = ANY(:fast))::float8 AS slow, sum(l.loads)::float8 AS known"
        " FROM heat_live h, unnest(h.load_samples, h.tiers) AS l (loads, tier)"
        " WHERE h.host_id = ANY(:hosts) AND h.ts > :start AND h.ts <= :end AND h.load_samples IS NOT NULL"
        " AND l.tier <> '' AND l.loads >= 0 GROUP BY h.host_id, h.ts ORDER BY h.host_id, h.ts"
    )
    values = {"hosts": list(host_ids), "start": newer[0], "end": newer[1], "fast": sorted(FAST_TIERS)}
    for row in session.execute(statement, values):
        found.setdefault(row.host_id, []).append(Placed(row.end_s, row.slow or 0.0, row.known))
    return found


def _packed_loads(
    session: ReadSession, host_ids: Sequence[int], start: datetime, end: datetime
) -> dict[int, list[Placed]]:
    sums: dict[tuple[int, int], tuple[float, float]] = {}
    for host_id, _, columns in read_older_columns(session, host_ids, (start, end), ("load_samples",)):
        loads = columns.values["load_samples"]
        if loads is None:
            continue
        known = (loads >= 0) & np.array([tier != "" for tier in columns.tiers], bool)
        slow = known & np.array([tier not in FAST_TIERS for tier in columns.tiers], bool)
        for place in np.flatnonzero(known.any(axis=1)).tolist():
            key = (host_id, int(columns.ends_us[place]))
            before = sums.get(key, (0.0, 0.0))
            added = float(loads[place, slow[place]].sum()), float(loads[place, known[place]].sum())
            sums[key] = (before[0] + added[0], before[1] + added[1])
    found: dict[int, list[Placed]] = {}
    for (host_id, end_us), (slow, total) in sorted(sums.items()):
        found.setdefault(host_id, []).append(Placed(end_us / 1e6, slow, total))
    return found


@dataclass(frozen=True, slots=True)
class SubjectHostRow:
    """A host that rules may be about."""

    id: int
    public_id: str
    name: str
    origin: Origin
    labels: dict[str, str]
    enrolled_at: datetime
    held_seconds: int


@dataclass(frozen=True, slots=True)
class SubjectServiceRow:
    """A service that rules may be about, with its hosts."""

    id: int
    public_id: str
    namespace: str
    name: str
    origin: Origin
    first_seen_at: datetime
    host_ids: tuple[int, ...]
    team: str | None  # the name of the team that owns it


def read_subject_hosts(session: ReadSession) -> list[SubjectHostRow]:
    """All hosts that have sent something and are neither retired nor revoked."""
    statement = text(
        "SELECT id, public_id, name, origin, labels || fixed_labels AS labels, enrolled_at, held_seconds FROM hosts"
        " WHERE retired_at IS NULL AND revoked_at IS NULL AND last_end_at IS NOT NULL ORDER BY id"
    )
    return [SubjectHostRow(*row) for row in session.execute(statement)]


def read_subject_services(session: ReadSession) -> list[SubjectServiceRow]:
    """All services, with the hosts that they were found on."""
    statement = text(
        "SELECT s.id, s.public_id, s.namespace, s.name, s.origin, s.first_seen_at,"
        " array_agg(h.host_id ORDER BY h.host_id) AS host_ids, max(t.name) AS team FROM services s"
        " JOIN host_services h ON h.service_id = s.id LEFT JOIN teams t ON t.id = s.owner_team_id"
        " GROUP BY s.id ORDER BY s.id"
    )
    rows = session.execute(statement).mappings()
    return [SubjectServiceRow(**(dict(row) | {"host_ids": tuple(row["host_ids"])})) for row in rows]
