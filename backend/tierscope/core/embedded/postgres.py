"""The embedded PostgreSQL: one cluster in the data directory, reached through a unix socket only.

Passwords are random and checked with SCRAM; nothing listens on the network; the server never runs as root. The server
is a direct child of the supervisor, so that it cannot outlive it: when the supervisor is killed, the kernel sends
SIGINT, PostgreSQL's fast shutdown.
"""

import os
import secrets
import shutil
import signal
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psycopg
from psycopg.pq import PGconn, Ping

from tierscope.core.bounded_connection import BoundedConnection
from tierscope.core.embedded.account import Account
from tierscope.core.embedded.binaries import PostgresBinaries, find_postgres, make_postgres_reachable
from tierscope.core.embedded.errors import EmbeddedError
from tierscope.core.embedded.log_files import settle
from tierscope.core.embedded.places import Places
from tierscope.core.embedded.private_files import write_private
from tierscope.core.embedded.process import Launch, identify, list_with_cwd, run_as, start, stop, stop_child

SUPERUSER = "tierscope"
DATABASE = "tierscope"
_ASK_SECONDS = 3.0
_PING_SECONDS = 3
_READY_SECONDS = 60.0
_CRASH_RECOVERY_SECONDS = 300.0
_RETRY_SECONDS = 0.25
_STOP_SECONDS = 30.0

# Sized for a laptop or a small VM beside other work: a fleet of hundreds of hosts fits, thousands want the compose
# file. Locks cover every partition that one query touches. WAL is minimal because nothing replicates from here.
_SETTINGS: Mapping[str, str] = {
    "listen_addresses": "",
    "unix_socket_permissions": "0700",
    "max_connections": "60",
    "shared_buffers": "128MB",
    "effective_cache_size": "512MB",
    "effective_io_concurrency": "64",  # rows of one host lie a page each: a cold read asks for many at once
    "work_mem": "8MB",
    "maintenance_work_mem": "64MB",
    "max_wal_size": "1GB",
    "checkpoint_timeout": "15min",
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "wal_compression": "on",
    "max_locks_per_transaction": "256",
    "max_parallel_workers_per_gather": "0",
    "autovacuum_max_workers": "2",
    "jit": "off",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "log_line_prefix": "%m [%p] ",
    "password_encryption": "scram-sha-256",
}


