"""Keeps who sends the counters of hosts that no agent reports, beside their newest hour."""

from alembic import op

from tierscope.storage import tables
from tierscope.storage.base.ddl import add_missing_columns, drop_columns

revision = "0037"
down_revision = "0036"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Adds the column; workers fill it with the next row of each host."""
    add_missing_columns(op.get_bind(), tables.host_recent, ("senders",))


def downgrade() -> None:
    """Drops it."""
    drop_columns(op.get_bind(), tables.host_recent, ("senders",))
