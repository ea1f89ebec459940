"""All nodes as one set of tables: partitions by the numbers of hosts, each of them a table of another server.

They stand in a schema of their own, under the names of the tables that they show. Sessions look there first, so that
a statement that names `tier_moves` reads those of all nodes where the schema exists, and the server's own where it does
not: an installation with one server has nothing of this. Once a host has moved to a server or from it, what a partition
shows of it is a view there of its range alone (`make_pieces`): rows that are copied, or not deleted yet, are shown by
nobody. Decision: docs/decisions/0024-nodes.md
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product

import psycopg
from psycopg import sql
from psycopg.errors import InsufficientPrivilege
from sqlalchemy import Table, make_url, text

from tierscope.core.database import FLEET_SCHEMA, Database, WriteTransaction
from tierscope.core.errors import ConfigurationError, Unavailable
from tierscope.storage.base.ddl import make_view
from tierscope.storage.nodes.placement import KEYS, NUMBERED, OF_HOSTS, Placement, Span, numbers_of
from tierscope.storage.nodes.rows import DataNode
from tierscope.storage.tables import marks
from tierscope.storage.tables.views import VIEWS

FETCH_ROWS = 10_000
"""Rows that a server hands over at a time."""
CONNECT_SECONDS = 5
_LOCK_MS = 700
"""Less than the second after which PostgreSQL looks whether two transactions wait for each other."""
PIECES = "tierscope_pieces"
"""The schema of a node's views of its ranges."""
_REMOTE_OPTIONS = "-c timezone=UTC -c jit=off -c search_path=public -c statement_timeout=60000 -c lock_timeout=10000"


def show_fleet(transaction: WriteTransaction, nodes: Sequence[DataNode], placement: Placement) -> None:
    """Makes the tables that show the rows of all nodes but those that are away, in place of those that were there.

    Raises:
        ConfigurationError: the user may not make foreign servers.
    """
    try:
        _show(transaction, nodes, placement)
    except InsufficientPrivilege as error:
        raise ConfigurationError(
            f"the coordinator's database user may not make foreign servers: {error}",
            next_step="As a superuser of the coordinator's database: CREATE EXTENSION postgres_fdw; GRANT USAGE ON"
            " FOREIGN DATA WRAPPER postgres_fdw TO <user>; GRANT CREATE ON DATABASE <name> TO <user>.",
        ) from error


def _show(transaction: WriteTransaction, nodes: Sequence[DataNode], placement: Placement) -> None:
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
            attach(transaction, node, placement)
    _make_views(transaction, FLEET_SCHEMA)


def hide_fleet(transaction: WriteTransaction) -> None:
    """Removes these tables: sessions see the server's own rows."""
    _make_views(transaction, "public")  # in place: who may read them may go on
    transaction.driver.execute(sql.SQL("DROP SCHEMA IF EXISTS {} CASCADE").format(sql.Identifier(FLEET_SCHEMA)))


def attach(transaction: WriteTransaction, node: DataNode, placement: Placement) -> None:
    """Shows the rows of a node among those of all."""
    for table, span in _pieces(node, placement):
        transaction.driver.execute(
            sql.SQL(
                "CREATE FOREIGN TABLE {} PARTITION OF {} FOR VALUES FROM ({}) TO ({})"
                " SERVER {} OPTIONS (schema_name {}, table_name {})"
            ).format(
                _piece(node, table, span),
                sql.Identifier(FLEET_SCHEMA, table.name),
                *map(sql.Literal, span),
                sql.Identifier(node.server),
                *map(sql.Literal, (PIECES, _name(table, span)) if _by_range(node, table) else ("public", table.name)),
            )
        )


def detach(transaction: WriteTransaction, node: DataNode, placement: Placement) -> None:
    """Leaves out the rows of a node: no statement waits for it any more."""
    for table, span in _pieces(node, placement):
        transaction.driver.execute(sql.SQL("DROP FOREIGN TABLE {}").format(_piece(node, table, span)))


def lock_fleet(transaction: WriteTransaction) -> None:
    """Waits until no other transaction uses these tables, and lets none begin to until this one ends.

    Raises:
        Unavailable: some are in use. It gives up before the server would end one of two that wait for each other.
    """
    transaction.execute(text(f"SET LOCAL lock_timeout = {_LOCK_MS}"))
    names = sql.SQL(", ").join(sql.Identifier(FLEET_SCHEMA, table.name) for table in KEYS)
    transaction.driver.execute(sql.SQL("LOCK TABLE {} IN ACCESS EXCLUSIVE MODE").format(names))


def cut(transaction: WriteTransaction, node: DataNode, placement: Placement) -> DataNode:
    """Shows a node by its ranges of numbers, whose views it has; the node as it is then."""
    changed = replace(node, cut=True)
    detach(transaction, node, placement)
    attach(transaction, changed, placement)
    return changed


