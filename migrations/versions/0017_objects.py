"""Tiles and traces in an object store."""

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Changes nothing."""


def downgrade() -> None:
    """Changes nothing."""
