"""One short row of every host, for a view that shows them all."""

from dataclasses import asdict, dataclass

from sqlalchemy import text

from tierscope.core.database import ReadSession
from tierscope.domain.base.figures import Origin
from tierscope.domain.base.vocabulary import Severity
from tierscope.domain.fleet.host_facts import HostState
from tierscope.storage.fleet.reporting import IN_SERVICE, STATE, Limits


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


def read_grid(session: ReadSession, limits: Limits, *, limit: int) -> list[GridRow]:
    """Hosts that are neither retired nor revoked, the largest first."""
    statement = text(
        "SELECT h.id AS host_id, h.public_id, h.name, h.origin, h.labels, r.kernel, r.memory_bytes, r.tiering_off,"  # noqa: S608
        f" {STATE} AS state,"
        " CASE WHEN r.ended_at > :since THEN r.verdict ELSE 'not_known' END AS verdict,"
        " CASE WHEN r.ended_at > :since AND r.psi_seconds > 0"
        " THEN least(greatest(r.psi_total / r.psi_seconds * 1e-6, 0), 1) END AS psi_memory_some_ratio,"
        " (SELECT f.severity FROM findings f WHERE f.host_id = h.id AND f.until IS NULL AND f.severity <> 'info'"
        "  ORDER BY f.severity LIMIT 1) AS finding_severity,"
        " ARRAY(SELECT jsonb_build_array(s.id, s.name) FROM host_services hs JOIN services s ON s.id = hs.service_id"
        "  WHERE hs.host_id = h.id ORDER BY s.name, s.id) AS services"
        f" FROM hosts h LEFT JOIN host_recent r ON r.host_id = h.id WHERE {IN_SERVICE}"
        " ORDER BY r.memory_bytes DESC NULLS LAST, h.name, h.id LIMIT :limit"
    )
    rows = session.execute(statement, asdict(limits) | {"limit": limit}).mappings()
    return [GridRow(**{**row, "services": tuple((number, name) for number, name in row["services"])}) for row in rows]
