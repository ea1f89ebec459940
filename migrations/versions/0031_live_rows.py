"""Live rows that are packed leave after hours: their partitions get six hours, and packs one row per layout."""

from dataclasses import replace
from datetime import timedelta

from alembic import op
from sqlalchemy import Connection, text

from tierscope.core.clock import utc_now
from tierscope.core.database import WriteTransaction
from tierscope.storage.base.live_rows import PACKED_TABLES
from tierscope.storage.base.partitions import (
    Span,
    chunk_spans,
    drop_chunk,
    ensure_partitions,
    partition_start,
    storage_mode,
)

revision = "0031"
down_revision = "0030"
branch_labels = None
depends_on = None

_DAY = timedelta(days=1)
_SEVERAL = (
    "INSERT INTO marks (kind, subject_id, service_id, bucket) SELECT DISTINCT 'counters_pack', p.host_id, 0, p.ts"
    " FROM counters_packed p WHERE p.host_id IN"
    " (SELECT host_id FROM host_layouts GROUP BY host_id HAVING count(*) > 1)"
)


def upgrade() -> None:
    """Drops the empty partitions of days that are to come, and packs hours again that may hold several layouts.

    Days that have rows stay as they are until they are dropped.
    """
    connection = op.get_bind()
    transaction = WriteTransaction(connection)
    if storage_mode(transaction) == "native":
        for entry in PACKED_TABLES:
            for span in chunk_spans(transaction, entry):
                if span[0] > utc_now() and span[1] - span[0] == _DAY and not _holds(connection, entry.table.name, span):
                    drop_chunk(transaction, entry, span)
    connection.execute(text(_SEVERAL))


def downgrade() -> None:
    """Joins partitions of hours to days, because earlier releases know no others; what has left stays in packs."""
    connection = op.get_bind()
    transaction = WriteTransaction(connection)
    if storage_mode(transaction) == "native":
        for entry in PACKED_TABLES:
            table = entry.table.name
            spans = [span for span in chunk_spans(transaction, entry) if span[1] - span[0] < _DAY]
            connection.execute(text(f'CREATE TEMPORARY TABLE kept AS SELECT * FROM "{table}" LIMIT 0'))  # noqa: S608
            for start, end in spans:
                values = {"start": start, "end": end}
                rows = f'SELECT * FROM "{table}" WHERE ts >= :start AND ts < :end'  # noqa: S608
                connection.execute(text(f"INSERT INTO kept {rows}"), values)
                drop_chunk(transaction, entry, (start, end))
            days = replace(entry, chunk_days=1)
            for start in sorted({partition_start(start, _DAY) for start, _ in spans}):
                ensure_partitions(transaction, start, start, [days])
            connection.execute(text(f'INSERT INTO "{table}" SELECT * FROM kept'))  # noqa: S608
            connection.execute(text("DROP TABLE kept"))
    connection.execute(text("DELETE FROM installation WHERE key IN ('counters_live_from', 'heat_live_from')"))


def _holds(connection: Connection, table: str, span: Span) -> bool:
    statement = text(f'SELECT EXISTS (SELECT FROM "{table}" WHERE ts >= :start AND ts < :end)')  # noqa: S608
    return bool(connection.execute(statement, {"start": span[0], "end": span[1]}).scalar_one())
