"""Heat and tier moves of whole services by the hour; the newest hour of each host; page sizes in sums of hosts."""

from alembic import op
from sqlalchemy import text

from tierscope.core.database import WriteTransaction
from tierscope.storage import tables
from tierscope.storage.base.ddl import add_missing_columns, drop_columns, drop_tables, make_missing_table
from tierscope.storage.base.partitions import storage_mode

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

MADE = (tables.service_heat_1h, tables.service_heat_1d, tables.service_moves_1h, tables.host_recent)
GATHERED = (("service_heat_1h", "heat_1h"), ("service_heat_1d", "heat_1d"))


def upgrade() -> None:
    """Adds the tables, and asks the workers to fill them from what is stored."""
    connection = op.get_bind()
    mode = storage_mode(WriteTransaction(connection))
    for table in (tables.heat_1h, tables.heat_1d):
        add_missing_columns(connection, table, ("page_sizes",))
    for table in MADE:
        make_missing_table(connection, table, mode)
    for kind, source in GATHERED:
        connection.execute(
            text(
                "INSERT INTO marks (kind, subject_id, service_id, bucket)"  # noqa: S608 - names of our own
                f" SELECT DISTINCT :kind, 0, service_id, ts FROM {source}"
            ),
            {"kind": kind},
        )
    connection.execute(
        text(
            "INSERT INTO marks (kind, subject_id, service_id, bucket)"
            " SELECT 'service_moves_1h', 0, s.service_id, hour"
            " FROM (SELECT DISTINCT service_id FROM host_services) AS s,"
            " (SELECT date_trunc('hour', min(ts)) AS first, max(ts) AS last FROM tier_moves) AS span,"
            " generate_series(span.first, span.last, interval '1 hour') AS hour"
        )
    )


def downgrade() -> None:
    """Drops the tables and columns, and the work that waits for them."""
    connection = op.get_bind()
    drop_tables(connection, MADE)
    for table in (tables.heat_1h, tables.heat_1d):
        drop_columns(connection, table, ("page_sizes",))
    kinds = ["service_heat_1h", "service_heat_1d", "service_moves_1h"]
    connection.execute(text("DELETE FROM marks WHERE kind = ANY(:kinds)"), {"kinds": kinds})
