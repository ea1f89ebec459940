"""The account of what was acknowledged, beside restores, purges, packing, retention and moves in drawn orders.

Each sample is stored once, under its own host and series, or it was refused: nothing that a process remembers outlives
what it is about. Senders go on while a thread restores and purges; a count, not a clock, says what came before what.
"""

import asyncio
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import text

from factories.acknowledged import OF_SAMPLES, Account, Happened, Inside, Senders, Sent, Subject, Values
from factories.drawn_orders import Operator, play
from fixtures.draws import drawn
from fixtures.elsewhere import long
from fixtures.servers import Template
from tierscope.core.database import Database

native = pytest.mark.parametrize("storage_mode", ["native"], indirect=True)


@pytest.fixture
def inside(database: Database) -> Inside:
    return Inside(database)


@pytest.fixture
def senders(inside: Inside) -> Senders:
    return Senders(inside, Account())


@pytest.fixture
def operator(database: Database, senders: Senders, template: Template, tmp_path: Path) -> Iterator[Operator]:
    with closing(Operator(database, senders, template, tmp_path)) as opened:
        yield opened


def faults(senders: Senders, database: Database) -> list[str]:
    return [f"{way}: {fault}" for way, counts in senders.judge(database).items() for fault in counts.faults()]


@native
def test_what_was_enrolled_after_a_copy_is_not_mixed_with_what_came_after_its_restore(
    database: Database, inside: Inside, senders: Senders, operator: Operator
) -> None:
    async def work() -> None:
        inside.ingest.start()
        await asyncio.to_thread(operator.back_up)
        senders.enrol("carol")
        await senders.send("agent", "carol")
        await senders.send("remote_write", "alice")
        await asyncio.to_thread(operator.restore)
        senders.enrol("dave")  # has the number that carol had
        await senders.send("agent", "dave")
        await senders.send("agent", "carol")
        await operator.send_elsewhere("bob")  # has the numbers that alice's target and series had
        await senders.send("remote_write", "alice")
        await inside.stop()

    asyncio.run(work())
    assert faults(senders, database) == []
    assert senders.account.refused == 1  # carol is not there any more
    with database.read() as session:
        rows = session.execute(
            text(
                "SELECT h.name, s.name AS service FROM host_services hs JOIN hosts h ON h.id = hs.host_id"
                " JOIN services s ON s.id = hs.service_id"
            )
        )
        assert {tuple(row) for row in rows} == {("dave", "of-dave")}
    assert set(senders.stored(database)) == {("agent", senders.hosts["dave"].id), ("remote_write", "alice")}


@native
def test_samples_that_come_after_the_purge_of_their_host_are_stored_anew(
    database: Database, inside: Inside, senders: Senders, operator: Operator
) -> None:
    async def work() -> None:
        inside.ingest.start()
        for _ in range(2):
            for way in OF_SAMPLES:
                await senders.send(way, "web1")
        await asyncio.to_thread(operator.purge, "web1")
        for way in OF_SAMPLES:
            await senders.send(way, "web1")
        await inside.stop()

    asyncio.run(work())
    assert [event.what for event in senders.account.happened] == ["purge"]
    assert faults(senders, database) == []
    assert set(senders.stored(database)) == {(way, "web1") for way in OF_SAMPLES}


def values(*some: int) -> Values:
    return np.array(some, np.int64)


def test_the_account_tells_what_is_lost_doubled_misplaced_or_back() -> None:
    mine: Subject = ("agent", "a")
    account = Account(
        sent=[Sent(mine, 1, 2, 1, 2), Sent(mine, 3, 2, 9, 10), Sent(mine, 5, 2, 11, None)],
        happened=[Happened("purge", 3, 4, frozenset({"a"}))],
    )

    def told(found: dict[Subject, Values]) -> list[str]:
        return account.judge(found)["agent"].faults()

    assert told({mine: values(3, 4)}) == told({mine: values(3, 4, 5, 6)}) == []
    assert account.judge({mine: values(3, 4)})["agent"].purged == 2
    assert told({}) == ["2 samples lost"]
    assert told({mine: values(3, 4, 4)}) == ["1 samples doubled"]
    assert told({mine: values(3, 4, 7)}) == ["1 samples misplaced"]
    assert told({mine: values(3), ("agent", "b"): values(4)}) == ["1 samples lost", "1 samples misplaced"]
    assert told({mine: values(1, 3, 4)}) == ["1 samples returned"]


@long
@native
@pytest.mark.parametrize("seed", range(drawn(20)))
def test_every_acknowledged_sample_is_accounted_for_in_any_order(
    template: Template, storage_mode: str, tmp_path: Path, seed: int
) -> None:
    done, counts = play(template, storage_mode, tmp_path, seed=seed)
    assert [f"{way}: {fault}" for way, told in counts.items() for fault in told.faults()] == [], done
    assert sum(told.acknowledged for told in counts.values()) > 0
