"""All nodes as one set of tables: partitions by the numbers of hosts, each of them a table of another server.

They stand in a schema of their own, under the names of the tables that they show. Sessions look there first, so that a
statement that names `tier_moves` reads those of all nodes where the schema exists, and the server's own where it does
not: an installation with one server has nothing of this. Decision: docs/decisions/0024-nodes.md
"""

from collections.abc import Iterable, Mapping

import psycopg
from psycopg import sql
from psycopg.errors import InsufficientPrivilege
from sqlalchemy import make_url

from tierscope.core.database import FLEET_SCHEMA, Database, WriteTransaction
from tierscope.core.errors import ConfigurationError, Unavailable
from tierscope.storage.base.ddl import make_view
from tierscope.storage.nodes.placement import KEYS, NUMBERED, numbers_of
from tierscope.storage.nodes.rows import DataNode
from tierscope.storage.tables.views import VIEWS

FETCH_ROWS = 10_000
"""Rows that a server hands over at a time."""
CONNECT_SECONDS = 5
_REMOTE_OPTIONS = "-c timezone=UTC -c jit=off -c search_path=public -c statement_timeout=60000 -c lock_timeout=10000"


def show_fleet(transaction: WriteTransaction, nodes: Iterable[DataNode]) -> None:
    """Makes the tables that show the rows of all nodes but those that are away, in place of those that were there.

    Raises:
        ConfigurationError: the user may not make foreign servers.
    """
    try:
        _show(transaction, nodes)
    except InsufficientPrivilege as error:
        raise ConfigurationError(
            f"the coordinator's database user may not make foreign servers: {error}",
            next_step="As a superuser of the coordinator's database: CREATE EXTENSION postgres_fdw; GRANT USAGE ON"
            " FOREIGN DATA WRAPPER postgres_fdw TO <user>; GRANT CREATE ON DATABASE <name> TO <user>.",
        ) from error


def _show(transaction: WriteTransaction, nodes: Iterable[DataNode]) -> None:
    run = transaction.driver.execute
    run("CREATE EXTENSION IF NOT EXISTS postgres_fdw")
    hide_fleet(transaction)
    run(sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(FLEET_SCHEMA)))
    for table, key in KEYS.items():
        shown = sql.Identifier(FLEET_SCHEMA, table.name)
        run(
            sql.SQL("CREATE TABLE {} (LIKE public.{}) PARTITION BY RANGE ({})").format(
                shown, sql.Identifier(table.name), sql.Identifier(key)
            )
        )
        if table in NUMBERED:  # what sessions of the coordinator add gets a number of its own
            own = sql.Literal(f"public.{table.name}")
            run(
                sql.SQL("ALTER TABLE {} ALTER id SET DEFAULT nextval(pg_get_serial_sequence({}, 'id'))").format(
                    shown, own
                )
            )
    for node in nodes:
        _reach(transaction, node)
        if node.away_since is None:
            attach(transaction, node)
    _make_views(transaction, FLEET_SCHEMA)


def hide_fleet(transaction: WriteTransaction) -> None:
    """Removes these tables: sessions see the server's own rows."""
    _make_views(transaction, "public")  # in place: who may read them may go on
    transaction.driver.execute(sql.SQL("DROP SCHEMA IF EXISTS {} CASCADE").format(sql.Identifier(FLEET_SCHEMA)))


def _make_views(transaction: WriteTransaction, schema: str) -> None:
    """Lets the views for tools that speak SQL read the tables of a schema."""
    transaction.driver.execute(sql.SQL("SET LOCAL search_path = {}, public").format(sql.Identifier(schema)))
    for view in VIEWS:
        make_view(transaction.connection, view)


def attach(transaction: WriteTransaction, node: DataNode) -> None:
    """Shows the rows of a node among those of all."""
    first, beyond = numbers_of(node.number)
    for table in KEYS:
        transaction.driver.execute(
            sql.SQL(
                "CREATE FOREIGN TABLE {} PARTITION OF {} FOR VALUES FROM ({}) TO ({})"
                " SERVER {} OPTIONS (schema_name 'public', table_name {})"
            ).format(
                sql.Identifier(node.server, table.name),
                sql.Identifier(FLEET_SCHEMA, table.name),
                sql.Literal(first),
                sql.Literal(beyond),
                sql.Identifier(node.server),
                sql.Literal(table.name),
            )
        )


def detach(transaction: WriteTransaction, node: DataNode) -> None:
    """Leaves out the rows of a node: no statement waits for it any more."""
    for table in KEYS:
        transaction.driver.execute(sql.SQL("DROP FOREIGN TABLE {}").format(sql.Identifier(node.server, table.name)))


def is_seen(database: Database, node: DataNode) -> None:
    """Lets the coordinator read a node that is attached.

    Raises:
        Unavailable: it cannot; the cause is in the server's words.
    """
    table = sql.Identifier(node.server, "hosts")
    with database.read() as session:
        try:
            session.driver.execute(sql.SQL("SELECT FROM {} LIMIT 1").format(table))
        except psycopg.Error as error:
            raise Unavailable(str(error).strip().splitlines()[0], retry_after_seconds=5) from error


def _reach(transaction: WriteTransaction, node: DataNode) -> None:
    """Makes the server, with a schema for its tables."""
    run = transaction.driver.execute
    server = sql.Identifier(node.server)
    url = make_url(node.url)
    run(sql.SQL("DROP SERVER IF EXISTS {} CASCADE").format(server))
    run(sql.SQL("DROP SCHEMA IF EXISTS {} CASCADE").format(server))
    run(sql.SQL("CREATE SCHEMA {}").format(server))
    address = {
        "host": url.host or _first(url.query.get("host")),
        "port": None if url.port is None else str(url.port),
        "dbname": url.database,
        "sslmode": _first(url.query.get("sslmode")),
        "connect_timeout": str(CONNECT_SECONDS),
        "fetch_size": str(FETCH_ROWS),
        "async_capable": "true",
        "options": _REMOTE_OPTIONS,
    }
    run(sql.SQL("CREATE SERVER {} FOREIGN DATA WRAPPER postgres_fdw OPTIONS ({})").format(server, _options(address)))
    user = {"user": url.username, "password": url.password}
    run(sql.SQL("CREATE USER MAPPING FOR CURRENT_USER SERVER {} OPTIONS ({})").format(server, _options(user)))


def _options(values: Mapping[str, str | None]) -> sql.Composed:
    given = ((name, value) for name, value in values.items() if value)
    return sql.SQL(", ").join(
        sql.SQL("{} {}").format(sql.Identifier(name), sql.Literal(value)) for name, value in given
    )


def _first(value: str | tuple[str, ...] | None) -> str | None:
    return value[0] if isinstance(value, tuple) else value
