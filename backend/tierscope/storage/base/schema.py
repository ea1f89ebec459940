"""The schema as a whole: bring a database to the newest revision, and say which it has."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from alembic.util.exc import CommandError
from sqlalchemy import Connection, create_engine, text
from sqlalchemy.exc import OperationalError
from sqlalchemy.pool import NullPool

import tierscope
from tierscope.core.clock import utc_now
from tierscope.core.database import Database, WriteTransaction, driver_url
from tierscope.core.errors import ConfigurationError, Unavailable
from tierscope.storage.base.partitions import Mode, ensure_usual_partitions, storage_mode
from tierscope.storage.base.strangers import close_to_strangers

_LOCK_KEY = 0x7469_6572_7363_686D  # "tierschm": one process at a time changes the schema
_PACKAGE = Path(tierscope.__file__).resolve().parent


@dataclass(frozen=True, slots=True)
class SchemaState:
    """Revision of the database and of this release. They are equal when nothing is to be done."""

    revision: str | None
    head: str

    @property
    def current(self) -> bool:
        """Whether the database has the newest revision."""
        return self.revision == self.head


def migrations_dir() -> Path:
    """Returns the directory of the revisions: inside an installed package, else in the source tree."""
    for candidate in (_PACKAGE / "_migrations", _PACKAGE.parent.parent / "migrations"):
        if (candidate / "env.py").is_file():
            return candidate
    raise ConfigurationError("the migrations are not installed with the package", next_step="Install the wheel again.")


def upgrade(url: str, *, storage: Literal["auto", "timescaledb", "native"] = "auto") -> Mode:
    """Brings the database to the newest revision and makes the partitions of the coming days.

    Safe to call from several processes at once and again and again. `storage` counts only for a database without a
    schema: what was chosen then stays.

    Raises:
        Unavailable: the server cannot be reached.
        ConfigurationError: `timescaledb` is asked for and the server does not have it.
    """
    engine = create_engine(driver_url(url), poolclass=NullPool, connect_args={"options": "-c timezone=UTC"})
    try:
        with engine.connect() as connection:
            connection.execute(text("SELECT pg_advisory_lock(:key)"), {"key": _LOCK_KEY})
            connection.commit()
            _run(connection, storage)
            with connection.begin():
                transaction = WriteTransaction(connection)
                ensure_usual_partitions(transaction, utc_now())
                close_to_strangers(transaction.driver)
                return storage_mode(transaction)
    except OperationalError as error:
        raise Unavailable(f"the database cannot be reached or is locked: {error.orig}") from error
    finally:
        engine.dispose()


def downgrade(url: str, revision: str) -> None:
    """Takes the database back to an earlier revision, `base` for no schema at all: what came after it is lost.

    Raises:
        Unavailable: the server cannot be reached.
        ConfigurationError: there is no such revision below the database's own.
    """
    engine = create_engine(driver_url(url), poolclass=NullPool, connect_args={"options": "-c timezone=UTC"})
    try:
        with engine.connect() as connection:
            connection.execute(text("SELECT pg_advisory_lock(:key)"), {"key": _LOCK_KEY})
            connection.commit()
            command.downgrade(_config(connection), revision)
            connection.commit()
    except CommandError as error:
        raise ConfigurationError(
            f"the schema cannot be taken back to {revision!r}: {error}",
            next_step="Name a revision of migrations/versions that is older than the database's.",
        ) from error
    except OperationalError as error:
        raise Unavailable(f"the database cannot be reached or is locked: {error.orig}") from error
    finally:
        engine.dispose()


def schema_state(database: Database) -> SchemaState:
    """Returns the revision of the database beside the newest one of this release."""
    head = ScriptDirectory(str(migrations_dir())).get_current_head()
    if head is None:
        raise ConfigurationError("there are no migrations", next_step="Install the wheel again.")
    with database.read() as session:
        revision = MigrationContext.configure(session.connection).get_current_revision()
    return SchemaState(revision=revision, head=head)


def _run(connection: Connection, storage: str) -> None:
    config = _config(connection)
    config.attributes["storage"] = storage
    command.upgrade(config, "head")
    connection.commit()


def _config(connection: Connection) -> Config:
    config = Config()
    config.set_main_option("script_location", str(migrations_dir()).replace("%", "%%"))
    config.attributes["connection"] = connection
    return config
