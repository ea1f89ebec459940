"""What a load does to the database: how far roll-ups lag, and how large the tables of measurements are."""

from datetime import datetime

from sqlalchemy import text

from tierscope.core.database import ReadSession


def newest_enrolment(session: ReadSession) -> datetime | None:
    """When the newest host enrolled; None where there is none."""
    return session.execute(text("SELECT max(enrolled_at) FROM hosts")).scalar_one()  # type: ignore[no-any-return]


def newest_ledger_ends(
    session: ReadSession, since: datetime, enrolled_after: datetime | None = None
) -> list[tuple[datetime, datetime]]:
    """For each host that sent a sample after `since`: the ends of its newest sample and of its newest ledger row.

    Only of hosts that enrolled after a moment, where one is given.
    """
    statement = text(
        "SELECT h.last_end_at, coalesce(r.ended_at, h.enrolled_at) AS ended_at FROM hosts h"
        " LEFT JOIN host_recent r ON r.host_id = h.id WHERE h.last_end_at > :since AND h.last_seen_at > :since"
        " AND (CAST(:after AS timestamptz) IS NULL OR h.enrolled_at > :after)"
    )
    rows = session.execute(statement, {"since": since, "after": enrolled_after})
    return [(row.last_end_at, row.ended_at) for row in rows]


def table_bytes(session: ReadSession, tables: list[str]) -> dict[str, int]:
    """Bytes of tables with their partitions or chunks, indexes and TOAST, dead rows included."""
    statement = text(
        "SELECT root.relname AS name, sum(pg_total_relation_size(part.oid))::bigint AS bytes FROM pg_class root"
        " CROSS JOIN LATERAL (SELECT root.oid UNION ALL SELECT inhrelid FROM pg_inherits WHERE inhparent = root.oid)"
        " AS part (oid) WHERE root.relname = ANY(:tables) AND root.relnamespace = 'public'::regnamespace GROUP BY 1"
    )
    return {row.name: row.bytes for row in session.execute(statement, {"tables": tables})}


def local_backend(session: ReadSession) -> int | None:
    """The pid of the server process of this session, where it is reached through a socket file: on this machine."""
    row = session.execute(text("SELECT pg_backend_pid() AS pid, inet_server_addr() IS NULL AS here")).one()
    return int(row.pid) if row.here else None