def cut_anew(transaction: WriteTransaction, nodes: Sequence[DataNode], before: Placement, after: Placement) -> None:
    """Shows hosts where they are now: of the nodes that answer, those whose ranges change."""
    changed = [node for node in nodes if _spans_of(node, before) != _spans_of(node, after) and node.away_since is None]
    for node in changed:
        detach(transaction, node, before)
    for node in changed:
        attach(transaction, node, after)


def _spans_of(node: DataNode, placement: Placement) -> list[Span]:
    return [span for span, number in placement.spans() if number == node.number]


def _pieces(node: DataNode, placement: Placement) -> list[tuple[Table, Span]]:
    """Each table with each range of numbers that the node shows of it."""
    spans = _spans_of(node, placement)
    return [*product(OF_HOSTS, spans), (marks, numbers_of(node.number))]


def make_pieces(transaction: WriteTransaction, number: int, placement: Placement) -> None:
    """On a node: makes the views of the ranges that it shows, those that are not there yet.

    They show where rows stand, too: a view may have a column of that name, by which the coordinator tells rows apart
    that it changes, and which of repeats came last.
    """
    run = transaction.driver.execute
    run(sql.SQL("CREATE SCHEMA IF NOT EXISTS {}").format(sql.Identifier(PIECES)))
    for (table, key), (span, node) in product(OF_HOSTS.items(), placement.spans()):
        if node == number:
            run(
                sql.SQL(
                    "CREATE OR REPLACE VIEW {} AS SELECT *, ctid FROM public.{} WHERE {key} >= {} AND {key} < {}"
                ).format(
                    sql.Identifier(PIECES, _name(table, span)),
                    sql.Identifier(table.name),
                    *map(sql.Literal, span),
                    key=sql.Identifier(key),
                )
            )


def drop_pieces(transaction: WriteTransaction, but_of: tuple[int, Placement] | None = None) -> None:
    """On a node: drops these views, but those of the ranges of a node; a schema cannot change under them."""
    if but_of is None:
        transaction.driver.execute(sql.SQL("DROP SCHEMA IF EXISTS {} CASCADE").format(sql.Identifier(PIECES)))
        return
    number, placement = but_of
    kept = {_name(table, span) for table, (span, node) in product(OF_HOSTS, placement.spans()) if node == number}
    found = transaction.execute(
        text("SELECT viewname FROM pg_views WHERE schemaname = :schema ORDER BY 1"), {"schema": PIECES}
    ).scalars()
    for name in set(found) - kept:
        transaction.driver.execute(sql.SQL("DROP VIEW {}").format(sql.Identifier(PIECES, name)))


def _name(table: Table, span: Span) -> str:
    return f"{table.name}_{span[0]:x}_{span[1]:x}"


def _piece(node: DataNode, table: Table, span: Span) -> sql.Identifier:
    return sql.Identifier(node.server, _name(table, span) if _by_range(node, table) else table.name)


def _by_range(node: DataNode, table: Table) -> bool:
    """Whether a table of a node is shown by its ranges; else as a whole, under its own name."""
    return node.cut and table is not marks


def _make_views(transaction: WriteTransaction, schema: str) -> None:
    """Lets the views for tools that speak SQL read the tables of a schema."""
    transaction.driver.execute(sql.SQL("SET LOCAL search_path = {}, public").format(sql.Identifier(schema)))
    for view in VIEWS:
        make_view(transaction.connection, view)


def is_seen(database: Database, node: DataNode) -> None:
    """Lets the coordinator read a node that is attached.

    Raises:
        Unavailable: it cannot; the cause is in the server's words.
    """
    table = sql.Identifier(node.server, marks.name)
    with database.read() as session:
        try:
            session.driver.execute(sql.SQL("SELECT FROM {} LIMIT 1").format(table))
        except psycopg.Error as error:
            raise Unavailable(str(error).strip().splitlines()[0], retry_after_seconds=5) from error


def lead_to(transaction: WriteTransaction, server: str, url: str) -> None:
    """Lets a node's foreign server lead to a database of the same server that has another name now."""
    statement = sql.SQL("ALTER SERVER {} OPTIONS (SET dbname {})")
    transaction.driver.execute(statement.format(sql.Identifier(server), sql.Literal(make_url(url).database)))


def part_with(transaction: WriteTransaction, node: DataNode) -> None:
    """Drops the foreign server of a node with what is left of its tables: nothing of it is shown or asked any more."""
    server = sql.Identifier(node.server)
    transaction.driver.execute(sql.SQL("DROP SERVER IF EXISTS {} CASCADE").format(server))
    transaction.driver.execute(sql.SQL("DROP SCHEMA IF EXISTS {} CASCADE").format(server))


def _reach(transaction: WriteTransaction, node: DataNode) -> None:
    """Makes the server, with a schema for its tables."""
    run = transaction.driver.execute
    server = sql.Identifier(node.server)
    url = make_url(node.url)
    part_with(transaction, node)
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
