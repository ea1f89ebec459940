"""Lists the days that are published as files for other engines."""

from alembic import op
from sqlalchemy import text

from tierscope.storage import tables
from tierscope.storage.base.ddl import make_missing_table

revision = "0042"
down_revision = "0041"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Adds the table, which workers fill where days are published."""
    make_missing_table(op.get_bind(), tables.history_files, "native")


def downgrade() -> None:
    """Drops it. The files stay."""
    op.get_bind().execute(text("DROP TABLE IF EXISTS history_files"))
