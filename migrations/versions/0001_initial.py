"""First schema: all tables, time tables cut by TimescaleDB or natively."""

from alembic import context, op
from sqlalchemy import ARRAY, Connection, LargeBinary, Table, text
from sqlalchemy.schema import CreateIndex, CreateTable

from tierscope.core.errors import ConfigurationError
from tierscope.storage.tables import TIME_TABLES, metadata

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Makes everything and records the storage mode."""
    connection = op.get_bind()
    mode = choose_mode(connection, context.config.attributes["storage"])
    time_tables = {entry.table.name for entry in TIME_TABLES}
    for table in metadata.sorted_tables:
        create_table(connection, table, partitioned=mode == "native" and table.name in time_tables)
    protect_audit(connection)
    if mode == "timescaledb":
        connection.execute(text("CREATE EXTENSION IF NOT EXISTS timescaledb"))
        for entry in TIME_TABLES:
            connection.execute(
                text(
                    "SELECT create_hypertable(CAST(:name AS regclass), by_range('ts', make_interval(hours => :hours)),"
                    " create_default_indexes => false)"
                ),
                {"name": entry.table.name, "hours": entry.chunk_hours},
            )
    connection.execute(text("INSERT INTO installation (key, value) VALUES ('storage', :mode)"), {"mode": mode})


def choose_mode(connection: Connection, wanted: str) -> str:
    """Returns `timescaledb` or `native`; `auto` takes the extension where it is installed and preloaded."""
    available = connection.execute(
        text(
            "SELECT EXISTS (SELECT FROM pg_available_extensions WHERE name = 'timescaledb')"
            " AND current_setting('shared_preload_libraries') LIKE '%timescaledb%'"
        )
    ).scalar_one()
    if wanted == "timescaledb" and not available:
        raise ConfigurationError(
            "TimescaleDB is asked for, and this server does not have it",
            next_step="Add timescaledb to shared_preload_libraries, or set TIERSCOPE_STORAGE=native.",
        )
    if wanted == "auto":
        return "timescaledb" if available else "native"
    return wanted


def create_table(connection: Connection, table: Table, *, partitioned: bool) -> None:
    """Makes a table with its indexes; arrays and packed bodies get the storage that suits them."""
    statement = str(CreateTable(table).compile(connection)).rstrip()
    connection.execute(text(statement + (" PARTITION BY RANGE (ts)" if partitioned else "")))
    for index in sorted(table.indexes, key=lambda index: str(index.name)):
        connection.execute(CreateIndex(index))
    tune_storage(connection, table)


def tune_storage(connection: Connection, table: Table) -> None:
    """Long arrays are compressed with lz4 (far faster than the default); packed bodies are not compressed again."""
    has_lz4 = connection.execute(
        text("SELECT 'lz4' = ANY(enumvals) FROM pg_settings WHERE name = 'default_toast_compression'")
    ).scalar_one()
    for column in table.columns:
        if isinstance(column.type, ARRAY) and has_lz4:
            connection.execute(text(f'ALTER TABLE "{table.name}" ALTER COLUMN "{column.name}" SET COMPRESSION lz4'))
        elif isinstance(column.type, LargeBinary) and column.name in ("body", "cells", "known"):
            connection.execute(text(f'ALTER TABLE "{table.name}" ALTER COLUMN "{column.name}" SET STORAGE EXTERNAL'))


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
