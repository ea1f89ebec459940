"""Labels given to hosts, and jobs that remove data."""

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Changes nothing."""


def downgrade() -> None:
    """Changes nothing."""
