"""The store that the settings name."""

from pathlib import Path

from tierscope.core.errors import ConfigurationError
from tierscope.core.objects.directory import DirectoryStore
from tierscope.core.objects.s3 import S3Store
from tierscope.core.objects.store import ObjectStore
from tierscope.core.settings import Settings


def store_directory(settings: Settings) -> Path | None:
    """The directory that bodies are in; None where they are elsewhere."""
    chosen = settings.objects
    return (chosen.directory or settings.data_dir / "objects") if chosen.store == "directory" else None


def open_store(settings: Settings) -> ObjectStore | None:
    """The store of the settings; None where bodies stay in the database.

    Raises:
        ConfigurationError: a setting is missing, or the library of the store is not installed.
        OutgoingRefused: the store's address is internal, and not one that may be called.
    """
    chosen = settings.objects
    if chosen.store == "database":
        return None
    directory = store_directory(settings)
    if directory is not None:
        return DirectoryStore(directory)
    if not chosen.bucket:
        raise ConfigurationError(
            "the object store has no bucket", next_step="Set TIERSCOPE_OBJECTS__BUCKET to its name."
        )
    return S3Store(chosen, settings.outgoing)
