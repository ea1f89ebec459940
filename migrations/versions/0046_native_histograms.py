"""Notes when native histograms of a series of Prometheus came last."""

from alembic import op
from sqlalchemy.schema import CreateIndex

from tierscope.storage import tables
from tierscope.storage.base.ddl import add_missing_columns, drop_columns

revision = "0046"
down_revision = "0045"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Adds the time and its index; no series that is there has one."""
    connection = op.get_bind()
    add_missing_columns(connection, tables.sample_series, ("histograms_at",))
    (index,) = (one for one in tables.sample_series.indexes if "histograms_at" in one.columns)
    connection.execute(CreateIndex(index, if_not_exists=True))


def downgrade() -> None:
    """Drops them."""
    drop_columns(op.get_bind(), tables.sample_series, ("histograms_at",))
