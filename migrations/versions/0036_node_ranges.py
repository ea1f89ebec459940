"""Lets hosts move between the servers of a fleet: which numbers are where, and which hosts are on their way."""

from alembic import op
from sqlalchemy import text

from tierscope.storage import tables
from tierscope.storage.base.ddl import add_missing_columns, drop_columns, make_missing_table

revision = "0036"
down_revision = "0035"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Adds the list and the columns; nodes that are there hold the numbers that they give."""
    connection = op.get_bind()
    make_missing_table(connection, tables.node_ranges, "native")
    add_missing_columns(connection, tables.nodes, ("draining", "cut"))
    add_missing_columns(connection, tables.hosts, ("moving_until",))
    connection.execute(
        text("INSERT INTO node_ranges (first, node) SELECT number * (1::bigint << 40), number FROM nodes")
    )


def downgrade() -> None:
    """Drops them."""
    connection = op.get_bind()
    drop_columns(connection, tables.hosts, ("moving_until",))
    drop_columns(connection, tables.nodes, ("draining", "cut"))
    connection.execute(text("DROP TABLE IF EXISTS node_ranges"))
