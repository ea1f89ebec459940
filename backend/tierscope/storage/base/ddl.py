"""How revisions make tables: time tables cut in the mode of the installation, columns stored in the way that suits."""

from collections.abc import Iterable

from sqlalchemy import ARRAY, Column, Connection, Index, LargeBinary, MetaData, Table, inspect, text
from sqlalchemy.schema import CreateColumn, CreateIndex, CreateTable, DropTable, sort_tables

from tierscope.storage.base.partitions import Mode
from tierscope.storage.tables import TIME_TABLES, blocks, metadata
from tierscope.storage.tables.views import SCHEMA, View

_TIME_TABLES = {entry.name: entry for entry in TIME_TABLES}
_PACKED = ("body", "cells", "counts", "known")


def make_table(connection: Connection, table: Table, mode: Mode) -> None:
    """Make a table with its indexes; a time table as a hypertable, or partitioned: by kind first, if it has kinds."""
    entry = _TIME_TABLES.get(table.name)
    kinds = [one.name for one in TIME_TABLES if one.kind and one.table.name == table.name]
    statement = str(CreateTable(table).compile(connection)).rstrip()
    cut = " PARTITION BY LIST (kind)" if kinds else " PARTITION BY RANGE (ts)" if entry and mode == "native" else ""
    connection.execute(text(statement + cut))
    for index in sorted(table.indexes, key=lambda index: str(index.name)):
        connection.execute(CreateIndex(index))
    for column in table.columns:
        _tune_storage(connection, table.name, column)
    for kind in kinds:
        of = f"PARTITION OF \"{table.name}\" FOR VALUES IN ('{kind}') PARTITION BY RANGE (ts)"
        connection.execute(text(f'CREATE TABLE IF NOT EXISTS "{kind}" {of}'))
        connection.execute(text(f"ALTER TABLE \"{kind}\" ALTER kind SET DEFAULT '{kind}'"))
    if entry is not None and mode == "timescaledb":
        connection.execute(
            text(
                "SELECT create_hypertable(CAST(:name AS regclass), by_range('ts', make_interval(hours => :hours)),"
                " create_default_indexes => false)"
            ),
            {"name": table.name, "hours": entry.chunk_hours},
        )


def make_missing_table(connection: Connection, table: Table, mode: Mode) -> None:
    """Make a table unless it is there already."""
    if not inspect(connection).has_table(table.name):
        make_table(connection, table, mode)


def make_kind_table(connection: Connection, kind: str, mode: Mode) -> None:
    """Make what the blocks of a kind were stored in before all kinds had one table, unless it is there."""
    columns = [Column(one.name, one.type, nullable=False) for one in blocks.columns if one.name != "kind"]
    index = Index(None, "host_id", "service_id", "ts")
    table = Table(kind, MetaData(naming_convention=metadata.naming_convention), *columns, index)
    make_missing_table(connection, table, mode)


def add_missing_columns(connection: Connection, table: Table, names: tuple[str, ...]) -> None:
    """Add those columns that are not there. They may be null, so that no row is rewritten."""
    there = {column["name"] for column in inspect(connection).get_columns(table.name)}
    for name in names:
        if name not in there:
            column = table.columns[name]
            definition = CreateColumn(column).compile(connection)
            connection.execute(text(f'ALTER TABLE "{table.name}" ADD COLUMN {definition}'))
            _tune_storage(connection, table.name, column)


def make_view(connection: Connection, view: View) -> None:
    """Make a view, or add the columns that it has not yet: those that are there keep their places, and who may read.

    It reads with its owner's rights: who may read the view needs none on its tables.
    """
    connection.execute(text(f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}"))
    looked = inspect(connection)
    there = view.name in looked.get_view_names(schema=SCHEMA)
    places = [column["name"] for column in looked.get_columns(view.name, schema=SCHEMA)] if there else []
    columns = sorted(view.columns, key=lambda one: places.index(one.name) if one.name in places else len(places))
    cells = ", ".join(f'CAST({one.expression} AS {one.type}) AS "{one.name}"' for one in columns)
    name = f"{SCHEMA}.{view.name}"
    connection.execute(text(f"CREATE OR REPLACE VIEW {name} AS SELECT {cells} FROM {view.source}"))  # noqa: S608
    words = view.help.replace("'", "''")
    connection.execute(text(f"COMMENT ON VIEW {name} IS '{words}'"))


def drop_tables(connection: Connection, tables: Iterable[Table]) -> None:
    """Drop those tables that are there, in the order that references between them ask for."""
    for table in sort_tables(tables)[::-1]:
        connection.execute(DropTable(table, if_exists=True))


def drop_columns(connection: Connection, table: Table, names: Iterable[str]) -> None:
    """Drop those columns that are there, with their indexes."""
    for name in names:
        connection.execute(text(f'ALTER TABLE "{table.name}" DROP COLUMN IF EXISTS "{name}"'))


def _tune_storage(connection: Connection, table: str, column: Column[object]) -> None:
    """Long arrays are compressed with lz4 (far faster than the default); packed bodies are not compressed again."""
    if isinstance(column.type, ARRAY) and _has_lz4(connection):
        connection.execute(text(f'ALTER TABLE "{table}" ALTER COLUMN "{column.name}" SET COMPRESSION lz4'))
    elif isinstance(column.type, LargeBinary) and column.name in _PACKED:
        connection.execute(text(f'ALTER TABLE "{table}" ALTER COLUMN "{column.name}" SET STORAGE EXTERNAL'))


def _has_lz4(connection: Connection) -> bool:
    statement = text("SELECT 'lz4' = ANY(enumvals) FROM pg_settings WHERE name = 'default_toast_compression'")
    return bool(connection.execute(statement).scalar_one())
