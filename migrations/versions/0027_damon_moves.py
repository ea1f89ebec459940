"""Keeps what DAMON's schemes moved and reclaimed beside the tier moves of others."""

from alembic import op

from tierscope.storage import tables
from tierscope.storage.base.ddl import add_missing_columns, drop_columns

revision = "0027"
down_revision = "0026"
branch_labels = None
depends_on = None

_ADDED = ("damon_promoted_bytes", "damon_demoted_bytes", "damon_paged_out_bytes")


def upgrade() -> None:
    """Adds the columns, null in the rows of before."""
    add_missing_columns(op.get_bind(), tables.tier_moves, _ADDED)


def downgrade() -> None:
    """Drops them."""
    drop_columns(op.get_bind(), tables.tier_moves, _ADDED)