@dataclass(slots=True)
class PostgresCluster:
    """One cluster and, while it runs, its server process."""

    places: Places
    account: Account
    binaries: PostgresBinaries
    extra_settings: Mapping[str, str] = field(default_factory=dict)
    server: subprocess.Popen[bytes] | None = None
    _asking: psycopg.Connection[Any] | None = None

    @property
    def log(self) -> Path:
        """Where the server writes."""
        return self.places.logs / "database.log"

    def url(self, database: str = DATABASE) -> str:
        """Return the SQLAlchemy address of a database of this cluster (driver psycopg), with the password."""
        password = quote(self._password(), safe="")
        socket = quote(str(self.places.database_socket_dir), safe="/")
        return f"postgresql+psycopg://{SUPERUSER}:{password}@/{database}?host={socket}"

    def create(self) -> bool:
        """Initialise the cluster if it does not exist; return whether it was made now. Raises EmbeddedError."""
        marker = self.places.database / "PG_VERSION"
        if marker.exists():
            return False
        self._remove_partial()
        target = self._begin_anew()
        password = secrets.token_urlsafe(32)
        write_private(self.places.password_file, password + "\n")
        # initdb runs as the servers' account and cannot read the file above when that account is another.
        handover = self.places.database_socket_dir / "initial-password"
        write_private(handover, password + "\n", account=self.account)
        try:
            self._initdb(handover, target)
        finally:
            handover.unlink()
        if target != self.places.database:
            target.rename(self.places.database)
            sync_directory(target.parent)
        return True

    def _begin_anew(self) -> Path:
        """An empty directory for initdb, which writes PG_VERSION first: what has the cluster's own name is whole.

        A directory that something is mounted on cannot be renamed to: initdb works there itself.
        """
        own = self.places.database
        if own.is_symlink() or own.is_mount():
            return own
        beside = own.with_name(f"{own.name}.new")
        shutil.rmtree(beside, ignore_errors=True)
        beside.mkdir(mode=0o700)
        self.account.owns(beside)
        return beside

    def start(self) -> None:
        """Start the server and wait until it answers, through crash recovery if need be. Raises EmbeddedError."""
        self._check_major()
        self._clear_previous()
        deadline = time.monotonic() + _READY_SECONDS
        while True:
            offset = self.log.stat().st_size if self.log.exists() else 0
            self._spawn()
            if self._wait_ready():
                break
            # After a killed postmaster its backends hold the shared memory for a moment more.
            retry = _mentions(self.log, offset, "pre-existing shared memory block", "is still in use", "lock file")
            if not retry or time.monotonic() >= deadline:
                self.server = None
                raise EmbeddedError(
                    cause=f"PostgreSQL did not start; its log ends with: {_tail(self.log)}",
                    next_step=f"read {self.log}",
                )
            self._clear_previous()
            time.sleep(_RETRY_SECONDS)
        self._ensure_database()

    def stop(self, *, with_signal: signal.Signals = signal.SIGINT) -> None:
        """Stop the server by a fast shutdown (or another of its signals); harmless when it does not run."""
        self._stop_asking()
        if self.server is None:
            return
        stop_child(self.server, grace_seconds=_STOP_SECONDS, with_signal=with_signal)
        self.server = None

    def answers(self) -> bool:
        """Tell whether the server answers a query now, and takes connections.

        One connection is kept for queries: to log in costs more than everything else that an idle instance does. It is
        answered by a process of its own, also where the one that takes connections does nothing any more.
        """
        if not self._takes_connections():
            return False
        if self._asking is not None and _asks(self._asking):
            return True
        self._stop_asking()
        try:
            self._asking = BoundedConnection.connect(
                self._conninfo("postgres"), connect_timeout=_PING_SECONDS, autocommit=True
            )
            self._asking.patience_seconds = _ASK_SECONDS
        except psycopg.Error:
            return False
        return _asks(self._asking)

    def hangs(self) -> bool:
        """Tell whether it does not answer at all."""
        return not self.answers()

    def _takes_connections(self) -> bool:
        """Whether it greets a caller, who need not log in for that."""
        place = str(self.places.database_socket_dir)
        conninfo = psycopg.conninfo.make_conninfo(
            host=place, dbname="postgres", user=SUPERUSER, connect_timeout=_PING_SECONDS
        )
        return PGconn.ping(conninfo.encode()) == Ping.OK

    def _stop_asking(self) -> None:
        if self._asking is not None:
            self._asking.close()
            self._asking = None

    def _initdb(self, password_file: Path, target: Path) -> None:
        output = ""
        for locale in ("C.UTF-8", "C"):
            done = run_as(
                self.account,
                [
                    self.binaries.tool("initdb"),
                    f"--pgdata={target}",
                    f"--username={SUPERUSER}",
                    "--auth=scram-sha-256",
                    f"--pwfile={password_file}",
                    "--encoding=UTF8",
                    f"--locale={locale}",
                    "--no-instructions",
                ],
                cwd=self.places.run,
            )
            if done.returncode == 0:
                return
            output = done.stdout
            _empty(target)
        raise EmbeddedError(
            cause=f"initdb failed: {output.strip()[-600:]}",
            next_step=f"see that {self.places.data} is on a writable disk with free space",
        )

    def _remove_partial(self) -> None:
        """Empty a cluster directory that initdb left half made (killed before it wrote PG_VERSION)."""
        leftovers = list(self.places.database.iterdir())
        if leftovers and (self.places.database / "PG_VERSION").exists():
            return
        if (
            leftovers
            and (self.places.database / "global").exists()
            and any((self.places.database / "global").glob("pg_control"))
        ):
            raise EmbeddedError(
                cause=f"{self.places.database} holds a cluster without PG_VERSION",
                next_step="restore that file, or move the directory away to start with an empty database",
            )
        _empty(self.places.database)

    def _check_major(self) -> None:
        recorded = recorded_major(self.places)
        if recorded is not None and recorded != self.binaries.major:
            raise EmbeddedError(
                cause=f"the data directory was made by PostgreSQL {recorded}, this is {self.binaries.major}",
                next_step=f"install PostgreSQL {recorded}, or set TIERSCOPE_DATA_DIR to a new directory",
            )

    def _spawn(self) -> None:
        settings = {
            **_SETTINGS,
            "unix_socket_directories": str(self.places.database_socket_dir),
            **self.extra_settings,
        }
        command = [self.binaries.tool("postgres"), "-D", str(self.places.database)]
        for name, value in settings.items():
            command += ["-c", f"{name}={value}"]
        env = {key: value for key, value in os.environ.items() if not key.startswith("PG")}
        self.server = start(
            Launch(
                command=command,
                log=self.log,
                account=self.account,
                env=env,
                cwd=self.places.run,
                death_signal=signal.SIGINT,
            )
        )

    def _wait_ready(self) -> bool:
        deadline = time.monotonic() + _CRASH_RECOVERY_SECONDS
        while self.server is not None and self.server.poll() is None:
            if self.answers():
                return True
            if time.monotonic() >= deadline:
                self.stop()
                return False
            time.sleep(_RETRY_SECONDS / 5)
        return False

    def _clear_previous(self) -> None:
        """End a server of an earlier supervisor on this cluster, and remove a pid file that names somebody else."""
        pid_file = self.places.database / "postmaster.pid"
        ours = list_with_cwd(self.places.database)
        try:
            pid = int(pid_file.read_text(encoding="ascii").split("\n", 1)[0])
        except (OSError, ValueError):
            pid = None
        if pid is not None and pid in ours:
            process = identify(pid)
            if process is not None:
                stop(process, with_signal=signal.SIGINT, grace_seconds=_STOP_SECONDS)
        elif pid is not None and not ours:
            # The pid was reused by a stranger; PostgreSQL would refuse to start because of it.
            pid_file.unlink(missing_ok=True)
        for orphan in list_with_cwd(self.places.database):
            process = identify(orphan)
            if process is not None:
                stop(process, with_signal=signal.SIGTERM, grace_seconds=5)

    def _ensure_database(self) -> None:
        with psycopg.connect(self._conninfo("postgres"), autocommit=True) as connection:
            row = connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", (DATABASE,)).fetchone()
            if row is None:
                connection.execute(f"CREATE DATABASE {DATABASE}".encode())

    def _conninfo(self, database: str) -> str:
        return psycopg.conninfo.make_conninfo(
            host=str(self.places.database_socket_dir), dbname=database, user=SUPERUSER, password=self._password()
        )

    def _password(self) -> str:
        try:
            return self.places.password_file.read_text(encoding="ascii").strip()
        except FileNotFoundError as error:
            raise EmbeddedError(
                cause=f"the database password file {self.places.password_file} is missing",
                next_step="restore it from a backup of the data directory",
            ) from error


