"""Hosts that Prometheus reports: made once, not beside an agent, with boots apart, whatever comes again or late."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import text

from factories.derived import drain, dump
from factories.installations import enrol
from factories.remote_writes import Series, named, write_body
from tierscope.core.database import Database
from tierscope.core.settings import RemoteWriteSettings
from tierscope.domain.packing import Block
from tierscope.storage.counters import read_live
from tierscope.storage.partitions import drop_old, ensure_usual_partitions
from tierscope.usecases.remote_write import RemoteWrite

pytestmark = pytest.mark.parametrize("storage_mode", ["native"], indirect=True)
Send = Callable[..., int]
PROMOTED = "host|vmstat|pgpromote_success"
AFTER = timedelta(minutes=2)
DERIVED = ("hosts", "boots", "inventory", "counters_live", "tier_moves", "metrics_10m")


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    with closing(Database(database_url)) as opened:
        yield opened


@pytest.fixture
def send(database: Database) -> Send:
    """Sends requests, each of some series; how many samples were stored."""

    def run(*requests: Sequence[Series], settings: RemoteWriteSettings | None = None) -> int:
        async def work() -> int:
            writer = RemoteWrite(database, settings=settings)
            try:
                taken = await asyncio.gather(*(writer.submit(write_body(*series)) for series in requests))
                return sum(one.samples for one in taken)
            finally:
                await writer.stop()

        return asyncio.run(work())

    return run


def start_ms(ago: timedelta = timedelta(minutes=20)) -> int:
    """A whole minute some time ago."""
    return int((datetime.now(UTC) - ago).timestamp()) // 60 * 60_000


def scrape(at_ms: int, count: int, *, instance: str = "db1:9100", boot_s: int = 1_700_000_000) -> list[Series]:
    """One scrape of a small node_exporter."""
    values = {
        "node_vmstat_pgpromote_success": count,
        "node_vmstat_pgdemote_kswapd": 2 * count,
        "node_memory_MemTotal_bytes": 1 << 30,
        "node_boot_time_seconds": boot_s,
    }
    return [(named(metric, instance), [(at_ms, float(value))]) for metric, value in values.items()]


def rows(database: Database, host_id: int = 1) -> Block:
    """All rows of counters of a host."""
    with database.read() as session:
        now = datetime.now(UTC)
        return read_live(session, host_id, now - timedelta(days=40), now + timedelta(days=1))


def column(block: Block, key: str) -> list[int]:
    """One column."""
    return [int(value) for value in block.values[:, block.keys.index(key)]]


def count(database: Database, statement: str) -> int:
    """The one number of a statement."""
    with database.read() as session:
        return int(session.execute(text(statement)).scalar_one())


def test_requests_that_come_again_or_in_parts_change_nothing(database: Database, send: Send) -> None:
    at = start_ms()
    scrapes = [scrape(at + i * 15_000, i * i) for i in range(1, 9)]
    send(*scrapes)
    drain(database, datetime.now(UTC) + AFTER)
    assert column(rows(database), PROMOTED) == [i * i for i in range(1, 9)]
    before = dump(database, DERIVED)
    # The same once more, one series at a time.
    send(*([series] for one in reversed(scrapes) for series in one))
    drain(database, datetime.now(UTC) + AFTER)
    after = dump(database, DERIVED)
    assert after["counters_live"] == before["counters_live"]
    assert after["tier_moves"] == before["tier_moves"]
    assert count(database, "SELECT count(*) FROM hosts") == 1
    assert count(database, "SELECT count(*) FROM audit WHERE action = 'host.first-seen'") == 1


def test_late_scrapes_find_their_place(database: Database, send: Send) -> None:
    at = start_ms()
    send(*(scrape(at + i * 15_000, i) for i in (1, 2, 5, 6)))
    drain(database, datetime.now(UTC) + AFTER)
    send(*(scrape(at + i * 15_000, i) for i in (4, 3)))
    drain(database, datetime.now(UTC) + AFTER)
    assert column(rows(database), PROMOTED) == [1, 2, 3, 4, 5, 6]
    assert count(database, "SELECT sum(promoted_pages) FROM tier_moves") == 5


def test_exporters_that_are_scraped_apart_make_one_row(database: Database, send: Send) -> None:
    at = start_ms()
    other = [(named("node_procs_running", "db1:9200"), [(at + i * 15_000 + 7_000, float(i))]) for i in range(4)]
    send(*(scrape(at + i * 15_000, i) for i in range(1, 5)), other)
    drain(database, datetime.now(UTC) + AFTER)
    found = rows(database)
    assert found.present.all()
    assert column(found, "host|stat|procs_running") == [0, 1, 2, 3]


def test_another_boot_time_is_another_boot(database: Database, send: Send) -> None:
    at = start_ms()
    send(*(scrape(at + i * 15_000, 100 + i, boot_s=1_700_000_000 + i % 2) for i in range(4)))
    send(*(scrape(at + i * 15_000, 200 + i, boot_s=1_700_500_000) for i in range(4, 8)))
    drain(database, datetime.now(UTC) + AFTER)
    assert len(set(rows(database).boots.tolist())) == 2
    assert count(database, "SELECT sum(promoted_pages) FROM tier_moves") == 6


def test_a_host_that_an_agent_reports_keeps_its_counters(database: Database, send: Send) -> None:
    host = enrol(database, name="db1")
    with database.write() as transaction:
        transaction.execute(text("UPDATE hosts SET agent_version = '1.0', last_seen_at = now()"))
    send(scrape(start_ms(), 5))
    drain(database, datetime.now(UTC) + AFTER)
    assert len(rows(database, host.identity.id)) == 0
    assert count(database, "SELECT count(*) FROM hosts") == 1
    finding = "SELECT count(*) FROM findings WHERE finding_id = 'reported-twice' AND until IS NULL"
    assert count(database, finding) == 1
    with database.write() as transaction:
        transaction.execute(text("UPDATE hosts SET last_seen_at = now() - interval '2 hours'"))
    send(scrape(start_ms() + 60_000, 6))
    drain(database, datetime.now(UTC) + AFTER)
    assert len(rows(database, host.identity.id)) >= 1
    assert count(database, finding) == 0


def test_only_machines_become_hosts_and_not_more_than_allowed(
    database: Database, send: Send, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TIERSCOPE_REMOTE_WRITE__HOSTS", "2")
    at = start_ms()
    app = [(named("http_requests_total", "app1:80"), [(at, 1.0)])]
    nameless = [({"__name__": "node_vmstat_pgfault"}, [(at, 1.0)])]
    send(app, nameless, *(scrape(at, 1, instance=f"db{i}:9100") for i in range(4)))
    drain(database, datetime.now(UTC) + AFTER)
    assert count(database, "SELECT count(*) FROM hosts") == 2
    assert count(database, "SELECT count(*) FROM sample_targets WHERE reason LIKE 'more than 2 hosts'") == 2
    assert count(database, "SELECT count(*) FROM sample_targets WHERE name = '' AND reason LIKE 'no label%'") == 1
    assert count(database, "SELECT count(*) FROM sample_targets WHERE name = 'app1' AND host_id IS NULL") == 1


def test_hours_are_packed_without_loss(database: Database, send: Send) -> None:
    at = start_ms(timedelta(hours=3))
    send(*(scrape(at + i * 15_000, i) for i in range(30)))
    drain(database)
    with database.write() as transaction:
        transaction.execute(text("TRUNCATE samples_live"))
    send(*(scrape(at + i * 15_000, i) for i in range(28, 33)))
    drain(database)
    assert column(rows(database), PROMOTED) == list(range(33))
    assert count(database, "SELECT sum(n) FROM samples_packed") == 33 * 4


def test_what_waits_for_a_worker_is_not_dropped(database: Database, send: Send) -> None:
    send(*(scrape(start_ms(timedelta(hours=3)) + i * 15_000, i) for i in range(4)))
    with database.write() as transaction:
        drop_old(transaction, datetime.now(UTC) + timedelta(days=9))
        ensure_usual_partitions(transaction, datetime.now(UTC))
    assert count(database, "SELECT sum(n) FROM samples_live") == 16
    drain(database)
    with database.write() as transaction:
        drop_old(transaction, datetime.now(UTC) + timedelta(days=9))
    assert count(database, "SELECT count(*) FROM samples_live") == 0
    assert count(database, "SELECT sum(n) FROM samples_packed") == 16
