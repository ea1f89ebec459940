"""What workers did, for /metrics: runs of tasks and buckets that were rebuilt, counted since the schema has it."""

from alembic import op
from sqlalchemy import text

from tierscope.core.database import WriteTransaction
from tierscope.storage.base.ddl import make_missing_table
from tierscope.storage.base.partitions import storage_mode
from tierscope.storage.tables.telemetry import TELEMETRY

revision = "0019"
down_revision = "0018"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Adds the tables."""
    connection = op.get_bind()
    mode = storage_mode(WriteTransaction(connection))
    for table in TELEMETRY:
        make_missing_table(connection, table, mode)


def downgrade() -> None:
    """Removes them with their counts."""
    connection = op.get_bind()
    for table in TELEMETRY:
        connection.execute(text(f'DROP TABLE IF EXISTS "{table.name}"'))
