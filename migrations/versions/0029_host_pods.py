"""Keeps the pods of hosts that are nodes of a Kubernetes cluster."""

from alembic import op

from tierscope.core.database import WriteTransaction
from tierscope.storage import tables
from tierscope.storage.base.ddl import add_missing_columns, drop_columns, drop_tables, make_missing_table
from tierscope.storage.base.partitions import storage_mode

revision = "0029"
down_revision = "0028"
branch_labels = None
depends_on = None

_ADDED = ("pods_at", "pods_left_out", "pods_unavailable")


def upgrade() -> None:
    """Adds the table, and what hosts say of it."""
    connection = op.get_bind()
    make_missing_table(connection, tables.host_pods, storage_mode(WriteTransaction(connection)))
    add_missing_columns(connection, tables.hosts, _ADDED)


def downgrade() -> None:
    """Drops them."""
    connection = op.get_bind()
    drop_columns(connection, tables.hosts, _ADDED)
    drop_tables(connection, [tables.host_pods])
