"""Makes views for tools that speak SQL, in a schema of their own."""

from alembic import op
from sqlalchemy import text

from tierscope.storage.base.ddl import make_view
from tierscope.storage.tables.views import SCHEMA, VIEWS

revision = "0028"
down_revision = "0027"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Makes the views."""
    for view in VIEWS:
        make_view(op.get_bind(), view)


def downgrade() -> None:
    """Drops them, and with them who may read them."""
    op.get_bind().execute(text(f"DROP SCHEMA IF EXISTS {SCHEMA} CASCADE"))
