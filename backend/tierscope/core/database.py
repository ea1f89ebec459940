"""The connection to PostgreSQL: read sessions and write transactions are different types.

A `ReadSession` comes from a pool whose connections are read-only and whose statements are cut off after the limit for
reads; a `WriteTransaction` commits when its block ends and rolls back when it raises. Nothing else commits.
"""

import secrets
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, LiteralString, TypeVar, cast

import orjson
import psycopg
from psycopg import errors as pg_errors
from psycopg.rows import namedtuple_row
from psycopg.types.json import set_json_loads
from sqlalchemy import URL, Connection, CursorResult, Dialect, Engine, Executable, create_engine, event, make_url
from sqlalchemy.exc import DBAPIError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from sqlalchemy.pool import QueuePool

from tierscope.core import generations, metering
from tierscope.core.bounded_connection import GRACE_SECONDS, BoundedConnection
from tierscope.core.errors import BadRequest, SlowQuery, Unavailable
from tierscope.core.objects.store import ObjectReader, ObjectStore

Parameters = Mapping[str, Any] | Sequence[Mapping[str, Any]]
Held = TypeVar("Held")

READ_STATEMENT_SECONDS = 5.0
WRITE_STATEMENT_SECONDS = 60.0
WRITE_LOCK_SECONDS = 10.0
POOL_WAIT_SECONDS = 10.0
SESSION_SECONDS = 3600
"""Sessions are opened anew after so long: a fleet may have become one of several servers meanwhile."""
FLEET_SCHEMA = "tierscope_fleet"
"""Where tables show the rows of all servers of a fleet: storage/nodes/foreign.py. Absent where there is one server."""
_NO_SUCH_TEXT = "a text holds a character that no stored text can hold, such as NUL"
_OTHER_SCHEMA = (pg_errors.UndefinedColumn, pg_errors.UndefinedTable)
_UNFIT_TEXT = (pg_errors.UntranslatableCharacter, pg_errors.CharacterNotInRepertoire)

# Inventories are kilobytes each, and some requests read hundreds.
set_json_loads(orjson.loads)


def driver_url(url: str) -> URL:
    """Returns `url` for the psycopg 3 driver; `postgresql://` and `postgres://` are accepted."""
    parsed = make_url(url)
    if parsed.drivername in ("postgresql", "postgres"):
        parsed = parsed.set(drivername="postgresql+psycopg")
    return parsed


def libpq_url(url: str) -> str:
    """Returns `url` as psycopg and the PostgreSQL tools take it, with its password."""
    return driver_url(url).set(drivername="postgresql").render_as_string(hide_password=False)


class ReadSession:
    """A connection that cannot write. All its statements run in one read-only transaction."""

    def __init__(
        self, connection: Connection, objects: ObjectReader | None = None, *, generation: int | None = None
    ) -> None:
        self._connection = connection
        self.generation = generations.current() if generation is None else generation
        """What is read here may be remembered under this count alone: core/generations.py."""
        self.objects = objects or ObjectReader(None)
        self._held: dict[str, Any] = {}

    def hold(self, key: str, ask: Callable[[], Held]) -> Held:
        """Returns what `ask` says under a key, asked once: only for what cannot change until the transaction ends."""
        if key not in self._held:
            self._held[key] = ask()
        return cast("Held", self._held[key])

    def execute(self, statement: Executable, parameters: Parameters | None = None) -> CursorResult[*tuple[Any, ...]]:
        """Runs one statement and returns its result. Raises what the meter of the question raises: core/metering.py."""
        metering.measure()
        found = self._connection.execute(statement, parameters)
        metering.measure()
        return found

    def ask(self, statement: LiteralString, parameters: Mapping[str, Any] | None = None) -> list[Any]:
        """Runs one statement in the driver's own form (`%(name)s`); its rows with named fields, none where it has none.

        For statements of each batch: it takes a fraction of what `execute` does outside the database.
        """
        metering.measure()
        with self.driver.cursor(row_factory=namedtuple_row) as cursor:
            cursor.execute(statement, parameters)
            found = [] if cursor.description is None else cursor.fetchall()
        metering.measure()
        return found

    def take_time(self) -> None:
        """Lets the statements of this transaction take as long as they need."""
        self._connection.exec_driver_sql("SET LOCAL statement_timeout = 0")
        if isinstance(self.driver, BoundedConnection):
            self.driver.patience_seconds = None

    @property
    def connection(self) -> Connection:
        """The SQLAlchemy connection underneath, in the same transaction."""
        return self._connection

    @property
    def driver(self) -> psycopg.Connection[Any]:
        """The psycopg connection underneath, in the same transaction: for COPY and server-side cursors."""
        connection = self._connection.connection.driver_connection
        if not isinstance(connection, psycopg.Connection):
            raise Unavailable("the database connection was lost", retry_after_seconds=1)
        return connection


