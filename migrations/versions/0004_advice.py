"""Advice, owners' measurements of slowdown, and experiments with their hosts."""

from alembic import op

from tierscope.core.database import WriteTransaction
from tierscope.storage import tables
from tierscope.storage.base.ddl import drop_tables, make_missing_table
from tierscope.storage.base.partitions import storage_mode

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

MADE = (tables.advice, tables.slowdown_points, tables.experiments, tables.experiment_hosts)


def upgrade() -> None:
    """Adds the tables."""
    connection = op.get_bind()
    mode = storage_mode(WriteTransaction(connection))
    for table in MADE:
        make_missing_table(connection, table, mode)


def downgrade() -> None:
    """Drops the tables."""
    drop_tables(op.get_bind(), MADE)
