"""The system account that an instance started by root runs as.

Root starts and supervises; database, queue, API, worker and scheduler run as an account of their own, which is made
where it does not exist. An account that others use too, such as `nobody`, is refused: whoever else runs as it would own
the data. Started by anyone but root, everything runs as that user.
"""

import os
import pwd
import shutil
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from tierscope.core.embedded.errors import EmbeddedError

DEFAULT_ACCOUNT = "tierscope"
_SHARED = frozenset({"nobody"})
_UNKNOWN_ID = -1
_X_OTHER, _X_GROUP, _X_OWNER = 0o001, 0o010, 0o100
_MAKING_TRIES = 20
_MAKING_PAUSE_SECONDS = 0.25


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
            os.chown(path, self.uid, self.gid, follow_symlinks=False)

    def lets_through(self, directory: Path) -> None:
        """Let this account enter a directory of root's, and nobody else; without a change of ids it can already."""
        if self.drops:
            os.chown(directory, 0, self.gid, follow_symlinks=False)
        directory.chmod(0o710 if self.drops else 0o700)

    def takes_over(self, directory: Path) -> None:
        """Make this account the owner of a tree that another one of this machine has had.

        Only what belonged to the owner of `directory` changes hands. The directory itself comes last, so that a
        take-over that was cut short is done again.
        """
        former = directory.lstat().st_uid
        if not self.drops or former == self.uid:
            return
        for parent, below, names in os.walk(directory):
            for name in (*below, *names):
                path = Path(parent, name)
                if path.lstat().st_uid == former:
                    self.owns(path)
        self.owns(directory)


def choose_account(name: str = DEFAULT_ACCOUNT, *, create: bool = True) -> Account:
    """Return the account to run as: the caller's own, or the system account `name` when the caller is root.

    A system account that does not exist is made; without `create` it is returned with ids that nobody has.

    Raises:
        EmbeddedError: the account is root's or a shared one, or it cannot be made.
    """
    if os.geteuid() != 0:
        own = os.geteuid()
        try:
            login = pwd.getpwuid(own).pw_name
        except KeyError:
            login = str(own)
        return Account(name=login, uid=own, gid=os.getegid(), drops=False)
    entry = _look_up(name) or (_make(name) if create else None)
    if entry is None:
        return Account(name=name, uid=_UNKNOWN_ID, gid=_UNKNOWN_ID, drops=True)
    if entry.pw_uid == 0 or name in _SHARED:
        raise EmbeddedError(
            cause=f"the account '{name}' is not Tierscope's own",
            next_step="set TIERSCOPE_ACCOUNT to a system account that nothing else runs as",
        )
    return Account(name=name, uid=entry.pw_uid, gid=entry.pw_gid, drops=True)


def become_owner(directory: Path) -> None:
    """As root, become the owner of a directory for good, so that what is made in it is theirs; nothing for others."""
    if os.geteuid() != 0 or not directory.exists():
        return
    owner = directory.stat()
    if owner.st_uid == 0:
        return
    os.setgroups([])
    os.setgid(owner.st_gid)
    os.setuid(owner.st_uid)


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


def _look_up(name: str) -> pwd.struct_passwd | None:
    try:
        return pwd.getpwnam(name)
    except KeyError:
        return None


def _make(name: str) -> pwd.struct_passwd:
    """Make a system account without home and login. Others may be making it at the same time."""
    tool = shutil.which("useradd") or shutil.which("useradd", path="/usr/sbin:/sbin")
    said = "there is no useradd"
    if tool is not None:
        command = [tool, "--system", "--user-group", "--no-create-home", "--home-dir", "/nonexistent"]
        command += ["--shell", "/usr/sbin/nologin", "--comment", "Tierscope", "--", name]
        for _ in range(_MAKING_TRIES):
            done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - built here
            entry = _look_up(name)
            if entry is not None:
                return entry
            said = done.stderr.strip() or f"useradd ended with {done.returncode}"
            if "lock" not in said:
                break
            time.sleep(_MAKING_PAUSE_SECONDS)
    raise EmbeddedError(
        cause=f"the system account '{name}' does not exist and cannot be made: {said}",
        next_step=f"make it, or name another one in TIERSCOPE_ACCOUNT: useradd --system --user-group {name}",
    )


def _has_execute(path: Path, account: Account) -> bool:
    info = path.stat()
    if info.st_uid == account.uid:
        return bool(info.st_mode & _X_OWNER)
    if info.st_gid == account.gid:
        return bool(info.st_mode & _X_GROUP)
    return bool(info.st_mode & _X_OTHER)
