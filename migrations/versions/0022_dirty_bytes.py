"""Keeps how much of the memory of services is dirty, with the memory of which that is known."""

from alembic import op

from tierscope.storage import tables
from tierscope.storage.base.ddl import add_missing_columns, drop_columns

revision = "0022"
down_revision = "0021"
branch_labels = None
depends_on = None

SUMS = ("dirty_bytes", "dirty_of_bytes")


def upgrade() -> None:
    """Adds the columns, null in the rows of before."""
    connection = op.get_bind()
    add_missing_columns(connection, tables.heat_live, ("dirty_bytes",))
    for table in (tables.heat_1h, tables.heat_1d):
        add_missing_columns(connection, table, SUMS)


def downgrade() -> None:
    """Drops them."""
    connection = op.get_bind()
    for table in (tables.heat_1d, tables.heat_1h):
        drop_columns(connection, table, SUMS)
    drop_columns(connection, tables.heat_live, ("dirty_bytes",))
