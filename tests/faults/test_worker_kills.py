"""Several workers on one queue, killed again and again: nothing is lost, and nothing is done twice."""

from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import text

from factories.derived import day_before, drain, dump, marks, send_counters
from factories.installations import enrol
from factories.workers import Worker
from tierscope.core.database import Database
from tierscope.core.embedded.postgres import PostgresCluster
from tierscope.domain.jobs import COUNTERS
from tierscope.storage.marks import append, claim_subjects

HOSTS = 24
MINUTES = range(1, 181)
KILLS = 4
ONCE = {
    "tier_moves": "host_id, service_id, ts",
    "metrics_10m": "host_id, ts",
    "metrics_1h": "host_id, ts",
    "counters_packed": "host_id, ts",
    "rule_inputs": "host_id, service_id, ts",
}
"""Tables and what there must be one row of."""


@pytest.fixture
def database(own_cluster: PostgresCluster) -> Iterator[Database]:
    with closing(Database(own_cluster.url())) as opened:
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


def test_killed_workers_lose_nothing_and_do_nothing_twice(
    database: Database, own_cluster: PostgresCluster, redis_url: str, tmp_path: Path
) -> None:
    for number in range(HOSTS):
        send_counters(database, enrol(database, name=f"node-{number}"), day_before(), MINUTES)
    folders = [tmp_path / f"worker-{number}" for number in range(2)]
    for folder in folders:
        folder.mkdir()
    workers = [Worker(own_cluster.url(), redis_url, folder) for folder in folders]
    try:
        for worker in workers:
            worker.start()
        for kill in range(KILLS):
            before = waiting(database)
            worker = workers[kill % 2]
            worker.until(lambda before=before: waiting(database) < before or before == 0)  # type: ignore[misc]
            worker.kill()
            worker.start()
        workers[0].until(lambda: marks(database) == [])
    finally:
        for worker in workers:
            worker.kill()
    assert rows_stored_twice(database) == dict.fromkeys(ONCE, 0)
    made = dump(database)
    assert len(made["tier_moves"]) == HOSTS * (len(MINUTES) - 1)
    assert len(made["metrics_10m"]) == HOSTS * len(MINUTES) / 10
    with database.write() as transaction:
        for host_id in range(1, HOSTS + 1):
            buckets = [day_before() + timedelta(minutes=10 * place) for place in range(len(MINUTES) // 10)]
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
            second.execute(text("SET LOCAL lock_timeout = '1ms'"))
            theirs = claim_subjects(second, COUNTERS.kind, list(range(1, 9)), since=start, before=later)
    assert mine == dict.fromkeys((1, 2, 3, 4), (start,))
    assert theirs == dict.fromkeys((5, 6, 7, 8), (start,))
    assert marks(database) == []
