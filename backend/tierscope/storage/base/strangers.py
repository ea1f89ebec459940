"""What roles may do in this database that only read it: docs/howto/sql.md makes them. They cannot stop the product."""

from dataclasses import dataclass
from datetime import datetime

import psycopg
from psycopg import sql
from sqlalchemy import text

from tierscope.core.database import ReadSession

_FUNCTIONS = (
    "SELECT p.oid::regprocedure::text FROM pg_proc p WHERE p.pronamespace = 'pg_catalog'::regnamespace"
    " AND p.proname ~ '^(pg_(try_)?advisory_|lo_(creat|create|from_bytea|put)$|lowrite$|pg_logical_emit_message$)'"
    " AND has_function_privilege('public', p.oid, 'EXECUTE')"
    " AND (SELECT rolsuper FROM pg_roles WHERE rolname = current_user)"
)
"""Locks of the product's names, and what fills its disk: large objects, and messages in the write-ahead
log, which a role that only reads may write. They belong to who made the cluster."""
_TEMPORARY = (
    "SELECT current_database() FROM pg_database WHERE datname = current_database()"
    " AND pg_has_role(current_user, datdba, 'USAGE') AND has_database_privilege('public', oid, 'TEMPORARY')"
)


@dataclass(frozen=True, slots=True)
class Holder:
    """A role that is not ours and holds a lock: since when its transaction runs, None where we may not know."""

    role: str
    pid: int
    advisory: bool
    since: datetime | None


def close_to_strangers(connection: "psycopg.Connection[tuple[object, ...]]") -> None:
    """Takes from all but our own role, as far as that may, what holds it up or fills its disk."""
    with connection.cursor() as cursor:
        for (name,) in cursor.execute(_FUNCTIONS).fetchall():
            function = sql.SQL(str(name))  # as PostgreSQL itself writes it
            cursor.execute(sql.SQL("REVOKE EXECUTE ON FUNCTION pg_catalog.{} FROM PUBLIC").format(function))
            cursor.execute(sql.SQL("GRANT EXECUTE ON FUNCTION pg_catalog.{} TO CURRENT_USER").format(function))
        for (name,) in cursor.execute(_TEMPORARY).fetchall():
            cursor.execute(sql.SQL("REVOKE TEMPORARY ON DATABASE {} FROM PUBLIC").format(sql.Identifier(str(name))))


def read_holders(session: ReadSession, before: datetime) -> list[Holder]:
    """Other roles that hold advisory locks here, or tables of ours in a transaction that began before that time."""
    statement = text(
        "SELECT a.usename, a.pid, bool_or(l.locktype = 'advisory') AS advisory, min(a.xact_start) AS since"
        " FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid"
        " WHERE l.granted AND a.datname = current_database() AND a.usename <> current_user"
        " AND NOT pg_has_role(a.usename, current_user, 'USAGE')"
        " AND (l.locktype = 'advisory' OR (l.locktype = 'relation' AND a.xact_start < :before"
        "  AND l.relation IN (SELECT oid FROM pg_class WHERE relnamespace = 'public'::regnamespace)))"
        " GROUP BY a.usename, a.pid ORDER BY a.pid"
    )
    return [
        Holder(str(row.usename), int(row.pid), bool(row.advisory), row.since)
        for row in session.execute(statement, {"before": before})
    ]
