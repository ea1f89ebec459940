"""The ledger holds how many pages reclaim looked at and passed over, and how many huge entries the scanner armed."""

from alembic import op

from tierscope.storage import tables
from tierscope.storage.base.ddl import add_missing_columns, drop_columns

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

_ADDED = ("reclaim_scanned_pages", "reclaim_passed_over_pages", "huge_pte_updates")


def upgrade() -> None:
    """Rows stored before have no value there; they get one when their day is built again."""
    add_missing_columns(op.get_bind(), tables.tier_moves, _ADDED)


def downgrade() -> None:
    """Drops the columns."""
    drop_columns(op.get_bind(), tables.tier_moves, _ADDED)
