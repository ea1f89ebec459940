"""The embedded queue, with a server and without."""

import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from factories.waiting import DEADLINE_SECONDS, until
from fixtures.servers import temporary_places
from tierscope.cli.instance.components import WorkerProbe
from tierscope.core.embedded.account import choose_account
from tierscope.core.embedded.places import Places, prepare
from tierscope.core.embedded.queue import QueueServer, open_queue


@pytest.fixture
def places() -> Iterator[Places]:
    with temporary_places() as made:
        prepare(made, choose_account())
        yield made


def test_a_killed_queue_starts_again_over_its_stale_socket(places: Places) -> None:
    queue = open_queue(places, choose_account())
    if queue.binary is None:
        pytest.skip("no Redis-compatible server fits this machine")
    queue.start()
    assert queue.server is not None
    queue.server.send_signal(signal.SIGKILL)
    queue.server.wait()
    assert places.queue_socket.exists()
    assert not queue.answers()
    queue.start()
    assert queue.answers()
    queue.stop()
    assert not queue.answers()


def test_a_queue_that_does_nothing_holds_up_nobody_who_asks_for_the_worker(places: Places) -> None:
    queue = open_queue(places, choose_account())
    if queue.binary is None:
        pytest.skip("no Redis-compatible server fits this machine")
    queue.start()
    until(queue.answers, "the queue answers")
    assert queue.server is not None
    queue.server.send_signal(signal.SIGSTOP)
    beside = ThreadPoolExecutor(1)
    try:
        assert not beside.submit(WorkerProbe(queue.url())).result(DEADLINE_SECONDS)
    finally:
        queue.server.send_signal(signal.SIGCONT)
        queue.stop()
        beside.shutdown()


def test_without_a_server_binary_messages_go_through_a_private_folder(places: Places) -> None:
    queue = QueueServer(places=places, account=choose_account(), binary=None)
    assert not queue.answers()
    queue.start()
    assert queue.answers()
    assert queue.url() == f"filesystem://{places.data}/queue"
    assert queue.folder.stat().st_mode & 0o777 == 0o700
    queue.stop()
