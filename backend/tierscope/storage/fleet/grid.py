"""One short row of every host, for a view that shows them all."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import text

from tierscope.core.database import ReadSession
from tierscope.domain.base.figures import Origin
from tierscope.domain.base.vocabulary import Severity
from tierscope.domain.fleet.host_facts import HostState


@dataclass(frozen=True, slots=True)
class GridRow:
    """A host. `services` are (id, name) by name; None where no worker has summed the host up, or nobody says."""

    host_id: int
    public_id: str
    name: str
    origin: Origin
    state: HostState
    labels: dict[str, str]
    services: tuple[tuple[int, str], ...]
    kernel: str | None
    memory_bytes: int | None
    verdict: str
    tiering_off: bool | None
    psi_memory_some_ratio: float | None
    finding_severity: Severity | None


def read_grid(session: ReadSession, *, late: datetime, silent: datetime, since: datetime, limit: int) -> list[GridRow]:
    """Hosts that are neither retired nor revoked, the largest first. Verdicts and pressure end after `since`."""
    statement = text(
        "SELECT h.id AS host_id, h.public_id, h.name, h.origin, h.labels, r.kernel, r.memory_bytes, r.tiering_off,"
        " CASE WHEN h.last_seen_at IS NULL OR h.last_seen_at < :silent THEN 'silent'"
        " WHEN h.last_seen_at < :late THEN 'late' ELSE 'reporting' END AS state,"
        " CASE WHEN r.ended_at > :since THEN r.verdict ELSE 'not_known' END AS verdict,"
        " CASE WHEN r.ended_at > :since AND r.psi_seconds > 0"
        " THEN least(greatest(r.psi_total / r.psi_seconds * 1e-6, 0), 1) END AS psi_memory_some_ratio,"
        " (SELECT f.severity FROM findings f WHERE f.host_id = h.id AND f.until IS NULL AND f.severity <> 'info'"
        "  ORDER BY f.severity LIMIT 1) AS finding_severity,"
        " ARRAY(SELECT s.id FROM host_services hs JOIN services s ON s.id = hs.service_id WHERE hs.host_id = h.id"
        "  ORDER BY s.name, s.id) AS service_ids,"
        " ARRAY(SELECT s.name FROM host_services hs JOIN services s ON s.id = hs.service_id WHERE hs.host_id = h.id"
        "  ORDER BY s.name, s.id) AS service_names"
        " FROM hosts h LEFT JOIN host_recent r ON r.host_id = h.id WHERE h.revoked_at IS NULL AND h.retired_at IS NULL"
        " ORDER BY r.memory_bytes DESC NULLS LAST, h.name, h.id LIMIT :limit"
    )
    values = {"late": late, "silent": silent, "since": since, "limit": limit}
    found = []
    for row in session.execute(statement, values).mappings():
        fields = dict(row)
        pairs = zip(fields.pop("service_ids"), fields.pop("service_names"), strict=True)
        found.append(GridRow(**fields, services=tuple(pairs)))
    return found
