"""Killing the worker with SIGKILL between a receiver's taking a notification and writing that down: it is sent again.

Real processes: a worker with its scheduler, a real queue, PostgreSQL, a receiver on loopback.
"""

import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from factories.alert_changes import SetClock
from factories.notifying import Notifying, receiver, route
from factories.receivers import WebReceiver, web_receiver
from factories.waiting import DEADLINE_SECONDS
from factories.workers import Worker
from fixtures.elsewhere import long
from tierscope.core.clock import utc_now
from tierscope.core.database import Database

pytestmark = [long, pytest.mark.slow, pytest.mark.parametrize("storage_mode", ["native"], indirect=True)]


@pytest.fixture
def worker(database_url: str, redis_url: str, tmp_path: Path) -> Iterator[Worker]:
    made = Worker(database_url, redis_url, tmp_path, TIERSCOPE_OUTGOING__ALLOW="127.0.0.0/8")
    yield made
    made.kill()


@pytest.fixture
def web() -> Iterator[WebReceiver]:
    with web_receiver() as running:
        yield running


@pytest.fixture
def notifying(database_url: str) -> Iterator[Notifying]:
    with closing(Database(database_url)) as database:
        yield Notifying(database, clock=SetClock(utc_now()))


def test_killing_the_worker_between_sending_and_writing_it_down_sends_it_again(
    notifying: Notifying, worker: Worker, web: WebReceiver
) -> None:
    notifying.put_routes([receiver("hook", "webhook", url=web.url)], [route("hook")])
    killed = threading.Event()

    def kill() -> None:
        worker.kill()
        killed.set()

    web.before_answer = kill
    notifying.change("a1", "firing")
    worker.start()
    worker.wake("notifications.deliver")
    assert killed.wait(DEADLINE_SECONDS)
    assert len(web.requests) == 1
    assert [(entry.status, entry.attempts) for entry in notifying.log()] == [("waiting", 0)]
    web.before_answer = lambda: None
    worker.start()
    worker.wake("notifications.deliver")
    worker.until(lambda: [entry.status for entry in notifying.log()] == ["delivered"])
    notifying.clock.now = utc_now()
    notifying.change("a1", "resolved")
    worker.wake("notifications.deliver")
    worker.until(lambda: [entry.status for entry in notifying.log()] == ["delivered", "delivered"])
    worker.kill()
    keys = [got.headers["Idempotency-Key"] for got in web.requests]
    first, second = (entry.id for entry in notifying.log())
    assert keys == [first, first, second], "once more after the kill, with the same key; and once where nothing fails"
    assert [got.json()["status"] for got in web.requests] == ["firing", "firing", "resolved"]
