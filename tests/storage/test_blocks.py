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
    read_parts,
    replace_blocks,
    start_seconds,
    stored_layouts,
)
from tierscope.storage.base.partitions import ensure_partitions
from tierscope.storage.tables import rule_days

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


def block(host: int, service: int, day: datetime, layout: int, parts: tuple[bytes, ...] = PARTS) -> Block:
    return Block(host, service, start_seconds(day), layout, N, parts)


def heads(blocks: list[Block]) -> list[tuple[int, int, int, int]]:
    return [(found.host_id, found.service_id, found.start_s - start_seconds(DAY), found.layout_id) for found in blocks]


def test_blocks_are_read_whole_and_in_parts(database: Database) -> None:
    with database.write() as transaction:
        replace_blocks(transaction, rule_days, 1, [DAY, NEXT], [block(1, 0, DAY, 5), block(1, 9, NEXT, 6)])
        replace_blocks(transaction, rule_days, 2, [DAY], [block(2, 0, DAY, 5, PARTS[::-1]), block(2, 0, DAY, 6)])
    days = Days(DAY, NEXT + timedelta(days=1), [1, 2], "any")
    with database.read() as session:
        assert stored_layouts(session, rule_days, days) == [5, 6]
        whole = read_blocks(session, rule_days, days)
        assert heads(whole) == [(1, 0, 0, 5), (1, 9, 86_400, 6), (2, 0, 0, 5), (2, 0, 0, 6)]
        assert whole[0].parts == PARTS
        assert whole[2].parts == PARTS[::-1]
        some = read_parts(session, rule_days, days, 5, [3, 1])
        assert heads(some) == [(1, 0, 0, 5), (2, 0, 0, 5)]
        np.testing.assert_array_equal(unpack_floats(some[0].parts[0], N), np.stack([NOISE, np.full(N, np.nan)]))
        np.testing.assert_array_equal(unpack_ints(some[0].parts[1], N)[0], STEPS[None])
        assert unpack_words(some[1].parts[1]) == ("server", "größe")
        assert heads(read_parts(session, rule_days, days, 6, [])) == [(1, 9, 86_400, 6), (2, 0, 0, 6)]
        assert read_parts(session, rule_days, days, 7, [0]) == []


def test_reads_are_of_the_days_hosts_and_services_that_are_asked_for(database: Database) -> None:
    with database.write() as transaction:
        for host in (1, 2):
            kept = [block(host, service, day, 5) for service in (0, 9) for day in (DAY, NEXT)]
            replace_blocks(transaction, rule_days, host, [DAY, NEXT], kept)
    with database.read() as session:

        def found(days: Days) -> list[tuple[int, int, int, int]]:
            return heads(read_blocks(session, rule_days, days))

        assert found(Days(DAY, NEXT, [1])) == [(1, 0, 0, 5)]
        assert found(Days(NEXT, NEXT + timedelta(seconds=1), None, 9)) == [(1, 9, 86_400, 5), (2, 9, 86_400, 5)]
        assert found(Days(DAY, NEXT, [2], "each")) == [(2, 9, 0, 5)]
        assert len(found(Days(DAY, NEXT, [1, 2], "any"))) == 4
        assert found(Days(DAY, NEXT, [], "any")) == []


def test_a_day_is_replaced_whole_and_the_others_stay(database: Database) -> None:
    with database.write() as transaction:
        replace_blocks(transaction, rule_days, 1, [DAY], [block(1, 0, DAY, 5), block(1, 9, DAY, 5)])
        replace_blocks(transaction, rule_days, 1, [NEXT], [block(1, 0, NEXT, 5)])
        replace_blocks(transaction, rule_days, 2, [DAY], [block(2, 0, DAY, 5)])
        replace_blocks(transaction, rule_days, 1, [DAY], [block(1, 3, DAY, 6)])
    with database.read() as session:
        left = heads(read_blocks(session, rule_days, Days(DAY, NEXT + timedelta(days=1), None, "any")))
    assert left == [(1, 0, 86_400, 5), (1, 3, 0, 6), (2, 0, 0, 5)]
