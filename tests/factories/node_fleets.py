"""Fleets on several servers, and the same rows put together on one."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict
from sqlalchemy import Table

from fixtures.servers import Template, today
from tierscope.core.clock import utc_now
from tierscope.core.database import Database, libpq_url
from tierscope.storage.nodes.foreign import hide_fleet
from tierscope.storage.nodes.placement import KEYS
from tierscope.storage.nodes.rows import DataNode
from tierscope.usecases.nodes.changes import NodeChanges
from tierscope.usecases.nodes.fleet import Nodes
from tierscope.usecases.nodes.watch import NodeWatch
from tierscope.usecases.operate.retention import KeepPartitions


@contextmanager
def several_servers(template: Template, mode: str, *names: str, native: Sequence[str] = ()) -> Iterator[Database]:
    """A coordinator with nodes of these names, each in a database of its own, dropped afterwards.

    Nodes that are `native` have partitions, whatever the storage of the others.

    To add a server takes seconds, to copy its database tenths of one: fleets of the same names are made once a day.
    """
    key = (today(), *names, *(f"{name}: native" for name in native))
    if key not in template.fleets:
        template.fleets[key] = _add_servers(template, mode, names, native)
    copies = [template.copy_database(name) for name in template.fleets[key]]
    try:
        urls = [template.cluster.url(name) for name in copies]
        if names:
            _lead_to(urls)
        with closing(Database(urls[0])) as database:
            yield database
    finally:
        for name in copies:
            template.drop_database(name)


def _add_servers(template: Template, mode: str, names: tuple[str, ...], native: Sequence[str]) -> list[str]:
    """Names of the databases of a new fleet, to which nobody connects."""
    made = [template.make_database(schema=True, mode=mode)]
    with closing(Database(template.cluster.url(made[0]))) as database:
        for name in names:
            made.append(template.make_database(schema=False, mode=mode))
            storage = "native" if name in native else mode
            NodeChanges(database).add(name, template.cluster.url(made[-1]), actor="test", storage=storage)  # type: ignore[arg-type]
    for name in made:
        template.close_database(name)
    return made


def _lead_to(urls: Sequence[str]) -> None:
    """Let a copied coordinator show the copies of its nodes: addresses of all servers, its own first."""
    with psycopg.connect(libpq_url(urls[0])) as connection:
        for number, url in enumerate(urls):
            server = sql.Identifier(DataNode(number, "", url).server)
            database = sql.Literal(conninfo_to_dict(libpq_url(url))["dbname"])
            connection.execute(sql.SQL("ALTER SERVER {} OPTIONS (SET dbname {})").format(server, database))
            connection.execute("UPDATE public.nodes SET url = %s WHERE number = %s", (url, number))


def gathered(template: Template, database: Database) -> str:
    """The name of one database with all rows of a fleet: a copy of the coordinator's, with those of its nodes."""
    nodes = [node for node in NodeChanges(database).list() if node.number]
    with database.own_rows.read() as session:
        urls = [row[0] for row in session.driver.execute("SELECT url FROM nodes WHERE number > 0 ORDER BY number")]
        name = session.connection.engine.url.database or ""
    assert len(urls) == len(nodes)
    database.close()
    template.close_database(name)
    copy = template.copy_database(name)
    template.open_database(name)
    url = template.cluster.url(copy)
    with closing(Database(url)) as together, together.own_rows.write() as transaction:
        hide_fleet(transaction)
        transaction.driver.execute("DELETE FROM node_ranges")
        transaction.driver.execute("DELETE FROM nodes")
    for node in urls:
        _bring(node, url)
    return copy


def let_rows_leave(database: Database, number: int) -> dict[str, int]:
    """Drop the chunks of live rows that a node has packed; chunks by table."""
    return KeepPartitions(Nodes(database).own(number), utc_now).run().dropped


@contextmanager
def node_away(template: Template, database: Database, number: int) -> Iterator[NodeWatch]:
    """A node that takes no connections, and is left out of answers; it is there again afterwards."""
    watch = NodeWatch(Nodes(database))
    with database.own_rows.read() as session:
        statement = "SELECT url FROM nodes WHERE number = %s"
        (url,) = session.driver.execute(statement, [number]).fetchone() or ("",)
    name = str(conninfo_to_dict(libpq_url(url))["dbname"])
    template.close_database(name)
    try:
        assert (watch.look(), len(watch.look())) == ([], 1)
        yield watch
    finally:
        template.open_database(name)
        watch.look()


def _bring(source: str, target: str) -> None:
    with (
        psycopg.connect(libpq_url(source)) as reading,
        psycopg.connect(libpq_url(target), autocommit=True) as writing,
    ):
        bring_rows(reading, writing, {table: {} for table in KEYS})
        # From when on all rows are live: from the latest moment of any server.
        for key, value in reading.execute("SELECT key, value FROM installation WHERE key LIKE '%_live_from'"):
            writing.execute(
                "INSERT INTO installation AS i (key, value) VALUES (%s, %s)"
                " ON CONFLICT (key) DO UPDATE SET value = greatest(i.value, excluded.value)",
                (key, value),
            )


def bring_rows(
    reading: psycopg.Connection, writing: psycopg.Connection, tables: Mapping[Table, Mapping[str, str]]
) -> None:
    """Copy a server's own rows of tables to another; `tables` has SQL in place of some columns of each."""
    writing.execute("SET session_replication_role = replica")
    for table, changed in tables.items():
        columns = sql.SQL(", ").join(sql.Identifier(column.name) for column in table.c)
        values = sql.SQL(", ").join(
            sql.SQL(changed[column.name]) if column.name in changed else sql.Identifier(column.name)
            for column in table.c
        )
        name = sql.Identifier("public", table.name)
        out = sql.SQL("COPY (SELECT {} FROM {}) TO STDOUT (FORMAT binary)").format(values, name)
        into = sql.SQL("COPY {} ({}) FROM STDIN (FORMAT binary)").format(name, columns)
        with reading.cursor().copy(out) as rows, writing.cursor().copy(into) as copied:
            for part in rows:
                copied.write(part)


def dumped(database: Database) -> dict[str, list[str]]:
    """All rows of hosts that a fleet shows, as text in order; marks by what they ask for, each once.

    Until when a host is refused, as it moves, is left out.
    """
    columns = {
        table.name: ", ".join(column.name for column in table.c if column.name != "moving_until") for table in KEYS
    } | {"marks": "DISTINCT kind, subject_id, service_id, bucket"}
    with database.read() as session:
        return {
            name: sorted(
                row[0]
                for row in session.driver.execute(
                    f"SELECT CAST(t AS text) FROM (SELECT {listed} FROM {name}) AS t".encode()
                )
            )
            for name, listed in columns.items()
        }
