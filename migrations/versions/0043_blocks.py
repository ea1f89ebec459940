"""Brings the blocks of all kinds into one table, each of them a partition of it."""

from alembic import op
from sqlalchemy import Connection, inspect, text

from tierscope.core.database import WriteTransaction
from tierscope.storage.base.ddl import make_kind_table, make_table
from tierscope.storage.base.partitions import ensure_partitions, storage_mode
from tierscope.storage.tables import TIME_TABLES, blocks

revision = "0043"
down_revision = "0042"
branch_labels = None
depends_on = None

_KINDS = ("metrics_10m_days", "metrics_1h_days", "metrics_1d_months", "tier_move_days", "rule_days", "gap_days")
_COLUMNS = "host_id, service_id, ts, layout_id, n, offsets, body"


def upgrade() -> None:
    """Makes it. Native tables become its partitions as they are; the rows of hypertables are copied."""
    connection = op.get_bind()
    if inspect(connection).has_table("blocks"):
        return
    mode = storage_mode(WriteTransaction(connection))
    for kind in _KINDS:
        if mode == "native":
            # Without a look at the rows: all of them have the default.
            connection.execute(text(f"ALTER TABLE {kind} ADD COLUMN kind text NOT NULL DEFAULT '{kind}'"))
        else:
            connection.execute(text(f"ALTER TABLE {kind} RENAME TO {kind}_before"))
    make_table(connection, blocks, mode)
    for kind in _KINDS:
        if mode == "native":
            connection.execute(text(f"ALTER TABLE blocks ATTACH PARTITION {kind} FOR VALUES IN ('{kind}')"))
            continue
        first, last = connection.execute(text(f"SELECT min(ts), max(ts) FROM {kind}_before")).one()  # noqa: S608
        if first is not None:
            entries = [entry for entry in TIME_TABLES if entry.name == kind]
            ensure_partitions(WriteTransaction(connection), first, last, entries)
        _move(connection, kind)


def downgrade() -> None:
    """Drops it: its partitions are tables of their own again."""
    connection = op.get_bind()
    mode = storage_mode(WriteTransaction(connection))
    for kind in _KINDS:
        connection.execute(text(f"ALTER TABLE blocks DETACH PARTITION {kind}"))
        if mode == "native":
            connection.execute(text(f"ALTER TABLE {kind} DROP COLUMN kind"))
        else:
            connection.execute(text(f"ALTER TABLE {kind} RENAME TO {kind}_before"))
            make_kind_table(connection, kind, mode)
            _move(connection, kind)
    connection.execute(text("DROP TABLE blocks"))


def _move(connection: Connection, kind: str) -> None:
    """Copy the rows of a table to the one of the other form."""
    connection.execute(text(f"INSERT INTO {kind} ({_COLUMNS}) SELECT {_COLUMNS} FROM {kind}_before"))  # noqa: S608
    connection.execute(text(f"DROP TABLE {kind}_before"))
