"""Keeps how long hosts hold samples back by their plan, and until when they send each minute."""

from alembic import op

from tierscope.storage import tables
from tierscope.storage.base.ddl import add_missing_columns, drop_columns

revision = "0033"
down_revision = "0032"
branch_labels = None
depends_on = None

_OF_HOSTS = ("held_seconds", "closely_until")
_OF_SERVICES = ("closely_until",)


def upgrade() -> None:
    """Adds the columns."""
    connection = op.get_bind()
    add_missing_columns(connection, tables.hosts, _OF_HOSTS)
    add_missing_columns(connection, tables.services, _OF_SERVICES)


def downgrade() -> None:
    """Drops them."""
    connection = op.get_bind()
    drop_columns(connection, tables.services, _OF_SERVICES)
    drop_columns(connection, tables.hosts, _OF_HOSTS)
