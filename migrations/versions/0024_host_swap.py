"""Keeps what hosts swapped in their newest hour, and their page size."""

from alembic import op

from tierscope.storage import tables
from tierscope.storage.base.ddl import add_missing_columns, drop_columns

revision = "0024"
down_revision = "0023"
branch_labels = None
depends_on = None

_ADDED = (
    *(f"{name}_{part}" for name in ("swap_in", "swap_out") for part in ("total", "seconds", "intervals")),
    "page_bytes",
)


def upgrade() -> None:
    """Adds the columns: nothing is known until a worker has summed up the host again."""
    add_missing_columns(op.get_bind(), tables.host_recent, _ADDED)


def downgrade() -> None:
    """Drops them."""
    drop_columns(op.get_bind(), tables.host_recent, _ADDED)
