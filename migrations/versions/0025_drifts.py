"""Keeps where each host is furthest from its peers, by hour."""

from alembic import op

from tierscope.storage import tables
from tierscope.storage.base.ddl import add_missing_columns, drop_columns

revision = "0025"
down_revision = "0024"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Adds the column, null in the rows of before."""
    add_missing_columns(op.get_bind(), tables.fleet_sketches, ("drifts",))


def downgrade() -> None:
    """Drops it."""
    drop_columns(op.get_bind(), tables.fleet_sketches, ("drifts",))
