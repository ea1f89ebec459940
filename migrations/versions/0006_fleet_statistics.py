"""Statistics over many hosts, and the seed of experiments whose arms were drawn at random."""

from alembic import op

from tierscope.core.database import WriteTransaction
from tierscope.storage import tables
from tierscope.storage.base.ddl import add_missing_columns, drop_columns, drop_tables, make_missing_table
from tierscope.storage.base.partitions import storage_mode

revision = "0006"
down_revision = "0004"
branch_labels = None
depends_on = None

MADE = (tables.fleet_groups, tables.fleet_changes, tables.service_features, tables.fleet_sketches)


def upgrade() -> None:
    """Adds the tables and the column."""
    connection = op.get_bind()
    mode = storage_mode(WriteTransaction(connection))
    add_missing_columns(connection, tables.experiments, ("seed",))
    for table in MADE:
        make_missing_table(connection, table, mode)


def downgrade() -> None:
    """Drops the tables and the column."""
    connection = op.get_bind()
    drop_tables(connection, MADE)
    drop_columns(connection, tables.experiments, ("seed",))
