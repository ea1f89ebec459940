"""Whether the account that the service runs as can read the files that its settings name."""

import os
from collections.abc import Iterator
from pathlib import Path

from pydantic import BaseModel

from tierscope.core.embedded.account import Account, can_traverse
from tierscope.core.embedded.errors import EmbeddedError
from tierscope.core.settings import DEFAULT_CONFIG_FILE, Settings

_READ, _WRITE = 0o4, 0o2
_WRITTEN = frozenset({"objects.directory"})
_OTHERWISE = frozenset({"data_dir", "database_url_file"})
"""Prepared by the supervisor, which hands the address of the database on in a file of its own."""


def check_settings_readable(settings: Settings, account: Account) -> None:
    """Refuse to start with settings that the service could not follow.

    Raises:
        EmbeddedError: a file or directory is closed to `account`; it says which, and what to do.
    """
    if not account.drops:
        return
    config = Path(os.environ.get("TIERSCOPE_CONFIG", DEFAULT_CONFIG_FILE)).absolute()
    for name, path in (("TIERSCOPE_CONFIG", config), *_named(settings)):
        needed = _READ | (_WRITE if name in _WRITTEN else 0)
        if path.exists() and not _may(account, path.resolve(), needed):
            raise EmbeddedError(
                cause=f"the service runs as user '{account.name}', which may not use {path} ({name})",
                next_step=f"give it to that user: chown -R {account.name} {path}, in a directory that it can enter",
            )


def _named(model: BaseModel, prefix: str = "") -> Iterator[tuple[str, Path]]:
    for name in type(model).model_fields:
        value = getattr(model, name)
        if isinstance(value, BaseModel):
            yield from _named(value, f"{prefix}{name}.")
        elif isinstance(value, Path) and prefix + name not in _OTHERWISE:
            yield prefix + name, value


def _may(account: Account, path: Path, needed: int) -> bool:
    info = path.stat()
    shift = 6 if info.st_uid == account.uid else 3 if info.st_gid == account.gid else 0
    return can_traverse(path if path.is_dir() else path.parent, account) and (info.st_mode >> shift) & needed == needed
