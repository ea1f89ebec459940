"""What tasks stand on: one database for the process, opened at first use."""

from functools import lru_cache

from tierscope.core.database import Database
from tierscope.core.errors import ConfigurationError
from tierscope.core.objects.open import open_store
from tierscope.core.settings import Settings
from tierscope.usecases.nodes.fleet import Nodes


@lru_cache(maxsize=1)
def worker_database() -> Database:
    """The database of the settings.

    Raises:
        ConfigurationError: none is configured.
    """
    settings = Settings()
    url = settings.resolve_database_url()
    if url is None:
        raise ConfigurationError(
            "no database is configured", next_step="Set TIERSCOPE_DATABASE_URL, or start with `tierscope up`."
        )
    return Database(
        url, pool_size=settings.database_pool_size, read_statement_seconds=60.0, objects=open_store(settings)
    )


@lru_cache(maxsize=1)
def worker_nodes() -> Nodes:
    """The servers of the fleet."""
    return Nodes(worker_database())
