"""What a plan for the whole fleet is made from: open advice on settings, and the settings of all hosts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import text

from tierscope.core.database import ReadSession
from tierscope.domain.base.figures import Origin


@dataclass(frozen=True, slots=True)
class OpenAdvice:
    """One piece of open advice on a host's settings. `answer` is the advice as it was made, without its files."""

    public_id: str
    host_id: int
    host_public_id: str
    host_name: str
    origin: Origin
    stake_bytes: float | None
    refreshed_at: datetime
    answer: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class HostSettings:
    """What the newest inventory of a host says of its settings; `knobs` as the agent sent them."""

    host_id: int
    public_id: str
    name: str
    in_service: bool
    kernel_release: str | None
    knobs: tuple[Mapping[str, Any], ...]


def list_open_knob_advice(session: ReadSession) -> list[OpenAdvice]:
    """Open advice on settings to hosts that are in service, the oldest first."""
    statement = text(
        "SELECT a.public_id, h.id AS host_id, h.public_id AS host_public_id, h.name AS host_name, h.origin,"
        " a.stake_bytes::float8 AS stake_bytes, a.refreshed_at, coalesce(a.body->'answer', '{}') - 'files' AS answer"
        " FROM advice a JOIN hosts h ON h.id = a.host_id"
        " WHERE a.kind = 'knob' AND a.status = 'open' AND h.retired_at IS NULL AND h.revoked_at IS NULL ORDER BY a.id"
    )
    return [OpenAdvice(**row) for row in session.execute(statement).mappings()]


def read_settings(session: ReadSession, host_ids: Sequence[int] | None = None) -> dict[int, HostSettings]:
    """The settings of these hosts, or of all, by host; none for a host without an inventory."""
    statement = text(
        "SELECT h.id AS host_id, h.public_id, h.name, h.retired_at IS NULL AND h.revoked_at IS NULL AS in_service,"
        " i.body->>'kernel_release' AS kernel_release, coalesce(i.body->'knobs', '[]') AS knobs"
        " FROM hosts h CROSS JOIN LATERAL (SELECT body FROM inventory i WHERE i.host_id = h.id"
        "  ORDER BY at DESC LIMIT 1) i"
        " WHERE CAST(:ids AS bigint[]) IS NULL OR h.id = ANY(CAST(:ids AS bigint[])) ORDER BY h.name, h.id"
    )
    rows = session.execute(statement, {"ids": None if host_ids is None else list(host_ids)}).mappings()
    return {row["host_id"]: HostSettings(**{**row, "knobs": tuple(row["knobs"])}) for row in rows}


def services_of_hosts(session: ReadSession) -> dict[int, list[tuple[str, str]]]:
    """Ids and names of the services found on each host, by host."""
    statement = text(
        "SELECT x.host_id, s.public_id, s.namespace || '/' || s.name AS name FROM host_services x"
        " JOIN services s ON s.id = x.service_id ORDER BY x.host_id, name"
    )
    found: dict[int, list[tuple[str, str]]] = {}
    for row in session.execute(statement):
        found.setdefault(int(row.host_id), []).append((str(row.public_id), str(row.name)))
    return found
