"""The components of an instance, ready to be supervised."""

from __future__ import annotations

import http
import http.client
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from tierscope.cli.instance.find import Instance
from tierscope.core.embedded.service import ServiceProcess

_PROBE_SECONDS = 3.0
_WORKER_PROBE_EVERY_SECONDS = 10.0


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


def instance_environment(instance: Instance, *, queue_url: str, port: int) -> dict[str, str]:
    """Return the settings of this instance's processes. The database address stands in a file, as it is secret."""
    return {
        "TIERSCOPE_DATABASE_URL_FILE": str(instance.database_url_file),
        "TIERSCOPE_REDIS_URL": queue_url,
        "TIERSCOPE_DATA_DIR": str(instance.places.data),
        "TIERSCOPE_HOST": "127.0.0.1",
        "TIERSCOPE_PORT": str(port),
    }


def make_api(instance: Instance, env: dict[str, str], url: str) -> ServiceProcess:
    """Return the API, which serves the dashboard too."""
    return ServiceProcess(
        command=_tierscope("serve"),
        log=instance.places.logs / "api.log",
        env=env,
        probe=lambda: responds(f"{url}/readyz"),
    )


def make_worker(instance: Instance, env: dict[str, str]) -> ServiceProcess:
    """Return the worker with the scheduler inside."""
    return ServiceProcess(
        command=_tierscope("worker", "--with-beat"),
        log=instance.places.logs / "worker.log",
        env=env,
        probe=_Paced(lambda: worker_answers(env["TIERSCOPE_REDIS_URL"]), every_seconds=_WORKER_PROBE_EVERY_SECONDS),
    )


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


def worker_answers(queue_url: str) -> bool:
    """Tell whether a worker listens on the queue. The filesystem transport cannot tell: a running worker counts."""
    if queue_url.startswith("filesystem://"):
        return True
    from celery import Celery
    from kombu.exceptions import OperationalError
    from redis.exceptions import RedisError

    address = queue_url.replace("unix://", "redis+socket://", 1)
    with Celery(broker=address, set_as_current=False) as asking:
        asking.conf.broker_connection_retry_on_startup = False
        try:
            return bool(asking.control.ping(timeout=_PROBE_SECONDS / 2, limit=1))
        except (OSError, OperationalError, RedisError):
            return False


def _tierscope(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "tierscope.cli", *arguments]


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
    partial = path.with_suffix(".partial")
    partial.write_text(text, encoding="utf-8")
    partial.replace(path)
