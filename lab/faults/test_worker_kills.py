"""Two API processes and several workers at once, killed one after the other: nothing is lost, nothing is done twice."""

from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import text

from factories.derived import day_before, drain, dump, marks
from factories.installations import enrol
from factories.workers import Worker
from faults.processes import Api, api
from faults.senders import Senders
from tierscope.core.database import Database
from tierscope.domain.base.jobs import COUNTERS
from tierscope.storage.base.dirty_buckets import append, claim_subjects

APIS = 2
PART_MINUTES = 45
"""Of each batch: there is one for each worker. With all but the last a worker is killed, with the second an API too."""
ONCE = {
    "tier_moves": "host_id, service_id, ts",
    "metrics_10m": "host_id, ts",
    "metrics_1h": "host_id, ts",
    "counters_packed": "host_id, ts",
    "rule_inputs": "host_id, service_id, ts",
}
"""Tables and what there must be one row of."""


pytestmark = pytest.mark.parametrize("storage_mode", ["native"], indirect=True)


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    with closing(Database(database_url)) as opened:
        yield opened


def rows_stored_twice(database: Database) -> dict[str, int]:
    """Rows of each table that stand beside one of the same key."""
    with database.read() as session:
        return {
            table: session.execute(
                text(f"SELECT count(*) FROM (SELECT 1 FROM {table} GROUP BY {key} HAVING count(*) > 1) AS twice")
            ).scalar_one()
            for table, key in ONCE.items()
        }


def waiting(database: Database) -> int:
    """Marks of ledgers that are not worked off."""
    return sum(1 for kind, _, _ in marks(database) if kind == COUNTERS.kind)


def streams_not_whole(database: Database, count: int) -> int:
    """Streams that do not have so many batches, or counted one twice."""
    with database.read() as session:
        whole = f"batches = {count} AND next_seq = {count} AND gaps = '{{}}'"
        return int(session.execute(text(f"SELECT count(*) FROM streams WHERE NOT ({whole})")).scalar_one())


@pytest.mark.parametrize(
    ("worker_count", "host_count"), [(2, 12), pytest.param(4, 24, marks=pytest.mark.elsewhere("make faults"))]
)
def test_killed_processes_lose_nothing_and_do_nothing_twice(
    database: Database, redis_url: str, tmp_path: Path, worker_count: int, host_count: int
) -> None:
    minutes = range(1, worker_count * PART_MINUTES + 1)
    parts = [range(first, first + PART_MINUTES) for first in minutes[::PART_MINUTES]]
    hosts = [enrol(database, name=f"node-{number}") for number in range(host_count)]
    folders = [tmp_path / f"process-{number}" for number in range(worker_count + APIS)]
    for folder in folders:
        folder.mkdir()
    workers = [Worker(database.url, redis_url, folder) for folder in folders[:worker_count]]
    shared = {"TIERSCOPE_DATABASE_URL": database.url, "TIERSCOPE_REDIS_URL": redis_url}
    apis = [api(folder, {**shared, "TIERSCOPE_DATA_DIR": str(folder)}) for folder in folders[worker_count:]]
    survivor = workers[-1]
    programs: tuple[Api | Worker, ...] = (*apis, *workers)
    try:
        for program in programs:
            program.start()
        for service in apis:
            service.wait_ready()
        senders = Senders([service.url for service in apis], hosts)
        for seq, part in enumerate(parts):
            senders.send(seq, part, after=host_count // 3, then=apis[0].kill if seq == 1 else lambda: None)
            before = waiting(database)
            survivor.until(lambda before=before: waiting(database) < before or before == 0)  # type: ignore[misc]
            if seq < worker_count - 1:
                workers[seq].kill()
        survivor.until(lambda: marks(database) == [])
    finally:
        for program in programs:
            program.kill()
    assert senders.failed > 0, "an API process was killed while hosts were sending to it"
    assert streams_not_whole(database, len(parts)) == 0
    assert rows_stored_twice(database) == dict.fromkeys(ONCE, 0)
    made = dump(database)
    assert len(made["tier_moves"]) == host_count * (len(minutes) - 1)
    assert len(made["metrics_10m"]) == host_count * len(minutes) / 10
    with database.write() as transaction:
        for host_id in range(1, host_count + 1):
            buckets = [day_before() + timedelta(minutes=10 * place) for place in range(len(minutes) // 10)]
            append(transaction, COUNTERS.kind, host_id, 0, buckets)
    drain(database)
    assert dump(database) == made, "one worker alone makes the same"


def test_workers_share_hosts_without_waiting_for_each_other(database: Database) -> None:
    start = datetime(2026, 1, 1, tzinfo=UTC)
    later = start + timedelta(hours=1)
    with database.write() as transaction:
        for host_id in range(1, 9):
            append(transaction, COUNTERS.kind, host_id, 0, [start])
    with database.write() as first:
        mine = claim_subjects(first, COUNTERS.kind, [1, 2, 3, 4], since=start, before=later)
        with database.write() as second:
            second.execute(text("SET LOCAL lock_timeout = '5s'"))
            theirs = claim_subjects(second, COUNTERS.kind, list(range(1, 9)), since=start, before=later)
    assert mine == dict.fromkeys((1, 2, 3, 4), (start,))
    assert theirs == dict.fromkeys((5, 6, 7, 8), (start,))
    assert marks(database) == []
