"""Series and samples that come by Prometheus remote write."""

from alembic import op
from sqlalchemy import text

from tierscope.core.database import WriteTransaction
from tierscope.storage.base.ddl import make_missing_table
from tierscope.storage.base.partitions import storage_mode
from tierscope.storage.tables.samples import SAMPLE_TABLES

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Adds the tables."""
    connection = op.get_bind()
    mode = storage_mode(WriteTransaction(connection))
    for table in SAMPLE_TABLES:
        make_missing_table(connection, table, mode)


def downgrade() -> None:
    """Drops the tables with all samples, and the work that waits for them."""
    connection = op.get_bind()
    for table in reversed(SAMPLE_TABLES):
        connection.execute(text(f'DROP TABLE IF EXISTS "{table.name}"'))
    connection.execute(text("DELETE FROM marks WHERE kind IN ('samples', 'samples_pack')"))
