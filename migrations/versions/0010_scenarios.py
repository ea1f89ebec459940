"""Scenarios of cost and the price book."""

from alembic import op

from tierscope.core.database import WriteTransaction
from tierscope.storage.base.ddl import drop_tables, make_missing_table
from tierscope.storage.base.partitions import storage_mode
from tierscope.storage.tables.scenarios import SCENARIOS

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Adds the tables."""
    connection = op.get_bind()
    mode = storage_mode(WriteTransaction(connection))
    for table in SCENARIOS:
        make_missing_table(connection, table, mode)


def downgrade() -> None:
    """Drops the tables."""
    drop_tables(op.get_bind(), SCENARIOS)
