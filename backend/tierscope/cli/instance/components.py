"""The components of an instance, ready to be supervised."""

from __future__ import annotations

import http
import http.client
import os
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from tierscope.cli.base.instance import Instance
from tierscope.core.embedded.account import Account
from tierscope.core.embedded.private_files import write_private
from tierscope.core.embedded.program import Program
from tierscope.core.embedded.service import ServiceProcess

if TYPE_CHECKING:
    from celery import Celery

_PROBE_SECONDS = 3.0
_WORKER_PROBE_EVERY_SECONDS = 25.0
"""Less than the supervisor's rhythm: it finds a worker that does nothing within a minute."""


@dataclass(slots=True)
class ConfiguredServer:
    """A database or queue that somebody else runs: probed, never started or stopped."""

    probe: Callable[[], bool]
    server: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Nothing to start."""

    def stop(self) -> None:
        """Nothing to stop."""

    def answers(self) -> bool:
        """Tell whether it answers."""
        return self.probe()

    def hangs(self) -> bool:
        """Whoever runs it starts it again."""
        return False


@dataclass(frozen=True, slots=True)
class Runtime:
    """What the instance's own processes share: their program, their account and their settings."""

    instance: Instance
    program: Program
    account: Account
    queue_url: str
    url: str
    anonymous_reads: bool | None = None
    """Whether reading needs no login on this machine; None leaves it to the settings."""
    late_days: int | None = None
    """How old accepted points may be; None leaves it to the settings."""

    def environment(self) -> dict[str, str]:
        """Return the settings. The database address stands in a file; only the account and root read environments."""
        env = {
            **self.program.env,
            "TIERSCOPE_DATABASE_URL_FILE": str(self.instance.database_url_file),
            "TIERSCOPE_REDIS_URL": self.queue_url,
            "TIERSCOPE_DATA_DIR": str(self.instance.places.data),
            "TIERSCOPE_HOST": "127.0.0.1",
            "TIERSCOPE_PORT": self.url.rpartition(":")[2],
        }
        if self.late_days is not None:
            env["TIERSCOPE_LIMITS__LATE_DAYS"] = str(self.late_days)
        if self.anonymous_reads is not None:
            env["TIERSCOPE_ANONYMOUS_READS"] = str(self.anonymous_reads).lower()
        if self.account.drops:
            env["HOME"] = str(self.instance.places.scheduler)
            if "TIERSCOPE_CONFIG" in os.environ:
                env["TIERSCOPE_CONFIG"] = str(Path(os.environ["TIERSCOPE_CONFIG"]).absolute())
        return env

    def service(
        self, name: str, *arguments: str, probe: Callable[[], bool], alive: Callable[[], bool] | None = None
    ) -> ServiceProcess:
        """Return one of the instance's processes, not started yet."""
        return ServiceProcess(
            command=self.program.command(*arguments),
            log=self.instance.places.logs / f"{name}.log",
            env=self.environment(),
            probe=probe,
            alive=alive,
            account=self.account,
            cwd=self.instance.places.scheduler if self.account.drops else None,
        )


def make_api(runtime: Runtime) -> ServiceProcess:
    """Return the API, which serves the dashboard too."""
    return runtime.service(
        "api",
        "serve",
        probe=lambda: responds(f"{runtime.url}/readyz"),
        alive=lambda: responds(f"{runtime.url}/healthz"),
    )


def make_worker(runtime: Runtime) -> ServiceProcess:
    """Return the worker with the scheduler inside."""
    probe = _Paced(WorkerProbe(runtime.queue_url), every_seconds=_WORKER_PROBE_EVERY_SECONDS)
    return runtime.service("worker", "worker", "--with-beat", probe=probe)


def responds(url: str) -> bool:
    """Tell whether an address answers with status 200 within seconds."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.netloc, timeout=_PROBE_SECONDS)
    try:
        connection.request("GET", parts.path)
        return connection.getresponse().status == http.HTTPStatus.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


@dataclass(slots=True)
class WorkerProbe:
    """Asks whether a worker listens on the queue. The filesystem transport cannot tell: a running worker counts.

    What it asks with is kept, because to make it costs more than to ask.
    """

    queue_url: str
    _asking: Celery | None = None

    def __call__(self) -> bool:
        """Tell whether a worker answers within seconds."""
        if self.queue_url.startswith("filesystem://"):
            return True
        from celery import Celery
        from kombu.exceptions import OperationalError
        from redis.exceptions import RedisError

        if self._asking is None:
            self._asking = Celery(broker=self.queue_url.replace("unix://", "redis+socket://", 1), set_as_current=False)
            self._asking.conf.broker_connection_retry_on_startup = False
            # A queue that is stopped would hold up the supervisor, which is to start it again.
            waits = {"socket_timeout": _PROBE_SECONDS, "socket_connect_timeout": _PROBE_SECONDS}
            self._asking.conf.broker_transport_options = waits
        try:
            answers = self._asking.control.ping(timeout=_PROBE_SECONDS / 2, limit=1)
        except (OSError, OperationalError, RedisError):
            answers = []
        if not answers:
            self._asking.close()
            self._asking = None
        return bool(answers)


@dataclass(slots=True)
class _Paced:
    """A probe that costs something: once it succeeded, its answer counts for a while."""

    probe: Callable[[], bool]
    every_seconds: float
    good_until: float = 0.0

    def __call__(self) -> bool:
        """Tell the last good answer while it is fresh, else ask."""
        if time.monotonic() < self.good_until:
            return True
        good = self.probe()
        if good:
            self.good_until = time.monotonic() + self.every_seconds
        return good


def write_heat_pids(path: Path, lines: list[str]) -> None:
    """Replace the list of processes whose heat may be measured."""
    text = "".join(f"{line}\n" for line in lines)
    if path.exists() and path.read_text(encoding="utf-8") == text:
        return
    write_private(path, text)