class WriteTransaction(ReadSession):
    """One transaction. It commits at the end of the block that `Database.write` opens."""

    def __init__(
        self,
        connection: Connection,
        objects: ObjectReader | None = None,
        coordinator: "Database | None" = None,
        *,
        generation: int | None = None,
        url: str = "",
    ) -> None:
        super().__init__(connection, objects, generation=generation)
        self._url = url
        self.coordinator = coordinator
        """Who numbers what has one number on all servers of a fleet; None where that is this server."""

    def renew_generation(self) -> None:
        """Ends what processes remember of this database, once the transaction commits: core/generations.py."""
        self.ask(generations.RENEW, {"value": secrets.token_hex(8)})

    def look_after(self, lock: LiteralString) -> int:
        """Runs a statement that waits for a lock, then reads the generation anew, in one round trip; returns it."""
        with self.driver.cursor() as cursor:
            cursor.execute(f"{lock}; {generations.LOOK}")
            cursor.nextset()
            (told,) = cursor.fetchall()
        self.generation = generations.seen(self._url, tuple(told))
        return self.generation


class Database:
    """Two pools on one server: one for reads, one for writes. They see all servers of a fleet where it has several."""

    def __init__(
        self,
        url: str,
        *,
        pool_size: int = 8,
        read_statement_seconds: float | None = None,
        objects: ObjectStore | None = None,
        own_rows: bool = False,
        coordinator: "Database | None" = None,
    ) -> None:
        """`own_rows`: of the tables that a fleet of several servers shows as one, see this server's own alone.

        `coordinator`: the first server of that fleet, where this is another one.
        """
        self.url = url
        self._options = "" if own_rows else f' -c search_path={FLEET_SCHEMA},"$user",public'
        self.object_store = objects
        self.objects = ObjectReader(objects)
        seconds = READ_STATEMENT_SECONDS if read_statement_seconds is None else read_statement_seconds
        read = f"-c default_transaction_read_only=on -c statement_timeout={int(seconds * 1000)}"
        write = (
            f"-c statement_timeout={int(WRITE_STATEMENT_SECONDS * 1000)}"
            f" -c lock_timeout={int(WRITE_LOCK_SECONDS * 1000)}"
        )
        self._own_rows = own_rows
        self._read = self._engine(url, options=read, pool_size=pool_size, statement_seconds=seconds)
        self._write = self._engine(
            url, options=write, pool_size=max(2, pool_size // 2), statement_seconds=WRITE_STATEMENT_SECONDS
        )
        self._coordinator = coordinator
        self._sizes = (pool_size, read_statement_seconds)
        self._opening = threading.Lock()
        self._others: dict[str, Database] = {}

    @property
    def own_rows(self) -> "Database":
        """The same server, with pools whose sessions see its own rows alone."""
        return self if self._own_rows else self.other(self.url)

    def other(self, url: str) -> "Database":
        """A server with pools like these, whose sessions see its own rows alone; `close` closes them too."""
        coordinator = None if url == self.url else self.own_rows
        with self._opening:
            if url not in self._others:
                pool_size, seconds = self._sizes
                self._others[url] = Database(
                    url,
                    pool_size=pool_size,
                    read_statement_seconds=seconds,
                    objects=self.object_store,
                    own_rows=True,
                    coordinator=coordinator,
                )
            return self._others[url]

    def part_with(self, url: str) -> None:
        """Closes idle connections to a server that `other` opened; those in use are closed when they are given back."""
        with self._opening:
            gone = self._others.pop(url, None)
        if gone is not None:
            gone.close()

    def _engine(self, url: str, *, options: str, pool_size: int, statement_seconds: float) -> Engine:
        engine = create_engine(
            driver_url(url),
            pool_size=pool_size,
            max_overflow=0,
            pool_timeout=POOL_WAIT_SECONDS,
            pool_recycle=SESSION_SECONDS,
            connect_args={"options": f"-c timezone=UTC -c jit=off {options}{self._options}", "connect_timeout": 5},
        )
        event.listen(engine, "do_connect", partial(_connect_bounded, statement_seconds + GRACE_SECONDS))
        if not self._own_rows:
            event.listen(engine, "connect", _let_nodes_work)
        return engine

    @contextmanager
    def read(self) -> Iterator[ReadSession]:
        """Opens a read-only session.

        Raises:
            Unavailable: the server cannot be reached.
            SlowQuery: a statement ran into the limit for reads.
        """
        with translated(), self._read.connect() as connection:
            yield ReadSession(connection, self.objects, generation=self._look(connection))

    @contextmanager
    def snapshot(self) -> Iterator[ReadSession]:
        """Opens a read-only session whose statements all see one moment, and take as long as they need.

        Raises:
            Unavailable: the server cannot be reached.
        """
        with translated(), self._read.connect() as opened:
            connection = opened.execution_options(isolation_level="REPEATABLE READ")
            generation = self._look(connection)
            session = ReadSession(connection, self.objects, generation=generation)
            session.take_time()
            yield session

    @contextmanager
    def write(self) -> Iterator[WriteTransaction]:
        """Opens a transaction, commits it at the end of the block, rolls it back on an exception.

        Raises:
            Unavailable: the server cannot be reached, or the connection broke; the work was not stored.
        """
        with translated(), self._write.connect() as connection:
            generation = self._look(connection)
            yield WriteTransaction(connection, self.objects, self._coordinator, generation=generation, url=self.url)
            connection.commit()

    def generation(self) -> int:
        """The count of the generation that the database is in now: core/generations.py.

        Raises:
            Unavailable: the server cannot be reached.
        """
        with self.read() as session:
            return session.generation

    def _look(self, connection: Connection) -> int:
        """Begins the transaction of a session: which generation it sees. A connection that has died is opened anew."""
        opened = connection.connection.driver_connection
        if isinstance(opened, BoundedConnection):
            opened.patience_seconds = opened.usual_seconds
        try:
            told = connection.exec_driver_sql(generations.LOOK).one()
        except DBAPIError as error:
            connection.rollback()
            if isinstance(error.orig, pg_errors.UndefinedTable):  # nothing is there yet
                return generations.seen(self.url, ())
            if not error.connection_invalidated:
                raise
            told = connection.exec_driver_sql(generations.LOOK).one()
        return generations.seen(self.url, tuple(told))

    def connections(self) -> dict[str, tuple[int, int]]:
        """Connections of the pools of reads and writes: in use, and at most."""
        return {name: _pool_use(engine) for name, engine in (("read", self._read), ("write", self._write))}

    def close(self) -> None:
        """Closes all idle connections."""
        with self._opening:
            others = list(self._others.values())
        for other in others:
            other.close()
        self._read.dispose()
        self._write.dispose()


def _connect_bounded(
    patience_seconds: float, _: Dialect, __: object, arguments: Sequence[Any], named: Mapping[str, Any]
) -> BoundedConnection:
    opened = BoundedConnection.connect(*arguments, **named)
    opened.usual_seconds = opened.patience_seconds = patience_seconds
    return opened


def _let_nodes_work(connection: psycopg.Connection[Any], _: object) -> None:
    """Lets a new session that sees several servers have them join and sum by themselves; with one, nothing changes."""
    connection.execute(
        "SELECT set_config('enable_partitionwise_join', 'on', false),"
        " set_config('enable_partitionwise_aggregate', 'on', false) WHERE to_regnamespace(%s::text) IS NOT NULL",
        [FLEET_SCHEMA],
    )
    connection.commit()


def _pool_use(engine: Engine) -> tuple[int, int]:
    pool = engine.pool
    return (pool.checkedout(), pool.size()) if isinstance(pool, QueuePool) else (0, 0)


@contextmanager
def translated() -> Iterator[None]:
    """Turns the driver's errors that a caller can act on into ours."""
    try:
        yield
    except PoolTimeoutError as error:
        raise Unavailable("all database connections are in use", retry_after_seconds=2) from error
    except DBAPIError as error:
        raise _known(error, error.orig, disconnected=error.connection_invalidated) from error
    except psycopg.Error as error:
        raise _known(error, error, disconnected=isinstance(error, psycopg.OperationalError)) from error
    except UnicodeEncodeError as error:
        # Half a character, which the driver leaves to Python.
        raise BadRequest(_NO_SUCH_TEXT) from error


def _known(error: Exception, cause: BaseException | None, *, disconnected: bool) -> Exception:
    if isinstance(cause, pg_errors.QueryCanceled):
        return SlowQuery("a statement ran into the limit for reads", retry_after_seconds=5)
    if isinstance(cause, pg_errors.LockNotAvailable | pg_errors.DeadlockDetected | pg_errors.SerializationFailure):
        return Unavailable("the database is busy with another change", retry_after_seconds=1)
    if isinstance(cause, pg_errors.ForeignKeyViolation):
        # A purge or a restore came between the look and the write; the next try looks again.
        name = cause.diag.constraint_name
        return Unavailable(f"what this refers to has just been removed ({name})", retry_after_seconds=1)
    if type(cause) is psycopg.DataError or isinstance(cause, _UNFIT_TEXT):
        # The driver's own refusal, before anything was sent, or the server's: a NUL or half a character in a text.
        return BadRequest(_NO_SUCH_TEXT)
    if isinstance(cause, _OTHER_SCHEMA):
        # While servers are upgraded one after the other: agents keep their batches meanwhile.
        return Unavailable(
            f"the database's schema is not of this release: {str(cause).splitlines()[0]}",
            retry_after_seconds=30,
            next_step="Run `tierscope migrate`: it brings all servers of a fleet to this release.",
        )
    if isinstance(cause, pg_errors.DiskFull):
        return Unavailable("the disk of the database is full; free space there", retry_after_seconds=5)
    if disconnected or isinstance(error, OperationalError):
        return Unavailable("the database cannot be reached", retry_after_seconds=5)
    return error