def _empty(directory: Path) -> None:
    """Removes what a directory holds, not itself: it belongs to the servers' account."""
    for path in sorted(directory.rglob("*"), reverse=True):
        if path.is_dir() and not path.is_symlink():
            path.rmdir()
        else:
            path.unlink()


def sync_directory(directory: Path) -> None:
    """Makes a renaming within a directory outlast a power cut."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def recorded_major(places: Places) -> int | None:
    """Return the major version that made the cluster, or None while there is no cluster."""
    try:
        return int((places.database / "PG_VERSION").read_text(encoding="ascii").strip())
    except FileNotFoundError:
        return None
    except PermissionError as error:
        raise EmbeddedError(
            cause=f"{places.database} cannot be read by this user",
            next_step="use the account that made it, or set TIERSCOPE_DATA_DIR to a directory of your own",
        ) from error


def open_cluster(places: Places, account: Account) -> PostgresCluster:
    """Return the cluster of an instance with binaries of the right version that the account can reach."""
    found = find_postgres(major=recorded_major(places))
    binaries = make_postgres_reachable(found, account=account, copies=places.binaries)
    return PostgresCluster(places=places, account=account, binaries=binaries)


def _asks(connection: psycopg.Connection[Any]) -> bool:
    try:
        connection.execute("SELECT 1")
    except psycopg.Error:
        return False
    return True


def _tail(log: Path, limit_chars: int = 800) -> str:
    settle()
    try:
        return log.read_text(encoding="utf-8", errors="replace")[-limit_chars:].strip()
    except OSError:
        return "(no log)"


def _mentions(log: Path, offset: int, *phrases: str) -> bool:
    settle()
    try:
        with log.open("rb") as file:
            file.seek(offset if offset <= log.stat().st_size else 0)
            text = file.read().decode("utf-8", errors="replace")
    except OSError:
        return False
    return any(phrase in text for phrase in phrases)
