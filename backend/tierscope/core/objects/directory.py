"""Objects as files in a directory."""

import os
import secrets
import stat
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from io import BufferedWriter
from pathlib import Path

from tierscope.core.errors import ObjectMissing, Unavailable
from tierscope.core.objects.store import RETRY_SECONDS, FoundObject, check_body

_TRIES = 10


class DirectoryStore:
    """Files in a directory that all processes of the service see."""

    def __init__(self, root: Path) -> None:
        self._root = root.resolve()

    def put(self, key: str, body: bytes) -> None:
        """Write to a name of its own, sync, and rename: what has a key is whole.

        Who may enter the directory may read the file, whatever the umask: its mode says who that is.
        """
        path = self._path(key)
        try:
            made = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
            with _made(made) as file:
                mode = self._root.stat().st_mode & 0o777
                os.fchmod(file.fileno(), mode & 0o666)
                file.write(body)
                file.flush()
                os.fsync(file.fileno())
            made.rename(path)
            for within in path.relative_to(self._root).parents:
                parent = self._root / within
                its = stat.S_IMODE(parent.stat().st_mode)
                if its & 0o777 != mode:
                    parent.chmod(its & ~0o777 | mode)
                _sync(parent)
        except OSError as error:
            raise _unavailable(error) from error

    def get(self, key: str, digest: str | None = None) -> bytes:
        """Read the file."""
        try:
            return check_body(key, self._path(key).read_bytes(), digest)
        except FileNotFoundError as error:
            raise ObjectMissing(f"the object {key} is gone", retry_after_seconds=RETRY_SECONDS) from error
        except OSError as error:
            raise _unavailable(error) from error

    def delete(self, keys: Sequence[str]) -> None:
        """Remove the files, and the directories that they leave empty, which name a host."""
        try:
            for key in keys:
                path = self._path(key)
                path.unlink(missing_ok=True)
                for parent in path.relative_to(self._root).parents[:-1]:
                    with suppress(OSError):  # not empty, or gone
                        (self._root / parent).rmdir()
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
        if not path.is_relative_to(self._root):
            raise ObjectMissing(f"{key[:80]!r} is no key of an object")
        return path


def _made(path: Path) -> BufferedWriter:
    """A new file; its directory may have been removed, as empty, since it was made."""
    for _ in range(_TRIES):
        path.parent.mkdir(parents=True, exist_ok=True)
        with suppress(FileNotFoundError):
            return path.open("wb")
    return path.open("wb")


def _sync(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _unavailable(error: OSError) -> Unavailable:
    cause = error.strerror or type(error).__name__
    return Unavailable(f"the directory of objects cannot be used: {cause}", retry_after_seconds=RETRY_SECONDS)
