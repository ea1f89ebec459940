"""Series and samples that come by Prometheus remote write."""

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Changes nothing."""


def downgrade() -> None:
    """Changes nothing."""
