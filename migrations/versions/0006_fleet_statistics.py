"""Statistics over many hosts, and the seed of experiments whose arms were drawn at random."""

from alembic import op

from tierscope.core.database import WriteTransaction
from tierscope.storage import tables
from tierscope.storage.making import add_missing_columns, make_missing_table
from tierscope.storage.partitions import storage_mode

revision = "0006"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Adds the tables and the column."""
    connection = op.get_bind()
    mode = storage_mode(WriteTransaction(connection))
    add_missing_columns(connection, tables.experiments, ("seed",))
    for table in (tables.fleet_groups, tables.fleet_changes, tables.service_features, tables.fleet_sketches):
        make_missing_table(connection, table, mode)
