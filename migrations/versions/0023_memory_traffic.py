"""Keeps bytes at fast and slow memory and sampled loads beside tier moves.

A host without a verdict says `not_known`.
"""

from alembic import op
from sqlalchemy import text

from tierscope.storage import tables
from tierscope.storage.base.ddl import add_missing_columns, drop_columns

revision = "0023"
down_revision = "0022"
branch_labels = None
depends_on = None

_ADDED = ("fast_traffic_bytes", "slow_traffic_bytes", "fast_loads", "slow_loads")
_RENAME = text("UPDATE host_recent SET verdict = :after WHERE verdict = :before")


def upgrade() -> None:
    """Adds the columns, null in the rows of before, and renames the word."""
    connection = op.get_bind()
    add_missing_columns(connection, tables.tier_moves, _ADDED)
    connection.execute(_RENAME, {"before": "not_enough_data", "after": "not_known"})


def downgrade() -> None:
    """Drops them, and takes the word back."""
    connection = op.get_bind()
    connection.execute(_RENAME, {"before": "not_known", "after": "not_enough_data"})
    drop_columns(connection, tables.tier_moves, _ADDED)
