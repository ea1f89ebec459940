"""The stores that the settings name."""

from pathlib import Path

from tierscope.core.errors import ConfigurationError
from tierscope.core.objects.directory import DirectoryStore
from tierscope.core.objects.s3 import S3Store
from tierscope.core.objects.store import ObjectStore
from tierscope.core.settings import History, Objects, Settings


def store_directory(settings: Settings) -> Path | None:
    """The directory that bodies are in; None where they are elsewhere."""
    return _directory(settings, settings.objects, "objects")


def history_directory(settings: Settings) -> Path | None:
    """The directory that closed days are published in; None where they are elsewhere, or not published."""
    return _directory(settings, settings.history, "history")


def open_store(settings: Settings) -> ObjectStore | None:
    """The store of bodies; None where they stay in the database.

    Raises:
        ConfigurationError: a setting is missing, or the library of the store is not installed.
        OutgoingRefused: the store's address is internal, and not one that may be called.
    """
    return _open(settings, settings.objects, "objects")


def open_history(settings: Settings) -> ObjectStore | None:
    """Where closed days are published; None where they are not. Raises what `open_store` raises."""
    return _open(settings, settings.history, "history")


def _open(settings: Settings, chosen: Objects | History, name: str) -> ObjectStore | None:
    directory = _directory(settings, chosen, name)
    if directory is not None:
        return DirectoryStore(directory)
    if chosen.store != "s3":
        return None
    if not chosen.bucket:
        raise ConfigurationError(
            "the object store has no bucket", next_step=f"Set TIERSCOPE_{name.upper()}__BUCKET to its name."
        )
    return S3Store(chosen, settings.outgoing)


def _directory(settings: Settings, chosen: Objects | History, name: str) -> Path | None:
    return (chosen.directory or settings.data_dir / name) if chosen.store == "directory" else None
