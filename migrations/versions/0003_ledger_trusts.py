"""The ledger names the counters behind its columns by id: the text of 2.6 kB was in every row."""

from alembic import op
from sqlalchemy import text

from tierscope.core.database import WriteTransaction
from tierscope.storage import tables
from tierscope.storage.base.ddl import add_missing_columns, drop_columns, drop_tables, make_missing_table
from tierscope.storage.base.partitions import storage_mode

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Adds the table and the reference; rows that hold the text keep it until they leave with their partition."""
    connection = op.get_bind()
    make_missing_table(connection, tables.ledger_trusts, storage_mode(WriteTransaction(connection)))
    add_missing_columns(connection, tables.tier_moves, ("trust_id",))
    connection.execute(text("ALTER TABLE tier_moves ALTER COLUMN trust DROP NOT NULL"))


def downgrade() -> None:
    """Writes the text back into every row of the ledger, which takes time and room, and drops the table."""
    connection = op.get_bind()
    connection.execute(
        text(
            "UPDATE tier_moves SET trust = coalesce((SELECT body FROM ledger_trusts WHERE id = tier_moves.trust_id),"
            " '{}') WHERE trust IS NULL"
        )
    )
    connection.execute(text("ALTER TABLE tier_moves ALTER COLUMN trust SET NOT NULL"))
    drop_columns(connection, tables.tier_moves, ("trust_id",))
    drop_tables(connection, (tables.ledger_trusts,))
