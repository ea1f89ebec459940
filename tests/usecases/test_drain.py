"""Working off marks: any number of workers, failures, and races lose nothing and do nothing twice."""

import threading
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import Engine, event, text

from factories.derived import day_before, drain, dump, internal_id, marks, send_counters
from factories.installations import Enrolled, enrol
from fixtures.elsewhere import long_with_timescaledb
from tierscope.core.clock import utc_now
from tierscope.core.database import Database, WriteTransaction
from tierscope.core.errors import Unavailable
from tierscope.domain.base.jobs import COUNTERS
from tierscope.storage.base.dirty_buckets import Claim, append, claim
from tierscope.usecases.rebuild import drain as drains
from tierscope.usecases.rebuild.drain import Drained, DrainMarks

MINUTES = range(1, 61)
START = datetime(2026, 1, 1, tzinfo=UTC)
LATER = START + timedelta(days=1)
native = pytest.mark.parametrize("storage_mode", ["native"], indirect=True)


@native
def test_a_run_that_finds_nothing_asks_twice(database: Database) -> None:
    """It runs every few seconds for as long as an instance is idle."""
    asked: list[str] = []
    listen = ("before_cursor_execute", lambda *given: asked.append(str(given[2])))
    event.listen(Engine, *listen)
    try:
        DrainMarks(database, utc_now).run()
    finally:
        event.remove(Engine, *listen)
    assert len([statement for statement in asked if "marks" in statement]) == 2


def fill(database: Database, count: int) -> list[Enrolled]:
    """Hosts with an hour of counters each, all of it to be rebuilt."""
    hosts = [enrol(database, name=f"node-{i}") for i in range(count)]
    for host in hosts:
        send_counters(database, host, day_before(), MINUTES)
    return hosts


def rows_per_host(database: Database) -> dict[int, int]:
    with database.read() as session:
        rows = session.execute(text("SELECT host_id, count(*) AS n FROM tier_moves WHERE service_id = 0 GROUP BY 1"))
        return {row.host_id: row.n for row in rows}


@long_with_timescaledb
def test_two_workers_at_once_lose_nothing_and_do_nothing_twice(database: Database) -> None:
    hosts = fill(database, 8)
    waiting = sum(1 for kind, _, _ in marks(database) if kind == COUNTERS.kind)
    barrier = threading.Barrier(2)
    done: list[Drained] = []

    def work() -> None:
        barrier.wait()
        done.append(DrainMarks(database, utc_now).run())

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    # A worker that found the other at a subject leaves it; what that one marked in the meantime is worked now.
    done.append(drain(database))
    assert [run.failures for run in done] == [{}, {}, {}]
    assert sum(run.buckets.get(COUNTERS.kind, 0) for run in done) == waiting
    assert marks(database) == []
    assert rows_per_host(database) == {internal_id(database, host): len(MINUTES) - 1 for host in hosts}
    before = dump(database)
    with database.write() as transaction:
        for host in hosts:
            append(transaction, COUNTERS.kind, internal_id(database, host), 0, [day_before()])
    drain(database)
    assert dump(database) == before


@native
def test_a_subject_that_fails_stops_no_other_and_keeps_its_marks(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    hosts = fill(database, 3)
    bad = internal_id(database, hosts[0])
    whole = drains.REBUILDS[COUNTERS]

    def breaking(transaction: WriteTransaction, claimed: Claim) -> None:
        whole(transaction, claimed)
        if claimed.subject_id == bad:
            raise ValueError("data that cannot be worked")

    with monkeypatch.context() as patched:
        patched.setitem(drains.REBUILDS, COUNTERS, breaking)
        done = DrainMarks(database, utc_now).run()
    assert done.failures == {COUNTERS.kind: 1}
    assert bad not in rows_per_host(database)
    assert set(rows_per_host(database)) == {internal_id(database, host) for host in hosts[1:]}
    left = marks(database)
    assert {(kind, subject) for kind, subject, _ in left} == {(COUNTERS.kind, bad)}
    assert len(left) == 6
    drain(database)
    assert len(rows_per_host(database)) == 3
    assert marks(database) == []


@native
def test_the_time_of_a_run_is_limited_and_the_next_one_goes_on(database: Database) -> None:
    fill(database, 3)
    now = utc_now()
    ticks = iter(range(1_000_000))

    def clock() -> datetime:
        """One second passes at each look."""
        return now + timedelta(seconds=next(ticks))

    first = DrainMarks(database, clock).run(at_most=timedelta(seconds=6))
    assert first.buckets == {COUNTERS.kind: 6 * 2}
    assert marks(database) != []
    drain(database)
    assert marks(database) == []


@native
def test_a_claim_belongs_to_one_worker_and_comes_back_after_a_failure(database: Database) -> None:
    with database.write() as transaction:
        append(transaction, "counters", 1, 0, [START, START, START + timedelta(minutes=10)])

    def work_and_fail() -> None:
        with database.write() as first:
            mine = claim(first, "counters", 1, 0, before=LATER, limit=10)
            assert mine is not None
            assert mine.buckets == (START, START + timedelta(minutes=10))
            with database.write() as second:
                assert claim(second, "counters", 1, 0, before=LATER, limit=10) is None
                assert claim(second, "counters", 2, 0, before=LATER, limit=10) is None
            raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        work_and_fail()
    with database.write() as again:
        assert claim(again, "counters", 1, 0, before=LATER, limit=1) == Claim("counters", 1, 0, (START,))
    assert len(marks(database)) == 1


@native
def test_a_mark_that_a_worker_is_deleting_does_not_stand_for_new_work(database: Database) -> None:
    with database.write() as transaction:
        append(transaction, "metrics_1h", 1, 0, [START])
        append(transaction, "metrics_1h", 1, 0, [START])
    assert len(marks(database)) == 1
    with database.write() as reader:
        assert claim(reader, "metrics_1h", 1, 0, before=LATER, limit=10) is not None
        # The reader has its data. What changes it now must be worked again.
        with database.write() as writer:
            append(writer, "metrics_1h", 1, 0, [START])
    assert marks(database) == [("metrics_1h", 1, START)]


def claim_without_waiting(database: Database) -> None:
    """Claim in a transaction that gives up where it would wait for another."""
    with database.write() as reader:
        reader.execute(text("SET LOCAL lock_timeout = '50ms'"))
        claim(reader, "metrics_1h", 1, 0, before=LATER, limit=10)


@native
def test_a_mark_that_stands_for_new_work_is_not_claimed_before_that_work_is_there(database: Database) -> None:
    with database.write() as transaction:
        append(transaction, "metrics_1h", 1, 0, [START])
    with database.write() as writer:
        append(writer, "metrics_1h", 1, 0, [START])
        with pytest.raises(Unavailable):
            claim_without_waiting(database)
    assert len(marks(database)) == 1
    with database.write() as reader:
        assert claim(reader, "metrics_1h", 1, 0, before=LATER, limit=10) is not None
