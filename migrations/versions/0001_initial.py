"""First schema: all tables as the installed release describes them, time tables cut by TimescaleDB or natively.

Later revisions add to installations that are older than they are, and find nothing to do on a new one.
"""

from typing import cast

from alembic import context, op
from sqlalchemy import Connection, text

from tierscope.core.errors import ConfigurationError
from tierscope.storage.base.ddl import drop_tables, make_table
from tierscope.storage.base.partitions import Mode
from tierscope.storage.tables import metadata

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Makes everything and records the storage mode."""
    connection = op.get_bind()
    mode = choose_mode(connection, context.config.attributes["storage"])
    if mode == "timescaledb":
        connection.execute(text("CREATE EXTENSION IF NOT EXISTS timescaledb"))
    for table in metadata.sorted_tables:
        make_table(connection, table, mode)
    protect_audit(connection)
    connection.execute(text("INSERT INTO installation (key, value) VALUES ('storage', :mode)"), {"mode": mode})


def choose_mode(connection: Connection, wanted: str) -> Mode:
    """Returns `timescaledb` or `native`; `auto` takes the extension where it is installed and preloaded."""
    available = connection.execute(
        text(
            "SELECT EXISTS (SELECT FROM pg_available_extensions WHERE name = 'timescaledb')"
            # Its own setting, which every role may read, has a type only once the library is loaded.
            " AND EXISTS (SELECT FROM pg_settings WHERE name = 'timescaledb.max_background_workers'"
            " AND vartype = 'integer')"
        )
    ).scalar_one()
    if wanted == "timescaledb" and not available:
        raise ConfigurationError(
            "TimescaleDB is asked for, and this server does not have it",
            next_step="Add timescaledb to shared_preload_libraries, or set TIERSCOPE_STORAGE=native.",
        )
    if wanted == "auto":
        return "timescaledb" if available else "native"
    return cast("Mode", wanted)


def protect_audit(connection: Connection) -> None:
    """The audit trail is append-only, for the service's own role too."""
    connection.execute(
        text(
            "CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS"
            " $$ BEGIN RAISE EXCEPTION 'audit is append-only'; END $$"
        )
    )
    connection.execute(
        text(
            "CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON audit"
            " FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()"
        )
    )


def downgrade() -> None:
    """Drops everything. The extension stays: other schemas of the database may use it."""
    connection = op.get_bind()
    drop_tables(connection, metadata.sorted_tables)
    connection.execute(text("DROP FUNCTION refuse_change()"))
