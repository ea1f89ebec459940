"""All hosts of the installation together: how many report, what they have, and those with most problems."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import text

from tierscope.core.database import ReadSession
from tierscope.domain.ledger.figures import RateSum
from tierscope.storage.fleet.recent import parse_rates, rate_cells

_HOSTS = (
    "SELECT h.id, h.name, h.origin, h.last_seen_at, r.host_id IS NOT NULL AS summed, r.memory_bytes, r.one_tier,"
    " r.tiering_off, CASE WHEN r.ended_at > :since THEN r.verdict ELSE 'not_known' END AS verdict,"
    " r.started_at, r.ended_at, r.broken, f.weight, f.critical,"
    " CASE WHEN h.last_seen_at IS NULL OR h.last_seen_at < :silent THEN 'silent'"
    " WHEN h.last_seen_at < :late THEN 'late' ELSE 'reporting' END AS state"
    " FROM hosts h LEFT JOIN host_recent r ON r.host_id = h.id LEFT JOIN (SELECT host_id, sum(coalesce("
    "CAST(CAST(:weights AS jsonb)->>severity AS integer), 0)) AS weight, bool_or(severity = 'critical') AS critical"
    " FROM findings WHERE until IS NULL GROUP BY host_id) f ON f.host_id = h.id"
    " WHERE h.revoked_at IS NULL AND h.retired_at IS NULL"
)


@dataclass(frozen=True, slots=True)
class Limits:
    """Moments before which a host is late or silent, and since when ledger rows count."""

    late: datetime
    silent: datetime
    since: datetime


@dataclass(frozen=True, slots=True)
class Problems:
    """How grave problems are: findings by severity, and the verdicts that call for someone."""

    findings: Mapping[str, int]
    silent: int
    late: int
    verdict: int
    bad_verdicts: Sequence[str]


@dataclass(frozen=True, slots=True)
class FleetHosts:
    """What hosts add up to, of those that a worker has summed up. `states` leave imported hosts out.

    `n_hosts` and `states` count all hosts; the others are without `n_others` hosts that no worker has summed up yet.
    """

    n_hosts: int
    n_others: int
    simulated: bool
    states: dict[str, int]
    memory_bytes: int | None
    n_memory: int
    one_tier: bool
    n_tiering_off: int
    n_grave: int
    rates: tuple[RateSum, ...]


def sum_hosts(session: ReadSession, limits: Limits, problems: Problems) -> FleetHosts:
    """All hosts that are neither retired nor revoked, in one statement each for facts and rates."""
    facts = text(
        "SELECT count(*), count(*) FILTER (WHERE NOT summed), coalesce(bool_or(origin = 'simulated'), false),"  # noqa: S608
        " count(*) FILTER (WHERE origin <> 'import' AND state = 'reporting'),"
        " count(*) FILTER (WHERE origin <> 'import' AND state = 'late'),"
        " count(*) FILTER (WHERE origin <> 'import' AND state = 'silent'),"
        " sum(memory_bytes)::bigint, count(memory_bytes), coalesce(bool_and(one_tier) FILTER (WHERE summed), true),"
        " count(*) FILTER (WHERE tiering_off),"
        " count(*) FILTER (WHERE summed AND (verdict = ANY(:bad) OR coalesce(critical, false)))"
        f" FROM ({_HOSTS}) AS hosts"
    )
    row = session.execute(facts, _values(limits, problems)).one()
    rates = text(
        "SELECT count(*) FILTER (WHERE r.ended_at > :since),"  # noqa: S608 - names of our own
        " coalesce(bool_or(r.broken) FILTER (WHERE r.ended_at > :since), false),"
        f" {', '.join(rate_cells())} FROM hosts h JOIN host_recent r ON r.host_id = h.id"
        " WHERE h.revoked_at IS NULL AND h.retired_at IS NULL"
    )
    n_newest, broken, *cells = session.execute(rates, {"since": limits.since}).one()
    return FleetHosts(
        n_hosts=row[0],
        n_others=row[1],
        simulated=row[2],
        states={"reporting": row[3], "late": row[4], "silent": row[5]},
        memory_bytes=row[6],
        n_memory=row[7],
        one_tier=row[8],
        n_tiering_off=row[9],
        n_grave=row[10],
        rates=parse_rates(cells, n_newest, broken=broken),
    )


def worst_hosts(session: ReadSession, limits: Limits, problems: Problems, *, limit: int) -> list[tuple[int, int]]:
    """(host, weight) of those with any problem, the most severe first, then by name."""
    statement = text(
        "SELECT id, weight FROM (SELECT id, name, coalesce(weight, 0)"  # noqa: S608 - a statement of our own
        " + CASE WHEN verdict = ANY(:bad) THEN :verdict ELSE 0 END"
        " + CASE WHEN state = 'silent' AND origin <> 'import' THEN :is_silent WHEN state = 'late' THEN :is_late"
        f" ELSE 0 END AS weight FROM ({_HOSTS}) AS hosts WHERE summed) AS weighed"
        " WHERE weight > 0 ORDER BY weight DESC, name, id LIMIT :limit"
    )
    values = {
        "verdict": problems.verdict,
        "is_silent": problems.silent,
        "is_late": problems.late,
        "limit": limit,
    }
    rows = session.execute(statement, _values(limits, problems) | values)
    return [(int(row.id), int(row.weight)) for row in rows]


def _values(limits: Limits, problems: Problems) -> dict[str, object]:
    weights = "{" + ", ".join(f'"{name}": {int(weight)}' for name, weight in problems.findings.items()) + "}"
    return {
        "late": limits.late,
        "silent": limits.silent,
        "since": limits.since,
        "weights": weights,
        "bad": list(problems.bad_verdicts),
    }
