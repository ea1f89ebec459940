"""What has one number on all servers of a fleet: services, layouts of counters, trusts of ledgers.

The coordinator gives the number, in a transaction that commits before the one that uses it; the row is copied to each
server whose own rows refer to it. What is numbered and never used does no harm.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from psycopg import sql
from psycopg.types.json import Jsonb
from sqlalchemy import Table
from sqlalchemy.dialects.postgresql import JSONB

from tierscope.core.database import ReadSession, WriteTransaction


@contextmanager
def numbering(transaction: WriteTransaction) -> Iterator[WriteTransaction]:
    """Yields the transaction that gives numbers: one of the coordinator, or the caller's own where it is on that."""
    if transaction.coordinator is None:
        yield transaction
    else:
        with transaction.coordinator.write() as giving:
            yield giving


def copy_rows(source: ReadSession, target: WriteTransaction, table: Table, ids: Iterable[int]) -> None:
    """Copies rows to another server under their numbers; those that are there stay as they are."""
    wanted = sorted(set(ids))
    if source is target or not wanted:
        return
    # Who owns a service is known to the coordinator alone.
    columns = [column for column in table.c if column.name != "owner_team_id"]
    documents = [place for place, column in enumerate(columns) if isinstance(column.type, JSONB)]
    listed = sql.SQL(", ").join(sql.Identifier(column.name) for column in columns)
    name = sql.Identifier(table.name)
    rows = source.driver.execute(
        sql.SQL("SELECT {} FROM {} WHERE id = ANY(%s) ORDER BY id").format(listed, name), (wanted,), binary=True
    ).fetchall()
    values = sql.SQL(", ").join(sql.Placeholder() * len(columns))
    with target.driver.cursor() as cursor:
        cursor.executemany(
            sql.SQL("INSERT INTO {} ({}) OVERRIDING SYSTEM VALUE VALUES ({}) ON CONFLICT DO NOTHING").format(
                name, listed, values
            ),
            [[Jsonb(cell) if place in documents else cell for place, cell in enumerate(row)] for row in rows],
        )
