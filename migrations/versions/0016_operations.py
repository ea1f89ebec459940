"""Where labels of hosts come from, what arrived hour by hour, releases of agents, and jobs that remove data."""

from alembic import op
from sqlalchemy import text

from tierscope.core.database import WriteTransaction
from tierscope.storage import tables
from tierscope.storage.base.ddl import add_missing_columns, make_missing_table
from tierscope.storage.base.partitions import storage_mode

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None

LABELS = ("kubernetes_labels", "agent_labels", "set_labels")
VERSIONS = ("agent_version_since", "refused_protocol", "refused_protocol_at", "interval_seconds")


def upgrade() -> None:
    """Labels of before are the agents' own, except for those that a join token fixed."""
    connection = op.get_bind()
    mode = storage_mode(WriteTransaction(connection))
    add_missing_columns(connection, tables.hosts, (*LABELS, *VERSIONS))
    for table in (*tables.OPERATIONS, tables.quality_1h):
        make_missing_table(connection, table, mode)
    connection.execute(
        text(
            "UPDATE hosts SET agent_labels = labels - coalesce("
            "(SELECT array_agg(key) FROM jsonb_object_keys(fixed_labels) AS key), '{}') WHERE agent_labels = '{}'"
        )
    )
    connection.execute(
        text(
            "INSERT INTO installation (key, value) VALUES ('quality_since', to_char(now() AT TIME ZONE 'UTC',"
            ' \'YYYY-MM-DD"T"HH24:MI:SS"Z"\')) ON CONFLICT (key) DO NOTHING'
        )
    )


def downgrade() -> None:
    """Hosts keep the labels that are in force."""
    connection = op.get_bind()
    for table in (*tables.OPERATIONS, tables.quality_1h):
        connection.execute(text(f'DROP TABLE IF EXISTS "{table.name}"'))
    for column in (*LABELS, *VERSIONS):
        connection.execute(text(f'ALTER TABLE hosts DROP COLUMN IF EXISTS "{column}"'))
    connection.execute(text("DELETE FROM installation WHERE key = 'quality_since'"))
