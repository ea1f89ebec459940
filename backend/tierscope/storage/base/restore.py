"""A database that is filled beside the one in use, and takes its place in one transaction when it is complete.

Its name is that of the one in use with `_restored_` and a token; the one that it replaces is called `_replaced_` with
that token until it is dropped. A restore that is killed leaves one of both, and the next one drops it.
"""

import re
import secrets
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

import psycopg
from psycopg import errors as pg_errors
from psycopg import sql
from sqlalchemy import make_url

from tierscope.core.database import ReadSession, libpq_url, translated
from tierscope.core.errors import ConfigurationError, Conflict
from tierscope.storage.base.strangers import close_to_strangers

CONNECT_SECONDS = 5
_MARK = "Made by a restore of Tierscope; nobody uses it."
"""The comment of such a database: none is dropped for its name alone.

PostgreSQL makes a database and comments on it in two transactions. In between it lets nobody in, so that one without a
comment which was left there holds nothing.
"""
_KEPT_OF_NAME = 44
"""Characters of a database's name that stand in the names of those beside it: PostgreSQL cuts names after 63 bytes."""
_END_EVERY_SECONDS = 0.05
PATIENT = "-c deadlock_timeout=10s"
"""For a session that others give way to: the server ends whoever looks first whether sessions wait for each other.

Those of the service look after a second. They wait no longer than this for a lock, answer 503 and are asked again.
"""

_Connection = psycopg.Connection[tuple[object, ...]]


def may_be_patient(session: ReadSession) -> bool:
    """Whether this role may set what `PATIENT` says: a superuser, or one to whom it was granted."""
    asked = session.driver.execute("SELECT has_parameter_privilege('deadlock_timeout', 'SET')").fetchone()
    return asked == (True,)


@dataclass(frozen=True, slots=True)
class Beside:
    """A database beside another one of its server. Each method may be called again after it was cut off."""

    url: str
    """Of the database whose place it is to take."""
    token: str
    """Of the restore: the same on all servers."""

    @property
    def old(self) -> str:
        """The name whose place it takes."""
        return make_url(self.url).database or "tierscope"

    @property
    def name(self) -> str:
        """Its own name until then."""
        return f"{self.old[:_KEPT_OF_NAME]}_restored_{self.token}"

    @property
    def replaced(self) -> str:
        """The name of the one that was replaced."""
        return f"{self.old[:_KEPT_OF_NAME]}_replaced_{self.token}"

    @property
    def filled_url(self) -> str:
        """Its address until it takes its place."""
        return make_url(self.url).set(database=self.name).render_as_string(hide_password=False)

    def require_timescaledb(self, version: str | None) -> None:
        """Looks whether this server can take a backup with TimescaleDB, of that version where it is known.

        Raises:
            ConfigurationError: the server lacks the extension, or that version of it, or the role is no superuser.
            Unavailable: the server cannot be reached.
        """
        with translated(), _server(self.url) as server:
            offered = "SELECT version FROM pg_available_extension_versions WHERE name = 'timescaledb'"
            versions = {str(row[0]) for row in server.execute(offered)}
            role = server.execute("SELECT FROM pg_roles WHERE rolname = current_user AND rolsuper").fetchone()
        if not versions or version not in {None, *versions}:
            has = f"has {', '.join(sorted(versions))}" if versions else "does not have the extension"
            raise ConfigurationError(
                f"the backup has TimescaleDB {version or ''}".rstrip() + f", and the server of {self.old} {has}",
                next_step=f"Install TimescaleDB {version or ''}".rstrip() + " there; it may be updated afterwards.",
            )
        if role is None:
            raise ConfigurationError(
                f"TimescaleDB lets only a superuser restore, and the role for {self.old} is none",
                next_step="Name a superuser in the address for the restore.",
            )

    def make(self, *, timescaledb: bool, version: str | None = None) -> None:
        """Makes it, empty and ready for `pg_restore` of a backup, of that version of TimescaleDB where it is known."""
        with translated(), _server(self.url) as server:
            _run(server, "CREATE DATABASE {} TEMPLATE template0 ENCODING 'UTF8' ALLOW_CONNECTIONS false", self.name)
            _mark(server, self.name)
            _run(server, "ALTER DATABASE {} ALLOW_CONNECTIONS true", self.name)
        if timescaledb:
            with translated(), psycopg.connect(libpq_url(self.filled_url), autocommit=True) as inside:
                of = sql.SQL("") if version is None else sql.SQL(" VERSION {}").format(sql.Identifier(version))
                inside.execute(sql.SQL("CREATE EXTENSION timescaledb{}").format(of))
                inside.execute("SELECT timescaledb_pre_restore()")

    def complete(self, *, timescaledb: bool) -> None:
        """Ends what a restore began, once `pg_restore` has ended."""
        with translated(), psycopg.connect(libpq_url(self.filled_url), autocommit=True) as inside:
            if timescaledb:
                inside.execute("SELECT timescaledb_post_restore()")
            close_to_strangers(inside)

    def take_place(self) -> None:
        """Takes the name of the old one, whose sessions end, in one transaction. Nothing where that was done.

        Raises:
            Conflict: somebody stays connected whom our role may not disconnect.
            Unavailable: the server cannot be reached; whether it was done is seen by calling this again.
        """
        old, name, replaced = self.old, self.name, self.replaced
        with translated(), _server(self.url) as server, _ended_sessions(self.url, old, name):
            try:
                with server.transaction():
                    there = _names(server)
                    if name not in there:
                        return
                    if old in there:
                        rename(server, old, replaced)
                        _mark(server, replaced)
                    rename(server, name, old)
                    _run(server, "COMMENT ON DATABASE {} IS NULL", old)
            except pg_errors.ObjectInUse as error:
                raise Conflict(
                    f"somebody stays connected to the database {old}",
                    next_step="End those sessions, and run this again.",
                ) from error

    def is_beside(self) -> bool:
        """Whether it has still to take its place. Waits for who is about to let it."""
        with translated(), _server(self.url) as server:
            try:
                _mark(server, self.name)
            except pg_errors.InvalidCatalogName:
                return False
        return True

    def drop(self) -> None:
        """Drops it where it has not taken its place."""
        self._drop(self.name)

    def drop_replaced(self) -> None:
        """Drops what it replaced."""
        self._drop(self.replaced)

    def _drop(self, name: str) -> None:
        with translated(), _server(self.url) as server:
            if name in _left_over(server):
                _run(server, "DROP DATABASE {} WITH (FORCE)", name)


