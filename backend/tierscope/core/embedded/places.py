"""Where an instance keeps its files.

The base directory comes from the settings (`data_dir`): `/var/lib/tierscope` for root, as a clone in `/root` cannot
be read by the account that the database runs as. Nobody but root and that account can enter it. Its own files belong to
root, so that the account cannot put a link in the way of what root writes. The demo is an instance of its own, in the
`demo` directory below, so that simulated data never meets real data.
"""

import hashlib
import os
import stat
from dataclasses import dataclass
from pathlib import Path

from tierscope.core.embedded.account import Account, first_blocked
from tierscope.core.embedded.errors import EmbeddedError

SCHEDULER = "scheduler"
_OTHERS = 0o077
_OF_FILE_SYSTEMS = frozenset({"lost+found"})
_OURS = frozenset(
    {"postgres", "postgres.new", "database-password", "state.json", "supervisor.lock", "logs", "agent", "demo"}
)
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
    def scheduler(self) -> Path:
        """When the scheduler started what, and the home of the service's processes."""
        return self.data / SCHEDULER

    @property
    def objects(self) -> Path:
        """Bodies of tiles and page samples, where settings keep them in the data directory."""
        return self.data / "objects"

    @property
    def history(self) -> Path:
        """Published days, where settings keep them in the data directory."""
        return self.data / "history"

    @property
    def agent_state(self) -> Path:
        """Credential, spool and status file of the agent on this host."""
        return self.data / "agent"

    @property
    def imports(self) -> Path:
        """What imports remember, so that a second one goes on with the same host."""
        return self.data / "imports"

    @property
    def lock_file(self) -> Path:
        """Held by the running supervisor; two never run on one data directory."""
        return self.data / "supervisor.lock"

    @property
    def port_file(self) -> Path:
        """The port that the instance found free at its first start, and keeps."""
        return self.data / "port"

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
    """Create the directories with their modes and owners, and close what an earlier release left open.

    Raises EmbeddedError when the account cannot reach them, somebody else owns them, or the data directory holds
    something else.
    """
    try:
        _check_contents(places.data)
        _prepare(places, account)
    except OSError as error:
        raise EmbeddedError(
            cause=f"{error.filename or places.data} cannot be prepared: {error.strerror or error}",
            next_step="set TIERSCOPE_DATA_DIR to a directory on a disk that can be written and has room",
        ) from error


def _prepare(places: Places, account: Account) -> None:
    for directory in (places.data, places.run):
        _make_dir(directory)
        account.lets_through(directory)
    for directory in (places.logs, places.agent_state):
        _make_dir(directory)
        directory.chmod(0o700)
    for directory in (places.database, places.objects, places.history, places.scheduler):
        _make_dir(directory, account=account, within_ours=True)
    for directory in (places.database_socket_dir, places.queue_socket.parent):
        _make_dir(directory, account=account, within_ours=True)
    for directory in (places.data, places.logs, places.agent_state):
        _close_files(directory)
    for directory in (places.data, places.run):
        blocked = first_blocked(directory, account)
        if blocked is not None:
            raise EmbeddedError(
                cause=f"the service runs as user '{account.name}', which may not enter {blocked}",
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


def _check_contents(data: Path) -> None:
    """Refuse a directory that is used for something else, as its mode is going to change."""
    if not data.is_dir():
        return
    names = {entry.name for entry in data.iterdir()} - _OF_FILE_SYSTEMS
    if names and not names & _OURS:
        raise EmbeddedError(
            cause=f"{data} holds files that are not Tierscope's",
            next_step="set TIERSCOPE_DATA_DIR to a directory of its own",
        )


def _make_dir(directory: Path, *, account: Account | None = None, within_ours: bool = False) -> None:
    """Create a directory, for `account` alone where one is given; `within_ours`: whatever owner it has, root gave it.

    Parents that are missing are made open to all, whatever the umask: only what they lead to is closed.
    """
    missing = [parent for parent in directory.parents if not parent.exists()]
    for parent in reversed(missing):
        parent.mkdir(exist_ok=True)
        parent.chmod(0o755)
    directory.mkdir(mode=0o700, exist_ok=True)
    info = directory.lstat()
    known = {os.geteuid()} | ({account.uid} if account is not None else set())
    given = within_ours and account is not None and account.drops
    if not stat.S_ISDIR(info.st_mode) or (info.st_uid not in known and not given):
        raise EmbeddedError(
            cause=f"{directory} exists and belongs to somebody else",
            next_step="remove it, or set TIERSCOPE_DATA_DIR to another directory",
        )
    if account is not None:
        account.takes_over(directory)
        directory.chmod(0o700)


def _close_files(directory: Path) -> None:
    for path in directory.iterdir():
        info = path.lstat()
        if stat.S_ISREG(info.st_mode) and info.st_mode & _OTHERS:
            path.chmod(info.st_mode & 0o700)
