"""Keeps what DAMON's schemes moved in the newest hour of each host."""

from alembic import op

from tierscope.storage import tables
from tierscope.storage.base.ddl import add_missing_columns, drop_columns

revision = "0030"
down_revision = "0029"
branch_labels = None
depends_on = None

_ADDED = tuple(
    f"{name}_{part}" for name in ("damon_promoted", "damon_demoted") for part in ("total", "seconds", "intervals")
)


def upgrade() -> None:
    """Adds the columns: nothing is known until a worker has summed up the host again."""
    add_missing_columns(op.get_bind(), tables.host_recent, _ADDED)


def downgrade() -> None:
    """Drops them."""
    drop_columns(op.get_bind(), tables.host_recent, _ADDED)
