"""Users, teams and owners of services."""

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Changes nothing."""


def downgrade() -> None:
    """Changes nothing."""
