"""Finds the layouts that hold a counter without reading the rows of any host."""

from alembic import op
from sqlalchemy import text

revision = "0020"
down_revision = "0019"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Adds the index."""
    op.get_bind().execute(text("CREATE INDEX IF NOT EXISTS ix_layouts_keys ON layouts USING gin (keys)"))


def downgrade() -> None:
    """Removes it."""
    op.get_bind().execute(text("DROP INDEX IF EXISTS ix_layouts_keys"))
