"""Tiles and traces in an object store; tier moves of all hosts by ten minutes; classes of services beside bodies."""

from alembic import op
from sqlalchemy import text
from sqlalchemy.schema import CreateIndex

from tierscope.core.database import WriteTransaction
from tierscope.storage import tables
from tierscope.storage.base.ddl import add_missing_columns, make_missing_table
from tierscope.storage.base.partitions import storage_mode

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None

_WITH_OBJECTS = (tables.traces, tables.tiles)
_OVER_TIME = (tables.tier_moves, *_WITH_OBJECTS)
_CLASSED = (tables.service_heat_1h, tables.service_heat_1d)


def upgrade() -> None:
    """Adds what is missing, and asks the workers to sum up the tier moves that are stored."""
    connection = op.get_bind()
    mode = storage_mode(WriteTransaction(connection))
    for table in (tables.objects, tables.fleet_moves):
        make_missing_table(connection, table, mode)
    for table in _WITH_OBJECTS:
        add_missing_columns(connection, table, ("object_key", "object_part"))
    for table in _CLASSED:
        add_missing_columns(connection, table, ("class_bytes",))
    for table in _OVER_TIME:
        index = next(index for index in table.indexes if index.name == f"ix_{table.name}_ts")
        connection.execute(CreateIndex(index, if_not_exists=True))
    connection.execute(
        text(
            "INSERT INTO marks (kind, subject_id, service_id, bucket) SELECT 'fleet_moves', 0, 0, bucket"
            " FROM (SELECT date_bin('10 minutes', min(ts), 'epoch') AS first, max(ts) AS last FROM tier_moves) AS span,"
            " generate_series(span.first, span.last, interval '10 minutes') AS bucket"
        )
    )


def downgrade() -> None:
    """Removes it again. Refused while objects hold bodies, because their rows would be left without them."""
    connection = op.get_bind()
    held = connection.execute(text("SELECT count(*) FROM objects WHERE stored_at IS NOT NULL")).scalar_one()
    if held:
        raise RuntimeError(f"{held} objects hold tiles and traces: run `tierscope objects bring-back` before")
    connection.execute(text("DELETE FROM marks WHERE kind = 'fleet_moves'"))
    for table in _OVER_TIME:
        connection.execute(text(f"DROP INDEX ix_{table.name}_ts"))
    for table in _WITH_OBJECTS:
        connection.execute(text(f"ALTER TABLE {table.name} DROP COLUMN object_key, DROP COLUMN object_part"))
    for table in _CLASSED:
        connection.execute(text(f"ALTER TABLE {table.name} DROP COLUMN class_bytes"))
    connection.execute(text("DROP TABLE fleet_moves"))
    connection.execute(text("DROP TABLE objects"))
