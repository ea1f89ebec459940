"""Packs rolled-up counters of closed days as blocks."""

from alembic import op
from sqlalchemy import text

from tierscope.core.database import WriteTransaction
from tierscope.storage.base.ddl import make_kind_table
from tierscope.storage.base.partitions import storage_mode

revision = "0034"
down_revision = "0033"
branch_labels = None
depends_on = None

_BLOCKS = ("metrics_10m_days", "metrics_1h_days", "metrics_1d_months")
_MARK = (
    "INSERT INTO marks (kind, subject_id, service_id, bucket) SELECT DISTINCT '{kind}', host_id, 0,"
    " date_bin('{width}', ts, 'epoch') FROM {table}"
)


def upgrade() -> None:
    """Adds their tables, and marks all that is stored to be packed."""
    connection = op.get_bind()
    mode = storage_mode(WriteTransaction(connection))
    for name in _BLOCKS:
        make_kind_table(connection, name, mode)
    for kind, width, table in (
        ("metrics_pack", "1 day", "metrics_10m"),
        ("metrics_pack", "1 day", "metrics_1h"),
        ("metrics_1d_pack", "30 days", "metrics_1d"),
    ):
        connection.execute(text(_MARK.format(kind=kind, width=width, table=table)))


def downgrade() -> None:
    """Drops them: what is packed goes."""
    connection = op.get_bind()
    connection.execute(text("DELETE FROM marks WHERE kind IN ('metrics_pack', 'metrics_1d_pack')"))
    for name in _BLOCKS:
        connection.execute(text(f"DROP TABLE IF EXISTS {name}"))
