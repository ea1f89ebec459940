"""Keeps when a task failed last: a sum of failures does not say whether the newest run did."""

from alembic import op
from sqlalchemy import text

revision = "0021"
down_revision = "0020"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Adds the column."""
    op.get_bind().execute(text("ALTER TABLE task_runs ADD COLUMN IF NOT EXISTS failed_at timestamptz"))


def downgrade() -> None:
    """Removes it."""
    op.get_bind().execute(text("ALTER TABLE task_runs DROP COLUMN IF EXISTS failed_at"))
