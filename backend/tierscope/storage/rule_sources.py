"""What goes into the minutes of rules besides counters: reports of agents, sampled loads by tier, forecasts."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import text

from tierscope.core.database import ReadSession
from tierscope.domain.alerts.inputs import Placed, Report
from tierscope.domain.heat.placement import FAST_TIERS


def read_reports(session: ReadSession, host_id: int, start: datetime, end: datetime) -> list[Report]:
    """Reports of the host's agent that ended in (start, end]."""
    statement = text(
        "SELECT extract(epoch FROM ts)::float8 AS end_s, budget_state, samples_taken, samples_lost, spool_batches"
        " FROM self_reports WHERE host_id = :host AND ts > :start AND ts <= :end ORDER BY ts"
    )
    rows = session.execute(statement, {"host": host_id, "start": start, "end": end})
    return [Report(row.end_s, row.budget_state, row.samples_taken, row.samples_lost, row.spool_batches) for row in rows]


def read_placed_loads(session: ReadSession, host_id: int, start: datetime, end: datetime) -> list[Placed]:
    """Sampled loads of all services on a host in the intervals of (start, end], by tier; -1 stands for not sampled."""
    statement = text(
        "SELECT extract(epoch FROM h.ts)::float8 AS end_s,"
        " sum(l.loads) FILTER (WHERE NOT l.tier = ANY(:fast))::float8 AS slow, sum(l.loads)::float8 AS known"
        " FROM heat_live h, unnest(h.load_samples, h.tiers) AS l (loads, tier)"
        " WHERE h.host_id = :host AND h.ts > :start AND h.ts <= :end AND h.load_samples IS NOT NULL"
        " AND l.tier <> '' AND l.loads >= 0 GROUP BY h.ts ORDER BY h.ts"
    )
    values = {"host": host_id, "start": start, "end": end, "fast": sorted(FAST_TIERS)}
    return [Placed(row.end_s, row.slow or 0.0, row.known) for row in session.execute(statement, values)]


@dataclass(frozen=True, slots=True)
class SubjectHostRow:
    """A host that rules may be about."""

    id: int
    public_id: str
    name: str
    origin: str
    labels: dict[str, str]
    enrolled_at: datetime


@dataclass(frozen=True, slots=True)
class SubjectServiceRow:
    """A service that rules may be about, with its hosts."""

    id: int
    public_id: str
    namespace: str
    name: str
    origin: str
    first_seen_at: datetime
    host_ids: tuple[int, ...]


def read_subject_hosts(session: ReadSession) -> list[SubjectHostRow]:
    """All hosts that have sent something and are neither retired nor revoked."""
    statement = text(
        "SELECT id, public_id, name, origin, labels || fixed_labels AS labels, enrolled_at FROM hosts"
        " WHERE retired_at IS NULL AND revoked_at IS NULL AND last_end_at IS NOT NULL ORDER BY id"
    )
    return [SubjectHostRow(**row) for row in session.execute(statement).mappings()]


def read_subject_services(session: ReadSession) -> list[SubjectServiceRow]:
    """All services, with the hosts that they were found on."""
    statement = text(
        "SELECT s.id, s.public_id, s.namespace, s.name, s.origin, s.first_seen_at,"
        " array_agg(h.host_id ORDER BY h.host_id) AS host_ids FROM services s"
        " JOIN host_services h ON h.service_id = s.id GROUP BY s.id ORDER BY s.id"
    )
    rows = session.execute(statement).mappings()
    return [SubjectServiceRow(**(dict(row) | {"host_ids": tuple(row["host_ids"])})) for row in rows]
