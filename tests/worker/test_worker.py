"""A real worker with its scheduler, a real queue, a real database: killing any of the first two loses no work."""

import pytest
from sqlalchemy import text

from factories.derived import day_before, drain, dump, marks, send_counters
from factories.installations import enrol
from factories.workers import Worker
from fixtures.elsewhere import long
from tierscope.core.database import Database
from tierscope.core.embedded.queue import QueueServer

HOSTS = 4
MINUTES = range(1, 121)
pytestmark = [pytest.mark.slow, pytest.mark.parametrize("storage_mode", ["native"], indirect=True)]


def fill(database: Database, *, first: int = 0) -> None:
    """More hosts with two hours of counters each."""
    for number in range(first, first + HOSTS):
        send_counters(database, enrol(database, name=f"node-{number}"), day_before(), MINUTES)


def ledger_rows(database: Database) -> int:
    with database.read() as session:
        return int(session.execute(text("SELECT count(*) FROM tier_moves")).scalar_one())


def assert_complete(database: Database, hosts: int) -> None:
    """Nothing waits, every interval has its row once, and working all of it again would change nothing."""
    assert marks(database) == []
    assert ledger_rows(database) == hosts * (len(MINUTES) - 1)
    before = dump(database)
    assert all(before[table] for table in ("metrics_10m", "metrics_1h", "metrics_1d", "counters_packed"))
    with database.write() as transaction:
        transaction.execute(
            text(
                "INSERT INTO marks (kind, subject_id, service_id, bucket)"
                " SELECT DISTINCT 'counters', host_id, 0, ts FROM metrics_10m"
            )
        )
    drain(database)
    assert dump(database) == before


@long
def test_killing_the_worker_at_its_work_loses_nothing(database: Database, worker: Worker) -> None:
    fill(database)
    worker.start()
    worker.wake("rebuild.drain")
    # Killed as soon as one subject is through: others are under way, or wait.
    worker.until(lambda: ledger_rows(database) > 0)
    worker.kill()
    fill(database, first=HOSTS)
    worker.start()
    worker.wake("rebuild.drain")
    worker.until(lambda: marks(database) == [])
    worker.kill()
    assert_complete(database, 2 * HOSTS)


def test_the_scheduler_wakes_the_worker_again_and_again_and_losing_the_queue_loses_nothing(
    database: Database, worker: Worker, queue_server: QueueServer
) -> None:
    worker.start()
    for first in (0, HOSTS):
        fill(database, first=first)
        worker.until(lambda: marks(database) == [])
    try:
        assert queue_server.server is not None
        queue_server.server.kill()
        queue_server.server.wait()
        fill(database, first=2 * HOSTS)
        waiting = marks(database)
        assert waiting != []
    finally:
        queue_server.start()
    worker.until(lambda: marks(database) == [])
    worker.kill()
    assert_complete(database, 3 * HOSTS)
