"""Makes views for tools that speak SQL, in a schema of their own."""

from alembic import op
from sqlalchemy import text

from tierscope.storage import tables
from tierscope.storage.base.ddl import add_missing_columns, make_view
from tierscope.storage.tables.views import SCHEMA, VIEWS

revision = "0028"
down_revision = "0027"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Makes the views, over columns of later revisions too: they are those of this release."""
    add_missing_columns(op.get_bind(), tables.tier_moves, tables.TIER_MOVE_COLUMNS)
    for view in VIEWS:
        make_view(op.get_bind(), view)


def downgrade() -> None:
    """Drops them, and with them who may read them."""
    op.get_bind().execute(text(f"DROP SCHEMA IF EXISTS {SCHEMA} CASCADE"))
