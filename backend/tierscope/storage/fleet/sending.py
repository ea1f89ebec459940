"""How long hosts hold samples back before they send, and which of them are looked at closely."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from sqlalchemy import text

from tierscope.core.database import ReadSession, WriteTransaction
from tierscope.storage.base.subjects import IN_SERVICE
from tierscope.storage.fleet.agents import HostIdentity

SubjectKind = Literal["host", "service"]
_SENDING = f"{IN_SERVICE} AND h.origin <> 'import'"
_CLOSELY = text(
    # In the order in which ingest locks hosts. One that is locked is left for the next time.
    "UPDATE hosts SET closely_until = :until WHERE id IN (SELECT id FROM hosts WHERE id = ANY(:ids)"
    " AND (closely_until IS NULL OR closely_until < :rewrite_before) ORDER BY id FOR NO KEY UPDATE SKIP LOCKED)"
)
_LOOKED_AT = {
    "host": text("UPDATE hosts SET closely_until = greatest(closely_until, :until) WHERE public_id = :id"),
    "service": text("UPDATE services SET closely_until = greatest(closely_until, :until) WHERE public_id = :id"),
}


@dataclass(frozen=True, slots=True)
class SendingHosts:
    """`hosts`: how many send by themselves. `closely`: those looked at closely. `held_seconds`: of hosts that hold."""

    hosts: int
    closely: frozenset[int]
    held_seconds: dict[int, int]


def read_sending(session: ReadSession, *, seen_after: datetime, now: datetime) -> SendingHosts:
    """Hosts in service that were seen since; a host is looked at closely with each service that was seen on it."""
    statement = text(
        "SELECT h.id, h.held_seconds, h.closely_until > :now OR h.id IN ("  # noqa: S608 - words of our own
        "SELECT hs.host_id FROM host_services hs JOIN services s ON s.id = hs.service_id"
        " WHERE s.closely_until > :now AND hs.last_seen_at > :after) AS closely"
        f" FROM hosts h WHERE {_SENDING} AND h.last_seen_at > :after"
    )
    rows = session.execute(statement, {"after": seen_after, "now": now}).all()
    return SendingHosts(
        hosts=len(rows),
        closely=frozenset(row.id for row in rows if row.closely),
        held_seconds={row.id: row.held_seconds for row in rows if row.held_seconds},
    )


def longest_held_seconds(session: ReadSession) -> int:
    """The longest that a host in service holds samples back; 0 where all send each minute."""
    statement = text(f"SELECT coalesce(max(h.held_seconds), 0) FROM hosts h WHERE {_SENDING}")  # noqa: S608
    return int(session.execute(statement).scalar_one())


def read_held_seconds(session: ReadSession, host_ids: Sequence[int]) -> dict[int, int]:
    """Of these hosts those that hold samples back, and how long."""
    statement = text("SELECT id, held_seconds FROM hosts WHERE id = ANY(:ids) AND held_seconds > 0")
    return {row.id: row.held_seconds for row in session.execute(statement, {"ids": list(host_ids)})}


def write_held_seconds(transaction: WriteTransaction, host: HostIdentity, seconds: int) -> None:
    """Note how long a host holds samples back from now on."""
    statement = text(
        "UPDATE hosts SET held_seconds = :seconds"
        " WHERE id = :id AND public_id = :public_id AND held_seconds <> :seconds"
    )
    transaction.execute(statement, {"id": host.id, "public_id": host.public_id, "seconds": seconds})


def look_closely(
    transaction: WriteTransaction, host_ids: Sequence[int], *, until: datetime, rewrite_before: datetime
) -> None:
    """Let hosts send each minute until then; those that do until `rewrite_before` or later are left alone."""
    if host_ids:
        values = {"ids": sorted(host_ids), "until": until, "rewrite_before": rewrite_before}
        transaction.execute(_CLOSELY, values)


def note_looked_at(transaction: WriteTransaction, kind: SubjectKind, public_id: str, *, until: datetime) -> None:
    """Let a host, or the hosts of a service, send each minute until then. Nothing happens where there is none."""
    transaction.execute(_LOOKED_AT[kind], {"id": public_id, "until": until})
