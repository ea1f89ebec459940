"""Keeps names for addresses of the dashboard."""

from alembic import op

from tierscope.core.database import WriteTransaction
from tierscope.storage.base.ddl import drop_tables, make_missing_table
from tierscope.storage.base.partitions import storage_mode
from tierscope.storage.tables import saved_views

revision = "0026"
down_revision = "0025"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Adds the table."""
    connection = op.get_bind()
    make_missing_table(connection, saved_views, storage_mode(WriteTransaction(connection)))


def downgrade() -> None:
    """Drops the table."""
    drop_tables(op.get_bind(), [saved_views])
