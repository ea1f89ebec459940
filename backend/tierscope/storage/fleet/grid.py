"""One short row of every host, for a view that shows them all."""

from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import get_args

from sqlalchemy import TextClause, text

from tierscope.core.database import ReadSession
from tierscope.domain.base.figures import Origin
from tierscope.domain.base.vocabulary import Severity
from tierscope.domain.fleet.host_facts import HostState
from tierscope.domain.ledger.words import Word
from tierscope.storage.fleet.reporting import IN_SERVICE, STATE, Limits

_WHO = "h.id AS host_id, h.public_id, h.name, h.origin, h.labels, r.kernel, r.memory_bytes"
_SERVICES = (
    "ARRAY(SELECT jsonb_build_array(s.id, s.name) FROM host_services hs JOIN services s ON s.id = hs.service_id"
    " WHERE hs.host_id = h.id ORDER BY s.name, s.id) AS services"
)
_LARGEST = " ORDER BY r.memory_bytes DESC NULLS LAST, h.name, h.id LIMIT :limit"


def _finding(holds: str) -> str:
    """The gravest severity of a host's findings that hold; notes are none."""
    return (
        f"(SELECT f.severity FROM findings f WHERE f.host_id = h.id AND {holds} AND f.severity <> 'info'"  # noqa: S608
        " ORDER BY f.severity LIMIT 1) AS finding_severity"
    )


@dataclass(frozen=True, slots=True)
class GridRow:
    """A host. `services` are (id, name) by name; None where no worker has summed the host up, or nobody says.

    `state` is None at a moment of the past from which the host has no rows.
    """

    host_id: int
    public_id: str
    name: str
    origin: Origin
    state: HostState | None
    labels: dict[str, str]
    services: tuple[tuple[int, str], ...]
    kernel: str | None
    memory_bytes: int | None
    verdict: str
    tiering_off: bool | None
    psi_memory_some_ratio: float | None
    finding_severity: Severity | None


def read_grid(session: ReadSession, limits: Limits, *, limit: int) -> list[GridRow]:
    """Hosts that are neither retired nor revoked, the largest first."""
    statement = text(
        f"SELECT {_WHO}, r.tiering_off, {STATE} AS state,"  # noqa: S608
        " CASE WHEN r.ended_at > :since THEN r.verdict ELSE 'not_known' END AS verdict,"
        " CASE WHEN r.ended_at > :since AND r.psi_seconds > 0"
        " THEN least(greatest(r.psi_total / r.psi_seconds * 1e-6, 0), 1) END AS psi_memory_some_ratio,"
        f" {_finding('f.until IS NULL')}, {_SERVICES}"
        f" FROM hosts h LEFT JOIN host_recent r ON r.host_id = h.id WHERE {IN_SERVICE}{_LARGEST}"
    )
    return _rows(session, statement, asdict(limits) | {"limit": limit})


def read_grid_at(session: ReadSession, at: datetime, *, span: timedelta, limit: int) -> list[GridRow]:
    """The same hosts as they were at a moment of the past, by the rows of rules of (at - span, at].

    Hosts that were not enrolled yet and have no rows are left out. Size, kernel and services are those of now;
    `tiering_off` is None.
    """
    statement = text(
        f"SELECT {_WHO}, NULL::boolean AS tiering_off,"  # noqa: S608 - texts of our own
        " CASE WHEN m.host_id IS NOT NULL THEN 'reporting' END AS state,"
        " coalesce((CAST(:words AS text[]))[m.verdict::int + 1], 'not_known') AS verdict,"
        " CASE WHEN m.psi_us_per_s IS NOT NULL THEN least(greatest(m.psi_us_per_s * 1e-6, 0), 1) END"
        " AS psi_memory_some_ratio,"
        f" {_finding('f.since <= :at AND (f.until IS NULL OR f.until > :at)')}, {_SERVICES}"
        " FROM hosts h LEFT JOIN host_recent r ON r.host_id = h.id LEFT JOIN ("
        "  SELECT host_id, (array_agg(verdict ORDER BY ts DESC))[1] AS verdict,"
        "   sum(psi_us) / nullif(sum(dt_seconds) FILTER (WHERE psi_us IS NOT NULL), 0) AS psi_us_per_s"
        "  FROM (SELECT i.host_id, i.ts, i.dt_seconds,"
        "   nullif(i.vals[array_position(l.keys, 'verdict')], 'NaN') AS verdict,"
        "   nullif(i.vals[array_position(l.keys, 'psi_some_us')], 'NaN') AS psi_us"
        "   FROM rule_inputs i JOIN layouts l ON l.id = i.layout_id"
        "   WHERE i.service_id = 0 AND i.host_id > 0 AND i.ts > :since AND i.ts <= :at) AS one GROUP BY host_id"
        f" ) AS m ON m.host_id = h.id WHERE {IN_SERVICE} AND (h.enrolled_at <= :at OR m.host_id IS NOT NULL){_LARGEST}"
    )
    values = {"at": at, "since": at - span, "words": list(get_args(Word)), "limit": limit}
    return _rows(session, statement, values)


def _rows(session: ReadSession, statement: TextClause, values: dict[str, object]) -> list[GridRow]:
    rows = session.execute(statement, values).mappings()
    return [GridRow(**{**row, "services": tuple((number, name) for number, name in row["services"])}) for row in rows]
