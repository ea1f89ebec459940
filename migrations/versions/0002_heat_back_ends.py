"""Heat of single pages: sampling errors, written bytes, sub-pages and page samples; the agents' budgets and pauses."""

from alembic import op

from tierscope.core.database import WriteTransaction
from tierscope.storage import tables
from tierscope.storage.base.ddl import add_missing_columns, drop_columns, drop_tables, make_missing_table
from tierscope.storage.base.partitions import storage_mode

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

ROW_COLUMNS = ("sampled_pages", "written_bytes", "subpage_active_bytes", "bits_per_interval")
BESIDE_HEAT = ("sampled_pages", "written_bytes", "written_of_bytes", "huge_active_bytes", "huge_subpage_bytes")
BUDGET = ("budget_state", "heat_rung", "budget_reason")
LOSSES = ("guard_paused_intervals", "samples_taken", "samples_lost", "throttles")


def upgrade() -> None:
    """Adds columns, null in the rows of before, and tables."""
    connection = op.get_bind()
    add_missing_columns(connection, tables.heat_live, ROW_COLUMNS)
    add_missing_columns(connection, tables.heat_1h, BESIDE_HEAT)
    add_missing_columns(connection, tables.heat_1d, BESIDE_HEAT)
    add_missing_columns(connection, tables.self_reports, (*BUDGET, *LOSSES))
    mode = storage_mode(WriteTransaction(connection))
    for table in (tables.traces, tables.pauses):
        make_missing_table(connection, table, mode)


def downgrade() -> None:
    """Drops the columns and the tables."""
    connection = op.get_bind()
    drop_tables(connection, (tables.traces, tables.pauses))
    drop_columns(connection, tables.self_reports, (*BUDGET, *LOSSES))
    for table in (tables.heat_1d, tables.heat_1h):
        drop_columns(connection, table, BESIDE_HEAT)
    drop_columns(connection, tables.heat_live, ROW_COLUMNS)
