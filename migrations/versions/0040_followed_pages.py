"""Keeps what agents saw of pages that they follow between tiers, beside tier moves."""

from dataclasses import replace

from alembic import op
from sqlalchemy import text

from tierscope.storage import tables
from tierscope.storage.base.ddl import add_missing_columns, drop_columns, make_view
from tierscope.storage.tables.views import SCHEMA, VIEWS

revision = "0040"
down_revision = "0039"
branch_labels = None
depends_on = None

_ADDED = ("followed_promotions", "followed_promotions_squared", "followed_round_trips", "followed_unsure")
_VIEW = next(view for view in VIEWS if view.name == "host_tier_moves")


def upgrade() -> None:
    """Adds the columns, null in the rows of before, to the table and to its view."""
    add_missing_columns(op.get_bind(), tables.tier_moves, _ADDED)
    make_view(op.get_bind(), _VIEW)


def downgrade() -> None:
    """Drops them."""
    op.get_bind().execute(text(f"DROP VIEW IF EXISTS {SCHEMA}.{_VIEW.name}"))
    drop_columns(op.get_bind(), tables.tier_moves, _ADDED)
    kept = tuple(column for column in _VIEW.columns if column.name not in _ADDED)
    make_view(op.get_bind(), replace(_VIEW, columns=kept))
