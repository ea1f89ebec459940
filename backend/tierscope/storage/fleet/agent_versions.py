"""Which release the agent of each host is."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import text

from tierscope.core.database import ReadSession, WriteTransaction
from tierscope.storage.fleet.agents import HostIdentity

_LIVING = "revoked_at IS NULL AND retired_at IS NULL"


@dataclass(frozen=True, slots=True)
class VersionRow:
    """A release and the hosts that run it; `version` None where a host has sent nothing yet."""

    version: str | None
    hosts: int
    first_seen: datetime | None
    last_seen: datetime | None


@dataclass(frozen=True, slots=True)
class HostVersionRow:
    """The release of one host's agent. A protocol is named where the newest batch of the host was refused for it."""

    number: int
    host_id: str
    name: str
    version: str | None
    since: datetime | None
    last_seen: datetime | None
    refused_protocol: int | None
    refused_at: datetime | None


def list_versions(session: ReadSession) -> list[VersionRow]:
    """Releases in use by hosts that are not retired."""
    statement = text(
        "SELECT agent_version AS version, count(*) AS hosts, min(agent_version_since) AS first_seen,"  # noqa: S608
        f" max(last_seen_at) AS last_seen FROM hosts WHERE {_LIVING} GROUP BY agent_version"
    )
    return [VersionRow(**row) for row in session.execute(statement).mappings()]


def list_host_versions(
    session: ReadSession, *, versions: list[str | None] | None, after: tuple[str, int] | None, limit: int
) -> list[HostVersionRow]:
    """Hosts by name; `versions` None = all, None within it = hosts that have sent nothing."""
    wanted = [_LIVING]
    values: dict[str, object] = {"limit": limit}
    if versions is not None:
        named = [version for version in versions if version is not None]
        wanted.append("(agent_version = ANY(:versions)" + (" OR agent_version IS NULL)" if None in versions else ")"))
        values["versions"] = named
    if after is not None:
        wanted.append("(name, id) > (:name, :id)")
        values |= {"name": after[0], "id": after[1]}
    statement = text(
        "SELECT id AS number, public_id AS host_id, name, agent_version AS version, agent_version_since AS since,"  # noqa: S608
        " last_seen_at AS last_seen, refused_protocol, refused_protocol_at AS refused_at FROM hosts"
        f" WHERE {' AND '.join(wanted)} ORDER BY name, id LIMIT :limit"
    )
    return [HostVersionRow(**row) for row in session.execute(statement, values).mappings()]


def count_refused(session: ReadSession) -> int:
    """Hosts whose newest batch could not be read."""
    statement = text(f"SELECT count(*) FROM hosts WHERE refused_protocol IS NOT NULL AND {_LIVING}")  # noqa: S608
    return int(session.execute(statement).scalar_one())


def note_refused(transaction: WriteTransaction, host: HostIdentity, *, protocol: int, now: datetime) -> None:
    """Note that a host sends what this release cannot read; its next stored batch takes that back."""
    statement = text(
        "UPDATE hosts SET refused_protocol = :protocol, refused_protocol_at = :now"
        " WHERE id = :host AND public_id = :public_id"
    )
    values = {"host": host.id, "public_id": host.public_id, "protocol": protocol, "now": now}
    transaction.execute(statement, values)
