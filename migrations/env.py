"""Runs revisions on the connection that `tierscope.storage.base.schema.upgrade` hands over.

A revision never waits longer than 5 s for a lock: it fails and is tried again, so that ingest never queues behind it.
"""

from alembic import context
from sqlalchemy import Connection, text

from tierscope.core.errors import ConfigurationError
from tierscope.storage.tables import metadata

LOCK_TIMEOUT = "5s"


def run() -> None:
    """Applies the revisions in one transaction each."""
    connection = context.config.attributes.get("connection")
    if not isinstance(connection, Connection):
        raise ConfigurationError("revisions run through the product alone", next_step="Run `tierscope migrate`.")
    connection.execute(text(f"SET lock_timeout = '{LOCK_TIMEOUT}'"))
    connection.commit()
    context.configure(connection=connection, target_metadata=metadata, transaction_per_migration=True)
    with context.begin_transaction():
        context.run_migrations()


run()
