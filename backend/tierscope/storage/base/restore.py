"""A database that is filled beside the one in use, and takes its place when it is complete."""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from psycopg import sql
from sqlalchemy import make_url

from tierscope.core.database import libpq_url, translated


@contextmanager
def replaced_database(url: str, *, timescaledb: bool = True) -> Iterator[str]:
    """Yields the name of a new database that is ready for `pg_restore` of a backup, by default with TimescaleDB.

    When the block ends well, the new database takes the name of the one in `url`, which is dropped, whoever is
    connected. When it raises, the new one is dropped and nothing has changed. The role must be allowed to make
    databases.

    Raises:
        Unavailable: the server cannot be reached.
    """
    old = make_url(url).database or "tierscope"
    new = f"{old}_restored_{secrets.token_hex(4)}"
    server = libpq_url(make_url(url).set(database="postgres").render_as_string(hide_password=False))
    with translated(), psycopg.connect(server, autocommit=True) as connection:
        _run(connection, "CREATE DATABASE {} TEMPLATE template0 ENCODING 'UTF8'", new)
        try:
            target = libpq_url(make_url(url).set(database=new).render_as_string(hide_password=False))
            if timescaledb:
                with psycopg.connect(target, autocommit=True) as inside:
                    inside.execute("CREATE EXTENSION timescaledb")
                    inside.execute("SELECT timescaledb_pre_restore()")
            yield new
            if timescaledb:
                with psycopg.connect(target, autocommit=True) as inside:
                    inside.execute("SELECT timescaledb_post_restore()")
        except BaseException:
            _run(connection, "DROP DATABASE {} WITH (FORCE)", new)
            raise
        _run(connection, "DROP DATABASE {} WITH (FORCE)", old)
        _run(connection, "ALTER DATABASE {} RENAME TO {}", new, old)


def _run(connection: psycopg.Connection[tuple[object, ...]], statement: str, *names: str) -> None:
    connection.execute(sql.SQL(statement).format(*map(sql.Identifier, names)))
