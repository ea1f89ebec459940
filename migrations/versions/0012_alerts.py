"""Alert rules, their states and history, and the packed minutes that backtests read."""

from alembic import op
from sqlalchemy import text

from tierscope.core.database import WriteTransaction
from tierscope.storage.base.ddl import drop_tables, make_kind_table, make_missing_table
from tierscope.storage.base.partitions import storage_mode
from tierscope.storage.tables.alerts import ALERTS

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Adds the tables."""
    connection = op.get_bind()
    mode = storage_mode(WriteTransaction(connection))
    for table in ALERTS:
        make_missing_table(connection, table, mode)
    make_kind_table(connection, "rule_days", mode)


def downgrade() -> None:
    """Drops the tables, and the work that waits for them."""
    connection = op.get_bind()
    drop_tables(connection, ALERTS)
    connection.execute(text("DROP TABLE IF EXISTS rule_days"))
    connection.execute(text("DELETE FROM marks WHERE kind = 'rule_days'"))
