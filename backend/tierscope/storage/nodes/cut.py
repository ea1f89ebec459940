"""Snapshots of all servers of a fleet that belong together.

A batch, and all that an own session writes, is one transaction on one server: any snapshot has it wholly or not at all.
What goes to several servers goes through the coordinator's tables of the fleet, so that a lock on those holds it off.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from psycopg import sql

from tierscope.core.database import FLEET_SCHEMA, WriteTransaction, libpq_url, translated
from tierscope.storage.nodes.placement import KEYS

FENCE_SECONDS = 3
"""So long the fence waits for a transaction that writes; who waits behind it waits no longer."""
_OF_ALL = ("nodes", "purges", "services")
"""Tables of the coordinator whose rows belong to rows of nodes."""


def hold_writes(transaction: WriteTransaction) -> None:
    """Waits for the end of writes that go to several servers, and holds off others until the transaction ends.

    Batches of known services, and everything that is read, go on.

    Raises:
        Unavailable: another transaction writes for longer than `FENCE_SECONDS`.
    """
    run = transaction.driver.execute
    run(sql.SQL("SET LOCAL lock_timeout = {}").format(sql.Literal(f"{FENCE_SECONDS}s")))
    tables = [sql.Identifier(FLEET_SCHEMA, table.name) for table in KEYS]
    tables += [sql.Identifier("public", name) for name in _OF_ALL]
    names = sql.SQL(", ").join(sql.SQL("ONLY {}").format(table) for table in tables)
    run(sql.SQL("LOCK TABLE {} IN SHARE MODE").format(names))


def be_awaited(transaction: WriteTransaction) -> None:
    """Lets a cut wait until this transaction of the coordinator ends: one on another server belongs to it."""
    transaction.driver.execute("LOCK TABLE public.nodes IN ROW EXCLUSIVE MODE")


class OpenSnapshot:
    """A transaction on one server, which sees one moment once `take` was called."""

    def __init__(self, connection: psycopg.Connection[tuple[str]]) -> None:
        self._connection = connection

    def take(self) -> str:
        """Takes the snapshot; the name under which others of that server may use it while this one is open."""
        row = self._connection.execute("SELECT pg_export_snapshot()").fetchone()
        return "" if row is None else str(row[0])


@contextmanager
def open_snapshot(url: str) -> Iterator[OpenSnapshot]:
    """Connects to a server, so that a snapshot of it can be taken at once.

    Raises:
        Unavailable: the server cannot be reached.
    """
    with translated(), psycopg.connect(libpq_url(url), connect_timeout=5) as connection:
        connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        connection.read_only = True
        try:
            yield OpenSnapshot(connection)
        finally:
            connection.rollback()
