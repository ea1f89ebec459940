"""${message}"""

from alembic import op

revision = ${repr(up_revision)}
down_revision = ${repr(down_revision)}
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Applies the change. Expand only: what goes, goes a release later."""
    ${upgrades if upgrades else "op.execute('SELECT 1')"}
