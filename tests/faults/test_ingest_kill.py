"""Killing the API or the database with SIGKILL in the middle of ingest: every batch is stored once.

Real processes: PostgreSQL with fsync on, the API as a program of its own, senders that repeat until answered.
"""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field

import httpx
import psycopg
import pytest

from factories import batches
from factories.installations import Enrolled, enrol
from factories.services import batch_headers
from tierscope.core.database import Database, libpq_url
from tierscope.core.embedded.postgres import PostgresCluster

SENDERS = 3
BATCHES_EACH = 60
KILLS = 3
ROWS = 5
DEADLINE_SECONDS = 300.0


@dataclass(slots=True)
class Api:
    """The API in a process of its own, always on one port."""

    url: str
    port: int
    process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Starts the process."""
        command = [sys.executable, "-m", "uvicorn", "--factory", "tierscope.api.app:create_app"]
        self.process = subprocess.Popen(
            [*command, "--port", str(self.port), "--log-level", "critical", "--no-access-log"],
            env=os.environ | {"TIERSCOPE_DATABASE_URL": self.url},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def kill(self) -> None:
        """Kills the process, whatever it does."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()


@dataclass(slots=True)
class Sender:
    """A host that sends its batches in order, each until it is acknowledged."""

    address: str
    host: Enrolled
    acknowledged: int = 0
    repeats: int = 0
    refusals: list[str] = field(default_factory=list)

    def run(self) -> None:
        """Sends everything."""
        end = time.monotonic() + DEADLINE_SECONDS
        with httpx.Client(base_url=self.address, headers=batch_headers(self.host.credential), timeout=20) as client:
            for seq in range(BATCHES_EACH):
                body = self.body(seq)
                while not self.send(client, body):
                    if time.monotonic() > end:
                        return
                    time.sleep(0.02)
                self.acknowledged += 1

    def body(self, seq: int) -> bytes:
        """A batch whose samples name its number."""
        batch = batches.make_batch(host_id=self.host.id, seq=seq)
        batches.add_counters(batch, [[seq, row, 0] for row in range(ROWS)])
        batches.add_heat(batch)
        return batches.compress(batch)

    def send(self, client: httpx.Client, body: bytes) -> bool:
        """Tries once; True when the batch is acknowledged."""
        try:
            answer = client.post("/v1/ingest/batches", content=body)
        except httpx.TransportError:
            self.repeats += 1
            return False
        if answer.status_code == 200:
            return True
        self.repeats += 1
        if answer.status_code < 500:
            self.refusals.append(answer.text)
        return False


@pytest.fixture
def database(own_cluster: PostgresCluster) -> Iterator[Database]:
    with closing(Database(own_cluster.url())) as opened:
        yield opened


@contextmanager
def sending(cluster: PostgresCluster, database: Database) -> Iterator[tuple[Api, list[Sender], Callable[[], None]]]:
    """A running API with senders; the callable waits for them."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    api = Api(cluster.url(), port)
    api.start()
    senders = [Sender(f"http://127.0.0.1:{port}", enrol(database, name=f"n{i}")) for i in range(SENDERS)]
    threads = [threading.Thread(target=sender.run, daemon=True) for sender in senders]
    for thread in threads:
        thread.start()

    def join() -> None:
        for thread in threads:
            thread.join()

    try:
        yield api, senders, join
    finally:
        api.kill()


def wait_for_progress(senders: list[Sender], batches_more: int) -> None:
    """Waits until so many more batches are acknowledged, so that the kill falls into the middle of the work."""
    goal = min(sum(sender.acknowledged for sender in senders) + batches_more, SENDERS * BATCHES_EACH - 1)
    end = time.monotonic() + DEADLINE_SECONDS
    while sum(sender.acknowledged for sender in senders) < goal:
        assert time.monotonic() < end, "the senders make no progress"
        time.sleep(0.005)


def assert_stored_once(cluster: PostgresCluster, senders: list[Sender]) -> None:
    """Every sample of every batch is there once; so are its heat and its place in the stream."""
    with psycopg.connect(libpq_url(cluster.url())) as connection:
        for sender in senders:
            assert sender.refusals == []
            assert sender.acknowledged == BATCHES_EACH
            host = (sender.host.identity.id,)
            stored = connection.execute(
                "SELECT vals[1], vals[2] FROM counters_live WHERE host_id = %s ORDER BY 1, 2", host
            ).fetchall()
            assert stored == [(seq, row) for seq in range(BATCHES_EACH) for row in range(ROWS)]
            heat = connection.execute("SELECT count(*) FROM heat_live WHERE host_id = %s", host).fetchone()
            assert heat == (BATCHES_EACH,)
            stream = connection.execute(
                "SELECT next_seq, isempty(gaps), batches FROM streams WHERE host_id = %s", host
            ).fetchone()
            assert stream == (BATCHES_EACH, True, BATCHES_EACH)
        marks = connection.execute("SELECT count(DISTINCT subject_id) FROM marks WHERE kind = 'counters'").fetchone()
        assert marks == (SENDERS,)


@pytest.mark.slow
def test_killing_the_api_during_ingest_stores_every_batch_once(
    own_cluster: PostgresCluster, database: Database
) -> None:
    with sending(own_cluster, database) as (api, senders, join):
        for _ in range(KILLS):
            wait_for_progress(senders, SENDERS * BATCHES_EACH // (KILLS + 2))
            api.kill()
            api.start()
        join()
        assert_stored_once(own_cluster, senders)
        assert sum(sender.repeats for sender in senders) > 0


@pytest.mark.slow
def test_killing_the_database_during_ingest_stores_every_batch_once(
    own_cluster: PostgresCluster, database: Database
) -> None:
    with sending(own_cluster, database) as (_, senders, join):
        for _ in range(KILLS):
            wait_for_progress(senders, SENDERS * BATCHES_EACH // (KILLS + 2))
            assert own_cluster.server is not None
            own_cluster.server.send_signal(signal.SIGKILL)
            own_cluster.server.wait()
            own_cluster.start()
        join()
        assert_stored_once(own_cluster, senders)
        assert sum(sender.repeats for sender in senders) > 0
