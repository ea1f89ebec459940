"""Users, teams and owners of services; scopes of tokens and links that set a password."""

from alembic import op
from sqlalchemy import inspect, text

from tierscope.core.database import WriteTransaction
from tierscope.storage.base.ddl import add_missing_columns, make_missing_table
from tierscope.storage.base.partitions import storage_mode
from tierscope.storage.tables import IDENTITY, services, tokens

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None

_KINDS_BEFORE = "'join', 'api', 'link', 'session'"
_USERS_BEFORE = """
CREATE TABLE users (
    id BIGINT GENERATED ALWAYS AS IDENTITY,
    name TEXT NOT NULL,
    role TEXT NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE DEFAULT now() NOT NULL,
    disabled_at TIMESTAMP WITH TIME ZONE,
    CONSTRAINT pk_users PRIMARY KEY (id),
    CONSTRAINT ck_users_role CHECK (role IN ('viewer', 'operator', 'admin')),
    CONSTRAINT uq_users_name UNIQUE (name)
)
"""


def upgrade() -> None:
    """Adds what is missing. No release before this one wrote to `users`, so that it is made anew."""
    connection = op.get_bind()
    mode = storage_mode(WriteTransaction(connection))
    if "public_id" not in {column["name"] for column in inspect(connection).get_columns("users")}:
        connection.execute(text("ALTER TABLE tokens DROP CONSTRAINT fk_tokens_user_id"))
        connection.execute(text("DROP TABLE users"))
        make_missing_table(connection, services.metadata.tables["users"], mode)
        connection.execute(
            text(
                "ALTER TABLE tokens ADD CONSTRAINT fk_tokens_user_id"
                " FOREIGN KEY (user_id) REFERENCES users (id) ON DELETE CASCADE"
            )
        )
    for table in IDENTITY:
        make_missing_table(connection, table, mode)
    add_missing_columns(connection, tokens, ("scopes",))
    add_missing_columns(connection, services, ("owner_team_id",))
    if "fk_services_owner_team_id" not in {key["name"] for key in inspect(connection).get_foreign_keys("services")}:
        connection.execute(
            text(
                "ALTER TABLE services ADD CONSTRAINT fk_services_owner_team_id"
                " FOREIGN KEY (owner_team_id) REFERENCES teams (id) ON DELETE SET NULL"
            )
        )
    connection.execute(text("CREATE INDEX IF NOT EXISTS ix_services_owner_team_id ON services (owner_team_id)"))
    connection.execute(text("CREATE INDEX IF NOT EXISTS ix_tokens_user_id ON tokens (user_id)"))
    _allow_kinds(f"{_KINDS_BEFORE}, 'password'")


def downgrade() -> None:
    """Drops users, teams and whatever belongs to them; tokens with scopes go too, since they would gain rights."""
    connection = op.get_bind()
    connection.execute(text("DELETE FROM tokens WHERE user_id IS NOT NULL OR scopes IS NOT NULL OR kind = 'password'"))
    _allow_kinds(_KINDS_BEFORE)
    connection.execute(text("DROP INDEX ix_tokens_user_id"))
    connection.execute(text("ALTER TABLE tokens DROP COLUMN scopes, DROP CONSTRAINT fk_tokens_user_id"))
    connection.execute(text("ALTER TABLE services DROP COLUMN owner_team_id"))
    for name in ("team_members", "teams", "users"):
        connection.execute(text(f"DROP TABLE {name}"))
    connection.execute(text(_USERS_BEFORE))
    connection.execute(
        text(
            "ALTER TABLE tokens ADD CONSTRAINT fk_tokens_user_id"
            " FOREIGN KEY (user_id) REFERENCES users (id) ON DELETE CASCADE"
        )
    )


def _allow_kinds(kinds: str) -> None:
    connection = op.get_bind()
    connection.execute(text("ALTER TABLE tokens DROP CONSTRAINT ck_tokens_kind"))
    connection.execute(text(f"ALTER TABLE tokens ADD CONSTRAINT ck_tokens_kind CHECK (kind IN ({kinds}))"))
