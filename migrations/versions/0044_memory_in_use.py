"""Makes daily points of services anew: `used_bytes` is what a service itself holds and the kernel cannot reclaim."""

from alembic import op
from sqlalchemy import text

revision = "0044"
down_revision = "0043"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Forgets what was stored as all that is used on a service's hosts; workers go through the days that they can."""
    connection = op.get_bind()
    connection.execute(text("UPDATE capacity_days SET used_bytes = NULL WHERE kind = 'service'"))
    connection.execute(text("DELETE FROM capacity_days WHERE kind = 'made'"))


def downgrade() -> None:
    """Lets the days be made as they were."""
    upgrade()
