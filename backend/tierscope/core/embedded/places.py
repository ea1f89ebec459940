"""Where an instance keeps its files.

The base directory comes from the settings (`data_dir`): `/var/lib/tierscope` for root, as a clone in `/root` cannot
be read by the account that the database runs as. The demo is an instance of its own, in the `demo` directory below, so
that simulated data never meets real data.
"""

from __future__ import annotations

import hashlib
import os
import stat
from dataclasses import dataclass
from pathlib import Path

from tierscope.core.embedded.account import Account, first_blocked
from tierscope.core.embedded.errors import EmbeddedError

_SOCKET_PATH_LIMIT_BYTES = 100  # sun_path holds 108; servers append suffixes of their own


@dataclass(frozen=True, slots=True)
class Places:
    """The directories and files of one instance. `data` persists; `run` holds sockets and may vanish with a reboot."""

    data: Path
    run: Path

    @property
    def database(self) -> Path:
        """The PostgreSQL cluster."""
        return self.data / "postgres"

    @property
    def password_file(self) -> Path:
        """The database password, readable by the owner of the instance alone."""
        return self.data / "database-password"

    @property
    def binaries(self) -> Path:
        """Copies of server binaries that the servers' account could not reach where they were installed."""
        return self.data / "binaries"

    @property
    def logs(self) -> Path:
        """One log file per component."""
        return self.data / "logs"

    @property
    def agent_state(self) -> Path:
        """Credential, spool and status file of the agent on this host."""
        return self.data / "agent"

    @property
    def lock_file(self) -> Path:
        """Held by the running supervisor; two never run on one data directory."""
        return self.data / "supervisor.lock"

    @property
    def state_file(self) -> Path:
        """What runs: process identities, port, addresses."""
        return self.data / "state.json"

    @property
    def database_socket_dir(self) -> Path:
        """The directory of the database's unix socket."""
        return self.run / "db"

    @property
    def queue_socket(self) -> Path:
        """The queue's unix socket."""
        return self.run / "queue" / "q.sock"


def find_places(data_dir: Path, *, demo: bool = False) -> Places:
    """Return the places of the live instance or of the demo under one base directory. Nothing is created."""
    root = data_dir.expanduser().absolute()
    data = root / "demo" if demo else root
    return Places(data=data, run=_run_dir(data))


def prepare(places: Places, account: Account) -> None:
    """Create the directories with their modes and owners.

    Raises EmbeddedError when the servers' account cannot reach them or somebody else owns the socket directory.
    """
    outer_mode = 0o755 if account.drops else 0o700
    for directory in (places.data, places.logs):
        _make_dir(directory, mode=outer_mode)
    _make_dir(places.run, mode=outer_mode)
    for directory in (places.database, places.database_socket_dir, places.queue_socket.parent):
        _make_dir(directory, mode=0o700, account=account)
    _make_dir(places.agent_state, mode=0o700)
    for directory in (places.data, places.run):
        blocked = first_blocked(directory, account)
        if blocked is not None:
            raise EmbeddedError(
                cause=f"the database runs as user '{account.name}', which may not enter {blocked}",
                next_step="set TIERSCOPE_DATA_DIR to a directory that it can reach, for example /var/lib/tierscope",
            )


def _run_dir(data: Path) -> Path:
    digest = hashlib.sha256(os.fsencode(data)).hexdigest()[:10]
    uid = os.geteuid()
    name = f"tierscope-{digest}"
    candidates = [Path("/run") / name] if uid == 0 else []
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    if uid != 0 and runtime and os.access(runtime, os.W_OK):
        candidates.append(Path(runtime) / name)
    candidates.append(Path("/tmp") / f"tierscope-{uid}-{digest}")  # noqa: S108 - ownership and mode are checked on use
    for candidate in candidates:
        longest = candidate / "queue" / "q.sock"
        if len(os.fsencode(longest)) <= _SOCKET_PATH_LIMIT_BYTES and os.access(candidate.parent, os.W_OK):
            return candidate
    return candidates[-1]


def _make_dir(directory: Path, *, mode: int, account: Account | None = None) -> None:
    directory.parent.mkdir(parents=True, exist_ok=True)
    created = not directory.exists()
    directory.mkdir(mode=mode, exist_ok=True)
    info = directory.lstat()
    allowed = {os.geteuid()} | ({account.uid} if account is not None else set())
    if not stat.S_ISDIR(info.st_mode) or info.st_uid not in allowed:
        raise EmbeddedError(
            cause=f"{directory} exists and belongs to somebody else",
            next_step="remove it, or set TIERSCOPE_DATA_DIR to another directory",
        )
    if account is not None:
        account.owns(directory)
    if created or account is not None:
        directory.chmod(mode)
