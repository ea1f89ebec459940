"""The embedded queue: a Redis-compatible server on a unix socket, with nothing stored.

The server asks for a random password, which stands in files that nobody but its account and root can read, never on a
command line. The queue only wakes workers; the work to do is kept in the database, so losing the queue loses nothing.
Where no server binary fits this machine, Celery's filesystem transport takes its place.
"""

import secrets
import socket
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from tierscope.core.embedded.account import Account
from tierscope.core.embedded.binaries import find_queue_server, make_reachable
from tierscope.core.embedded.errors import EmbeddedError
from tierscope.core.embedded.places import Places
from tierscope.core.embedded.private_files import write_private
from tierscope.core.embedded.process import Launch, start, stop_child

_READY_SECONDS = 15.0
_STOP_SECONDS = 10.0
_POLL_SECONDS = 0.05
_ANSWER_SECONDS = 3.0


@dataclass(slots=True)
class QueueServer:
    """The queue's server, or the filesystem transport when `binary` is None."""

    places: Places
    account: Account
    binary: Path | None
    server: subprocess.Popen[bytes] | None = None

    @property
    def log(self) -> Path:
        """Where the server writes."""
        return self.places.logs / "queue.log"

    @property
    def folder(self) -> Path:
        """Messages of the filesystem transport."""
        return self.places.data / "queue"

    @property
    def configuration(self) -> Path:
        """What the server reads at its start: the password."""
        return self.places.data / "queue.conf"

    def url(self) -> str:
        """Return the broker address: `unix://:PASSWORD@PATH` for the server, `filesystem://FOLDER` without one."""
        if self.binary is None:
            return f"filesystem://{self.folder}"
        return f"unix://:{self._password()}@{self.places.queue_socket}"

    def start(self) -> None:
        """Start the server and wait until it answers. Raises EmbeddedError when it does not."""
        if self.binary is None:
            self.folder.mkdir(mode=0o700, exist_ok=True)
            self.account.takes_over(self.folder)
            return
        write_private(self.configuration, f"requirepass {self._password()}\n", account=self.account)
        self.places.queue_socket.unlink(missing_ok=True)
        self.server = start(
            Launch(
                command=self._command(self.binary),
                log=self.log,
                account=self.account,
                cwd=self.places.queue_socket.parent,
            )
        )
        deadline = time.monotonic() + _READY_SECONDS
        while not self.answers():
            if self.server.poll() is not None or time.monotonic() >= deadline:
                self.stop()
                raise EmbeddedError(cause="the queue server did not start", next_step=f"read {self.log}")
            time.sleep(_POLL_SECONDS)

    def stop(self) -> None:
        """Stop the server; harmless when it does not run."""
        if self.server is None:
            return
        stop_child(self.server, grace_seconds=_STOP_SECONDS)
        self.server = None

    def answers(self) -> bool:
        """Tell whether the queue takes messages now."""
        if self.binary is None:
            return self.folder.is_dir()
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(_ANSWER_SECONDS)
            try:
                connection.connect(str(self.places.queue_socket))
                connection.sendall(f"AUTH {self._password()}\r\nPING\r\n".encode())
                with connection.makefile("rb") as answers:
                    return answers.readline().startswith(b"+OK") and answers.readline().startswith(b"+PONG")
            except OSError:
                return False

    def hangs(self) -> bool:
        """Tell whether it does not answer at all."""
        return not self.answers()

    def _password(self) -> str:
        """The password, made at first use. It has no character that a URL or the server's settings would quote."""
        file = self.places.data / "queue-password"
        try:
            return file.read_text(encoding="ascii").strip()
        except FileNotFoundError:
            write_private(file, secrets.token_urlsafe(32) + "\n")
            return file.read_text(encoding="ascii").strip()

    def _command(self, binary: Path) -> list[str]:
        return [
            str(binary),
            str(self.configuration),
            *("--port", "0"),
            *("--unixsocket", str(self.places.queue_socket)),
            *("--unixsocketperm", "700"),
            *("--save", ""),
            *("--appendonly", "no"),
            *("--maxmemory", "128mb"),
            *("--maxmemory-policy", "noeviction"),
            *("--hz", "1"),  # how often an idle server looks around; a busy one does so more often by itself
            *("--dir", str(self.places.queue_socket.parent)),
            *("--daemonize", "no"),
        ]


def open_queue(places: Places, account: Account) -> QueueServer:
    """Return the queue of an instance, with a server binary that the account can reach where there is one."""
    binary = find_queue_server()
    if binary is not None:
        binary = make_reachable(binary, account=account, copies=places.binaries)
    return QueueServer(places=places, account=account, binary=binary)
