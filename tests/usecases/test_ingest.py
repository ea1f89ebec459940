"""The queue of ingest: shared commits, back-pressure, and one bad batch that never hurts others."""

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

import pytest
from sqlalchemy import text

from factories import batches
from factories.installations import Enrolled, enrol
from factories.waiting import DEADLINE_SECONDS, until
from tierscope.core.database import Database, WriteTransaction
from tierscope.core.errors import Busy, TierscopeError, TooLarge, TooMany, Unavailable, UnknownLayout, WrongHost
from tierscope.core.settings import Limits
from tierscope.storage.ingest import Incoming, Outcome, Registry, StoreLimits, store_group
from tierscope.usecases.ingest.batches import Acknowledged, Ingest
from tierscope.wire.decode import Decoded, DecodeLimits, decode_body

pytestmark = pytest.mark.parametrize("storage_mode", ["native"], indirect=True)


def run(database: Database, limits: Limits, work: Callable[[Ingest], Coroutine[Any, Any, None]]) -> None:
    """Runs `work` on a started ingest and stops it."""

    async def main() -> None:
        ingest = Ingest(database, limits=limits)
        ingest.start()
        try:
            await work(ingest)
        finally:
            await ingest.stop()

    asyncio.run(main())


def body(host: Enrolled, seq: int) -> bytes:
    return batches.compress(batches.full_batch(host_id=host.id, seq=seq))


def samples(database: Database) -> int:
    with database.read() as session:
        return int(session.execute(text("SELECT count(*) FROM counters_live")).scalar_one())


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[threading.Event, list[int]]]:
    """Holds back every commit until it is set; notes the size of each group."""
    opened = threading.Event()
    sizes: list[int] = []

    def held(
        transaction: WriteTransaction, group: list[Incoming], *, registry: Registry, limits: StoreLimits
    ) -> list[Outcome]:
        sizes.append(len(group))
        opened.wait(DEADLINE_SECONDS)
        return store_group(transaction, group, registry=registry, limits=limits)

    monkeypatch.setattr("tierscope.usecases.ingest.batches.store_group", held)
    yield opened, sizes
    opened.set()


def test_batches_that_arrive_during_a_commit_share_the_next_one(
    database: Database, gate: tuple[threading.Event, list[int]]
) -> None:
    opened, sizes = gate
    hosts = [enrol(database) for _ in range(6)]

    async def work(ingest: Ingest) -> None:
        tasks = [asyncio.create_task(ingest.submit(host.identity, body(host, 0))) for host in hosts]
        # The first group is taken at once and held back; the others wait behind it.
        await asyncio.to_thread(until, lambda: ingest.waiting >= 2, "as many batches wait")
        opened.set()
        answers = await asyncio.gather(*tasks)
        assert not any(answer.stored.duplicate for answer in answers)

    run(database, Limits(commit_batches=4), work)
    assert sum(sizes) == len(hosts)
    assert len(sizes) < len(hosts)
    assert max(sizes) <= 4
    assert samples(database) == 2 * len(hosts)


def test_bad_batches_fail_alone(database: Database, gate: tuple[threading.Event, list[int]]) -> None:
    opened, _ = gate
    hosts = [enrol(database) for _ in range(3)]
    strange = batches.make_batch(host_id=hosts[1].id)
    batches.add_counters(strange, [[1]], keys=("host|a|b",), with_layout=False)

    async def work(ingest: Ingest) -> None:
        bodies = [body(hosts[0], 0), batches.compress(strange), body(hosts[0], 0), b"garbage"]
        tasks = [
            asyncio.create_task(ingest.submit(host.identity, data))
            for host, data in zip((hosts[0], hosts[1], hosts[2], hosts[2]), bodies, strict=True)
        ]
        opened.set()
        good, unknown, foreign, garbage = await asyncio.gather(*tasks, return_exceptions=True)
        assert isinstance(good, Acknowledged)
        assert isinstance(unknown, UnknownLayout)
        assert isinstance(foreign, WrongHost)
        assert isinstance(garbage, TierscopeError)

    run(database, Limits(), work)
    assert samples(database) == 2


