"""Keeps what ratio advice rests on, as workers read it ahead of the question."""

from alembic import op
from sqlalchemy import text

from tierscope.storage import tables
from tierscope.storage.base.ddl import make_missing_table

revision = "0041"
down_revision = "0040"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Adds the table, which workers fill."""
    make_missing_table(op.get_bind(), tables.ratio_inputs, "native")


def downgrade() -> None:
    """Drops it."""
    op.get_bind().execute(text("DROP TABLE IF EXISTS ratio_inputs"))
