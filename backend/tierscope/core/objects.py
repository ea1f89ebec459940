"""Objects by key: a small interface, and a directory that keeps them as files. S3 is in core/s3.py.

An object never changes once it was put: its key ends in the checksum of its bytes, which is checked as it is read.
"""

import hashlib
import os
import secrets
import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

from tierscope.core.errors import ConfigurationError, ObjectMissing, Unavailable
from tierscope.core.settings import Settings

CHECKSUM_CHARACTERS = 32
RETRY_SECONDS = 30
MOST_KEPT_BYTES = 32 << 20


@dataclass(frozen=True, slots=True)
class FoundObject:
    """An object in a listing."""

    key: str
    size_bytes: int
    changed_at: datetime


class ObjectStore(Protocol):
    """Where objects are kept. All calls raise `Unavailable` while the store cannot be reached."""

    def put(self, key: str, body: bytes) -> None:
        """Store an object; doing so again changes nothing. It is durable when this returns."""

    def get(self, key: str) -> bytes:
        """The bytes that were put, checked; ObjectMissing where they are not there."""

    def delete(self, keys: Sequence[str]) -> None:
        """Remove objects; those that are not there are none the less removed."""

    def list(self, prefix: str) -> Iterator[FoundObject]:
        """Objects whose key begins with `prefix`, in order of their keys."""


class ObjectReader:
    """Reads bodies that rows refer to, and keeps the newest of them: an object never changes under its key."""

    def __init__(self, store: ObjectStore | None) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, bytes] = OrderedDict()

    def get(self, key: str) -> bytes:
        """The bytes of an object.

        Raises:
            Unavailable: the store cannot be reached, or none is set.
            ObjectMissing: it is not there.
        """
        with self._lock:
            known = self._kept.get(key)
            if known is not None:
                self._kept.move_to_end(key)
                return known
        if self._store is None:
            raise Unavailable(
                "these rows are in an object store, and none is set",
                next_step="Set TIERSCOPE_OBJECTS__STORE as it was when they were moved.",
                retry_after_seconds=RETRY_SECONDS,
            )
        body = self._store.get(key)
        with self._lock:
            self._kept[key] = body
            while sum(map(len, self._kept.values())) > MOST_KEPT_BYTES:
                self._kept.popitem(last=False)
        return body


def open_store(settings: Settings) -> ObjectStore | None:
    """The store of the settings; None where bodies stay in the database.

    Raises:
        ConfigurationError: a setting is missing, or the library of the store is not installed.
        OutgoingRefused: the store's address is internal, and not one that may be called.
    """
    chosen = settings.objects
    if chosen.store == "database":
        return None
    if chosen.store == "directory":
        return DirectoryStore(chosen.directory or settings.data_dir / "objects")
    if not chosen.bucket:
        raise ConfigurationError(
            "the object store has no bucket", next_step="Set TIERSCOPE_OBJECTS__BUCKET to its name."
        )
    from tierscope.core.s3 import S3Store  # noqa: PLC0415 - its library is an extra that an installation may lack

    return S3Store(chosen, settings.outgoing)


def checksum(body: bytes) -> str:
    """What a key ends in."""
    return hashlib.sha256(body).hexdigest()[:CHECKSUM_CHARACTERS]


def check_body(key: str, body: bytes) -> bytes:
    """The body, if it is the one that was put under this key.

    Raises:
        ObjectMissing: it is another.
    """
    if checksum(body) not in key.rpartition("/")[2]:
        raise ObjectMissing(f"the object {key} is damaged", retry_after_seconds=RETRY_SECONDS)
    return body


class DirectoryStore:
    """Files in a directory that all processes of the service see."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def put(self, key: str, body: bytes) -> None:
        """Write to a name of its own, sync, and rename: what has a key is whole."""
        path = self._path(key)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            made = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
            with made.open("wb") as file:
                file.write(body)
                file.flush()
                os.fsync(file.fileno())
            made.rename(path)
            for parent in (path.parent, *path.parent.parents):
                _sync(parent)
                if parent == self._root:
                    break
        except OSError as error:
            raise _unavailable(error) from error

    def get(self, key: str) -> bytes:
        """Read the file."""
        try:
            return check_body(key, self._path(key).read_bytes())
        except FileNotFoundError as error:
            raise ObjectMissing(f"the object {key} is gone", retry_after_seconds=RETRY_SECONDS) from error
        except OSError as error:
            raise _unavailable(error) from error

    def delete(self, keys: Sequence[str]) -> None:
        """Remove the files; empty directories of days that are over stay until they are removed by hand."""
        try:
            for key in keys:
                self._path(key).unlink(missing_ok=True)
        except OSError as error:
            raise _unavailable(error) from error

    def list(self, prefix: str) -> Iterator[FoundObject]:
        """Walk the directory that the prefix lies in."""
        within = self._path(prefix.rpartition("/")[0] or ".")
        for path in sorted(within.rglob("*")):
            key = path.relative_to(self._root).as_posix()
            if key.startswith(prefix) and not path.name.startswith(".") and path.is_file():
                status = path.stat()
                yield FoundObject(key, status.st_size, datetime.fromtimestamp(status.st_mtime, UTC))

    def _path(self, key: str) -> Path:
        path = (self._root / key).resolve()
        if not path.is_relative_to(self._root.resolve()):
            raise ObjectMissing(f"{key[:80]!r} is no key of an object")
        return path


def _sync(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _unavailable(error: OSError) -> Unavailable:
    cause = error.strerror or type(error).__name__
    return Unavailable(f"the directory of objects cannot be used: {cause}", retry_after_seconds=RETRY_SECONDS)
