"""Notes when samples of a series of Prometheus came last."""

from alembic import op

from tierscope.storage import tables
from tierscope.storage.base.ddl import add_missing_columns, drop_columns

revision = "0045"
down_revision = "0044"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Adds the time; that of series that are there is now."""
    add_missing_columns(op.get_bind(), tables.sample_series, ("last_seen_at",))


def downgrade() -> None:
    """Drops it."""
    drop_columns(op.get_bind(), tables.sample_series, ("last_seen_at",))