def test_a_batch_that_breaks_the_transaction_is_stored_apart_from_the_others(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    good, bad = enrol(database, name="good"), enrol(database, name="bad")

    def breaking(
        transaction: WriteTransaction, group: list[Incoming], *, registry: Registry, limits: StoreLimits
    ) -> list[Outcome]:
        outcomes = store_group(transaction, group, registry=registry, limits=limits)
        if any(item.host == bad.identity for item in group):
            raise ValueError("broken")
        return outcomes

    monkeypatch.setattr("tierscope.usecases.ingest.batches.store_group", breaking)

    async def work(ingest: Ingest) -> None:
        tasks = [ingest.submit(host.identity, body(host, 0)) for host in (good, bad)]
        stored, broken = await asyncio.gather(*tasks, return_exceptions=True)
        assert isinstance(stored, Acknowledged)
        assert isinstance(broken, TierscopeError)

    run(database, Limits(), work)
    assert samples(database) == 2


def test_batches_that_wait_to_be_decoded_are_bounded_too(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    hosts = [enrol(database) for _ in range(5)]
    opened = threading.Event()

    def slow(data: bytes, limits: DecodeLimits) -> Decoded:
        assert opened.wait(DEADLINE_SECONDS)
        return decode_body(data, limits)

    monkeypatch.setattr("tierscope.usecases.ingest.batches.decode_body", slow)
    monkeypatch.setattr("tierscope.usecases.ingest.batches.DECODED_AT_ONCE_BYTES", 0)  # as if they were large

    async def work(ingest: Ingest) -> None:
        tasks = [asyncio.create_task(ingest.submit(host.identity, body(host, 0))) for host in hosts]
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED, timeout=DEADLINE_SECONDS)
        opened.set()
        (refused,) = done
        assert isinstance(refused.exception(), Busy)
        taken = [task for task in tasks if task is not refused]
        assert all(isinstance(answer, Acknowledged) for answer in await asyncio.gather(*taken))

    run(database, Limits(queue_batches=2), work)


def test_a_full_queue_answers_busy_and_a_greedy_host_too_many(
    database: Database, gate: tuple[threading.Event, list[int]]
) -> None:
    opened, sizes = gate
    greedy, other = enrol(database), enrol(database)

    async def work(ingest: Ingest) -> None:
        tasks = [asyncio.create_task(ingest.submit(greedy.identity, body(greedy, 0)))]
        # The queue has room for two more only once the first is held back in its commit.
        await asyncio.to_thread(until, lambda: len(sizes) == 1, "a batch is committed")
        tasks += [asyncio.create_task(ingest.submit(greedy.identity, body(greedy, seq))) for seq in (1, 2)]
        await asyncio.to_thread(until, lambda: ingest.waiting >= 2, "as many batches wait")
        with pytest.raises(TooMany) as many:
            await ingest.submit(greedy.identity, body(greedy, 9))
        with pytest.raises(Busy) as busy:
            await ingest.submit(other.identity, body(other, 0))
        assert many.value.retry_after_seconds
        assert busy.value.retry_after_seconds
        opened.set()
        await asyncio.gather(*tasks)
        assert isinstance(await ingest.submit(other.identity, body(other, 0)), Acknowledged)

    run(database, Limits(queue_batches=2, host_batches_in_flight=3, commit_batches=1), work)
    assert sizes == [1, 1, 1, 1]


def test_stopping_stores_what_waits_and_refuses_the_rest(database: Database) -> None:
    host = enrol(database)

    async def main() -> None:
        ingest = Ingest(database)
        ingest.start()
        task = asyncio.create_task(ingest.submit(host.identity, body(host, 0)))
        await asyncio.to_thread(until, lambda: ingest.waiting > 0 or task.done(), "as many batches wait")
        await ingest.stop()
        assert isinstance(await task, Acknowledged)
        with pytest.raises(Unavailable):
            await ingest.submit(host.identity, body(host, 1))

    asyncio.run(main())
    assert samples(database) == 2


def test_a_body_over_the_limit_is_refused(database: Database) -> None:
    host = enrol(database)
    with pytest.raises(TooLarge):
        Ingest(database, limits=Limits(batch_bytes=10)).admit(host.identity, 11)


@pytest.mark.parametrize("hour", [0, 12])
def test_points_of_a_wider_accept_window_are_stored_where_they_have_no_partition_yet(
    database: Database, hour: int
) -> None:
    host = enrol(database)
    hour_ns = 3600 * 10**9
    day_ns = 24 * hour_ns
    ages_days = (40, 39, 40, 1)

    def aged(seq: int, age_days: int) -> bytes:
        end_ns = batches.now_ns() // day_ns * day_ns + hour * hour_ns - age_days * day_ns
        batch = batches.make_batch(host_id=host.id, seq=seq, sealed_wall_ns=end_ns)
        batches.add_counters(batch, [[seq]], ends_ns=[end_ns + seq], keys=("host|vmstat|pgfault",))
        return batches.compress(batch)

    async def work(ingest: Ingest) -> None:
        for seq, age_days in enumerate(ages_days):
            await ingest.submit(host.identity, aged(seq, age_days))

    run(database, Limits(late_days=60), work)
    assert samples(database) == len(ages_days)
