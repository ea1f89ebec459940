"""Files that nobody but their owner can read, whatever the umask, from the moment they exist."""

import contextlib
import os
from pathlib import Path

from tierscope.core.embedded.account import Account

_MODE = 0o600


def write_private(path: Path, text: str, *, account: Account | None = None) -> None:
    """Replace `path` at once or not at all by a file of mode 0600 that belongs to `account`, else to the caller.

    Raises OSError when it cannot be written; nothing is left of it then.
    """
    partial = path.with_name(f"{path.name}.{os.getpid()}")
    partial.unlink(missing_ok=True)
    descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _MODE)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            os.fchmod(file.fileno(), _MODE)
            file.write(text)
        if account is not None:
            account.owns(partial)
        partial.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            partial.unlink()
        raise


def open_log(path: Path) -> int:
    """Return a descriptor that appends to a log of mode 0600. Raises OSError."""
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, _MODE)
    os.fchmod(descriptor, _MODE)
    return descriptor
