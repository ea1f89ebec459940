"""Blocks as stored: what is read is what was stored, whole or in parts, and a day is replaced whole."""

from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from tierscope.core.database import Database
from tierscope.domain.base.blocks import pack_floats, pack_ints, pack_words, unpack_floats, unpack_ints, unpack_words
from tierscope.storage.base.blocks import (
    Block,
    Days,
    read_blocks,
    replace_blocks,
    start_seconds,
)
from tierscope.storage.base.partitions import ensure_partitions
from tierscope.storage.tables.time import rule_days

DAY = datetime(2026, 3, 1, tzinfo=UTC)
NEXT = DAY + timedelta(days=1)
N = 1440
RNG = np.random.default_rng(3)
NOISE = RNG.random(N)
STEPS = RNG.integers(0, 5, N).cumsum()
PARTS = (
    pack_floats(np.full((1, N), 7.0)),
    pack_ints(STEPS[None]),
    pack_words(["server", "größe"]),
    pack_floats(np.stack([NOISE, np.full(N, np.nan)])),
)


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    with closing(Database(database_url)) as opened:
        with opened.write() as transaction:
            ensure_partitions(transaction, DAY, NEXT)
        yield opened


NAMES = ("hot",)


def block(
    host: int, service: int, day: datetime, names: tuple[str, ...] = NAMES, parts: tuple[bytes, ...] = PARTS
) -> Block:
    return Block(host, start_seconds(day), service, N, names, parts)


def heads(blocks: list[Block]) -> list[tuple[int, int, int, tuple[str, ...]]]:
    return [(found.host_id, found.service_id, found.start_s - start_seconds(DAY), found.names) for found in blocks]


def test_blocks_are_read_whole_and_in_parts(database: Database) -> None:
    cold, both = ("cold",), ("cold", "hot")
    short, wide = PARTS[:3], (*PARTS, PARTS[1])
    with database.write() as transaction:
        replace_blocks(transaction, rule_days, 1, [DAY, NEXT], [block(1, 0, DAY), block(1, 9, NEXT, cold)])
        blocks = [block(2, 0, DAY, NAMES, PARTS[::-1]), block(2, 0, DAY, both, wide), block(2, 3, DAY, (), short)]
        replace_blocks(transaction, rule_days, 2, [DAY], blocks)
    days = Days(DAY, NEXT + timedelta(days=1), [1, 2], "any")
    with database.read() as session:
        whole = read_blocks(session, rule_days, days)
        assert heads(whole) == [
            (1, 0, 0, NAMES),
            (1, 9, 86_400, cold),
            (2, 0, 0, NAMES),
            (2, 0, 0, both),
            (2, 3, 0, ()),
        ]
        assert [found.parts for found in whole] == [PARTS, PARTS, PARTS[::-1], wide, short]
        some = read_blocks(session, rule_days, days, ["hot", "never"])
        assert sorted(heads(some)) == [
            (1, 0, 0, NAMES),
            (1, 9, 86_400, ()),
            (2, 0, 0, NAMES),
            (2, 0, 0, NAMES),
            (2, 3, 0, ()),
        ]
        assert (some[0].parts, some[1].parts) == (PARTS, PARTS[:3])
        assert {found.parts for found in some if found.host_id == 2 and found.names} == {
            PARTS[::-1],
            (*short, PARTS[1]),
        }
        np.testing.assert_array_equal(unpack_floats(some[0].parts[3], N), np.stack([NOISE, np.full(N, np.nan)]))
        np.testing.assert_array_equal(unpack_ints(some[0].parts[1], N)[0], STEPS[None])
        assert unpack_words(some[0].parts[2]) == ("server", "größe")
        assert heads(read_blocks(session, rule_days, days, "cold".__eq__))[1] == (1, 9, 86_400, cold)


def test_reads_are_of_the_days_hosts_and_services_that_are_asked_for(database: Database) -> None:
    with database.write() as transaction:
        for host in (1, 2):
            kept = [block(host, service, day) for service in (0, 9) for day in (DAY, NEXT)]
            replace_blocks(transaction, rule_days, host, [DAY, NEXT], kept)
    with database.read() as session:

        def found(days: Days) -> list[tuple[int, int, int, tuple[str, ...]]]:
            return heads(read_blocks(session, rule_days, days))

        assert found(Days(DAY, NEXT, [1])) == [(1, 0, 0, NAMES)]
        assert found(Days(NEXT, NEXT + timedelta(seconds=1), None, 9)) == [(1, 9, 86_400, NAMES), (2, 9, 86_400, NAMES)]
        assert found(Days(DAY, NEXT, [2], "each")) == [(2, 9, 0, NAMES)]
        assert len(found(Days(DAY, NEXT, [1, 2], "any"))) == 4
        assert found(Days(DAY, NEXT, [], "any")) == []


def test_a_day_is_replaced_whole_and_the_others_stay(database: Database) -> None:
    with database.write() as transaction:
        replace_blocks(transaction, rule_days, 1, [DAY], [block(1, 0, DAY), block(1, 9, DAY)])
        replace_blocks(transaction, rule_days, 1, [NEXT], [block(1, 0, NEXT)])
        replace_blocks(transaction, rule_days, 2, [DAY], [block(2, 0, DAY)])
        replace_blocks(transaction, rule_days, 1, [DAY], [block(1, 3, DAY, ("cold",))])
    with database.read() as session:
        left = heads(read_blocks(session, rule_days, Days(DAY, NEXT + timedelta(days=1), None, "any")))
    assert left == [(1, 0, 86_400, NAMES), (1, 3, 0, ("cold",)), (2, 0, 0, NAMES)]