@contextmanager
def restoring(url: str) -> Iterator[str]:
    """Keeps others from restoring to a database; yields a token for what is made beside it.

    Raises:
        Conflict: somebody restores to it now.
        Unavailable: the server cannot be reached.
    """
    key = f"tierscope restores {make_url(url).database}"
    with translated(), _server(url) as server:
        row = server.execute("SELECT pg_try_advisory_lock(hashtextextended(%s, 0))", [key]).fetchone()
        if row is None or not row[0]:
            raise Conflict("somebody else restores to this database now", next_step="Wait until that has ended.")
        yield secrets.token_hex(4)


def tokens_left(url: str) -> list[str]:
    """Tokens of restores to a database that were cut off: what they filled, or what they replaced, is still there.

    Call it within `restoring`.
    """
    old = re.escape((make_url(url).database or "tierscope")[:_KEPT_OF_NAME])
    with translated(), _server(url) as server:
        names = _left_over(server)
    found = (re.fullmatch(rf"{old}_(?:restored|replaced)_([0-9a-f]{{8}})", name) for name in names)
    return sorted({match[1] for match in found if match is not None})


@contextmanager
def replaced_database(url: str) -> Iterator[str]:
    """Yields the name of a new database that is ready for `pg_restore` of a backup with TimescaleDB.

    When the block ends well, the new database takes the place of the one in `url`, which is dropped, whoever is
    connected. When it raises, the new one is dropped and nothing has changed.

    Raises:
        ConfigurationError: the server lacks TimescaleDB, or the role is no superuser.
        Conflict: somebody restores to it now.
        Unavailable: the server cannot be reached.
    """
    with restoring(url) as token:
        for left in tokens_left(url):
            Beside(url, left).drop()
            Beside(url, left).drop_replaced()
        beside = Beside(url, token)
        beside.require_timescaledb(None)
        try:
            beside.make(timescaledb=True)
            yield beside.name
            beside.complete(timescaledb=True)
            beside.take_place()
        except BaseException:
            beside.drop()
            raise
        beside.drop_replaced()


@contextmanager
def _ended_sessions(url: str, *names: str) -> Iterator[None]:
    """Ends sessions of databases again and again while the block waits for their end."""
    done = threading.Event()

    def end() -> None:
        with suppress(psycopg.Error), _server(url) as server:  # the block says why it cannot go on
            while not done.is_set():
                server.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = ANY(%s)"
                    " AND backend_type = 'client backend' AND pg_has_role(usesysid, 'MEMBER')",
                    [list(names)],
                )
                done.wait(_END_EVERY_SECONDS)

    thread = threading.Thread(target=end, name="end-sessions", daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def rename(server: _Connection, name: str, to: str) -> None:
    """Gives a database another name, in the transaction of the connection."""
    _run(server, "ALTER DATABASE {} RENAME TO {}", name, to)


def _server(url: str) -> _Connection:
    address = make_url(url).set(database="postgres").render_as_string(hide_password=False)
    return psycopg.connect(libpq_url(address), autocommit=True, connect_timeout=CONNECT_SECONDS)


def _names(server: _Connection) -> set[str]:
    return {str(row[0]) for row in server.execute("SELECT datname FROM pg_database")}


def _left_over(server: _Connection) -> set[str]:
    """Databases that a restore made, those that it had no time to comment on among them."""
    statement = (
        "SELECT datname FROM pg_database CROSS JOIN LATERAL shobj_description(oid, 'pg_database') AS said"
        " WHERE said = %s OR (said IS NULL AND NOT datallowconn AND datname ~ '_restored_[0-9a-f]{8}$')"
    )
    return {str(row[0]) for row in server.execute(statement, [_MARK])}


def _mark(server: _Connection, name: str) -> None:
    server.execute(sql.SQL("COMMENT ON DATABASE {} IS {}").format(sql.Identifier(name), sql.Literal(_MARK)))


def _run(server: _Connection, statement: str, *names: str) -> None:
    server.execute(sql.SQL(statement).format(*map(sql.Identifier, names)))
