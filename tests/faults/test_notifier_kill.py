"""Killing the worker with SIGKILL between a receiver's taking a notification and writing that down: it is sent again.

Real processes: a worker with its scheduler, a real queue, PostgreSQL, a receiver on loopback.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from factories.alert_changes import SetClock
from factories.notifying import Notifying, receiver, route
from factories.receivers import WebReceiver, web_receiver
from tierscope.core.database import Database

DEADLINE_SECONDS = 300.0
pytestmark = [pytest.mark.slow, pytest.mark.parametrize("storage_mode", ["native"], indirect=True)]


class Worker:
    """`tierscope worker --with-beat` in a process group of its own."""

    def __init__(self, database_url: str, queue_url: str, folder: Path) -> None:
        self._env = os.environ | {
            "TIERSCOPE_DATABASE_URL": database_url,
            "TIERSCOPE_REDIS_URL": queue_url,
            "TIERSCOPE_DATA_DIR": str(folder),
            "TIERSCOPE_OUTGOING__ALLOW": "127.0.0.0/8",
        }
        self.log = folder / "worker.log"
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it."""
        with self.log.open("ab") as log:
            command = [sys.executable, "-m", "tierscope.cli", "worker", "--with-beat"]
            self.process = subprocess.Popen(command, env=self._env, stdout=log, stderr=log, start_new_session=True)

    def kill(self) -> None:
        """Kill it with all its processes, whatever they do."""
        if self.process is not None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
            self.process = None

    def until(self, condition: Callable[[], object]) -> None:
        """Wait until something is so."""
        end = time.monotonic() + DEADLINE_SECONDS
        while not condition():
            assert time.monotonic() < end, self.log.read_text(encoding="utf-8")[-4000:]
            time.sleep(0.05)


@pytest.fixture
def worker(database_url: str, redis_url: str, tmp_path: Path) -> Iterator[Worker]:
    made = Worker(database_url, redis_url, tmp_path)
    yield made
    made.kill()


@pytest.fixture
def web() -> Iterator[WebReceiver]:
    with web_receiver() as running:
        yield running


@pytest.fixture
def notifying(database_url: str) -> Iterator[Notifying]:
    with closing(Database(database_url)) as database:
        yield Notifying(database, clock=SetClock(datetime.now(UTC)))


def test_killing_the_worker_between_sending_and_writing_it_down_sends_it_again(
    notifying: Notifying, worker: Worker, web: WebReceiver
) -> None:
    notifying.put_routes([receiver("hook", "webhook", url=web.url)], [route("hook")])
    web.before_answer = worker.kill
    notifying.change("a1", "firing")
    worker.start()
    worker.until(lambda: worker.process is None)
    assert len(web.requests) == 1
    assert [(entry.status, entry.attempts) for entry in notifying.log()] == [("waiting", 0)]
    web.before_answer = lambda: None
    worker.start()
    worker.until(lambda: [entry.status for entry in notifying.log()] == ["delivered"])
    notifying.clock.now = datetime.now(UTC)
    notifying.change("a1", "resolved")
    worker.until(lambda: [entry.status for entry in notifying.log()] == ["delivered", "delivered"])
    worker.kill()
    keys = [got.headers["Idempotency-Key"] for got in web.requests]
    first, second = (entry.id for entry in notifying.log())
    assert keys == [first, first, second], "once more after the kill, with the same key; and once where nothing fails"
    assert [got.json()["status"] for got in web.requests] == ["firing", "firing", "resolved"]
