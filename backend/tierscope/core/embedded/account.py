"""The system account that the embedded servers run as.

PostgreSQL refuses to run as root. Started by root, the servers run as user `tierscope` where that account exists, else
as `nobody`. Started by anyone else, they run as that user.
"""

from __future__ import annotations

import os
import pwd
from dataclasses import dataclass
from pathlib import Path

_CANDIDATES = ("tierscope", "nobody")
_X_OTHER, _X_GROUP, _X_OWNER = 0o001, 0o010, 0o100


@dataclass(frozen=True, slots=True)
class Account:
    """A system account by name and ids; `drops` tells whether a child must change its ids to become it."""

    name: str
    uid: int
    gid: int
    drops: bool

    def owns(self, path: Path) -> None:
        """Make this account the owner of `path`; only root changes owners, for others it is theirs already."""
        if self.drops:
            os.chown(path, self.uid, self.gid)


def choose_account() -> Account:
    """Return the account for servers: the caller's own, or an unprivileged one when the caller is root."""
    if os.geteuid() != 0:
        own = os.geteuid()
        try:
            name = pwd.getpwuid(own).pw_name
        except KeyError:
            name = str(own)
        return Account(name=name, uid=own, gid=os.getegid(), drops=False)
    for name in _CANDIDATES:
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        return Account(name=name, uid=entry.pw_uid, gid=entry.pw_gid, drops=True)
    return Account(name="65534", uid=65534, gid=65534, drops=True)


def can_traverse(path: Path, account: Account) -> bool:
    """Tell whether `account` may enter `path` and each directory above it, by the permission bits alone."""
    resolved = path.resolve()
    return all(_has_execute(part, account) for part in (resolved, *resolved.parents))


def first_blocked(path: Path, account: Account) -> Path | None:
    """Return the topmost directory on the way to `path` that `account` may not enter, or None."""
    resolved = path.resolve()
    for part in (*reversed(resolved.parents), resolved):
        if part.exists() and not _has_execute(part, account):
            return part
    return None


def _has_execute(path: Path, account: Account) -> bool:
    info = path.stat()
    if info.st_uid == account.uid:
        return bool(info.st_mode & _X_OWNER)
    if info.st_gid == account.gid:
        return bool(info.st_mode & _X_GROUP)
    return bool(info.st_mode & _X_OTHER)
