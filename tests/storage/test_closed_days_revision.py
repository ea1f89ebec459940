"""Revisions that bring what is packed into the form of blocks, on what was packed before them."""

import struct
from contextlib import closing
from dataclasses import fields
from datetime import timedelta

import numpy as np
import pytest
import zstandard
from sqlalchemy import text

from factories import batches
from factories.installations import enrol, store
from fixtures.elsewhere import long_with_timescaledb
from tierscope.core.clock import utc_now
from tierscope.core.database import Database, WriteTransaction
from tierscope.domain.base.buckets import day_of
from tierscope.domain.counters.packing import Block
from tierscope.storage.alerts.rule_inputs import unpack_rows
from tierscope.storage.base import copy
from tierscope.storage.base.binary import to_us
from tierscope.storage.base.blocks import Block as StoredBlock
from tierscope.storage.base.blocks import Days, read_blocks, replace_blocks, start_seconds
from tierscope.storage.base.layouts import ensure_layout
from tierscope.storage.base.partitions import drop_old, ensure_partitions
from tierscope.storage.base.schema import downgrade, upgrade
from tierscope.storage.counters.rows import read_packed, replace_packed
from tierscope.storage.tables.time import BLOCK_KINDS, rule_days

DAY = day_of(utc_now()) - timedelta(days=2)
N = 5
HOLES = np.array([False, True, False, False, True])
COLUMNS = {
    "constant": np.full(N, 7.5),
    "fractions": np.array([0.1, 1 / 3, -2.5, 1e300, 4.0]),
    "nothing": np.full(N, np.nan),
    "whole": np.where(HOLES, np.nan, [100.0, 0.0, 103.0, 355.0, 0.0]),
}
ENDS = DAY.timestamp() + 60.0 * np.arange(1, N + 1)


def head(kind: int, flags: int) -> bytes:
    return struct.pack("<BBI", kind, flags, N)


OLD_PARTS = (
    head(1, 0) + struct.pack("<dd", ENDS[0], 60.0),
    head(1, 0) + struct.pack("<dd", 60.0, 0.0),
    head(1, 0) + struct.pack("<dd", 30.0, 0.0),
    head(1, 0) + struct.pack("<dd", 7.5, 0.0),
    head(3, 0) + COLUMNS["fractions"].tobytes(),
    head(0, 0),
    head(2, 1) + struct.pack("<d", 100.0) + np.packbits(HOLES).tobytes() + bytes([0, 0, 3, 255, 0]),
)


def store_old(transaction: WriteTransaction, service_id: int) -> None:
    """A day as it was packed before: each part a frame, in the form of then."""
    parts = [zstandard.ZstdCompressor().compress(part) for part in OLD_PARTS]
    offsets = np.cumsum([0, *map(len, parts)])
    fields = [copy.int8(1), copy.int8(service_id), copy.instant(to_us(DAY) * 1000)]
    fields += [copy.int8(ensure_layout(transaction, tuple(COLUMNS))), copy.int4(N), copy.int4_array(offsets)]
    columns = ("host_id", "service_id", "ts", "layout_id", "n", "offsets", "body")
    copy.copy_rows(transaction, "rule_days", columns, [copy.row([*fields, copy.blob(b"".join(parts))])])


@pytest.mark.parametrize("storage_mode", ["native"], indirect=True)
def test_days_that_were_packed_before_are_read_as_they_were(database_url: str) -> None:
    with closing(Database(database_url)) as database:
        enrol(database)
        downgrade(database_url, "0031")
        with database.write() as transaction:
            store_old(transaction, 0)
            store_old(transaction, 7)
            row = [copy.int8(1), copy.int8(0), copy.instant(to_us(DAY) * 1000), copy.float8(60.0)]
            copy.copy_rows(transaction, "tier_moves", ("host_id", "service_id", "ts", "dt_seconds"), [copy.row(row)])
        upgrade(database_url)
        with database.read() as session:
            blocks = read_blocks(session, rule_days, Days(DAY, utc_now(), [1], "any"))
            found = {block.service_id: unpack_rows(block) for block in blocks}
            waiting = session.execute(text("SELECT kind, bucket FROM marks WHERE kind LIKE '%_days' ORDER BY bucket"))
            marks = [tuple(mark) for mark in waiting]
    assert sorted(found) == [0, 7]
    for rows in found.values():
        assert rows.ends_s.tolist() == ENDS.tolist()
        assert set(rows.seconds.tolist()) == {60.0}
        assert set(rows.lags_s.tolist()) == {30.0}
        for place, name in enumerate(rows.names):
            np.testing.assert_array_equal(rows.values[:, place], COLUMNS[name], err_msg=name)
    assert marks == [("tier_move_days", DAY - timedelta(days=1)), ("tier_move_days", DAY)]


@pytest.mark.parametrize("storage_mode", ["native"], indirect=True)
def test_hours_of_counters_come_back_from_the_form_of_before(database_url: str) -> None:
    rng = np.random.default_rng(11)
    ends = to_us(DAY) + 60_000_000 * np.arange(1, 61)
    flags = np.zeros(60, np.int64)
    values, present = rng.integers(-(2**63), 2**63 - 1, (60, 3)), rng.random((60, 3)) < 0.8
    full = Block(ends, flags + 4, ends * 1000, flags, ("a", "b", "c"), values, np.ones((60, 3), np.bool_))
    holed = Block(ends + 5, flags + 4, flags - 1, flags, ("d", "e", "f"), np.where(present, values, 0), present)
    with closing(Database(database_url)) as database:
        with database.write() as transaction:
            ensure_partitions(transaction, DAY, DAY)
            replace_packed(transaction, 1, [(DAY, [full, holed])])
        downgrade(database_url, "0037")
        with database.read() as session:
            bodies = session.execute(text("SELECT body FROM counters_packed")).scalars().all()
        assert {zstandard.ZstdDecompressor().decompress(body)[:4] for body in bodies} == {b"TSC1"}
        upgrade(database_url)
        with database.read() as session:
            found = {part.keys: part for part in read_packed(session, 1, DAY, DAY + timedelta(hours=1))}
    for block in (full, holed):
        for field in fields(Block):
            np.testing.assert_array_equal(getattr(found[block.keys], field.name), getattr(block, field.name))


@pytest.mark.parametrize("storage_mode", ["native"], indirect=True)
def test_page_samples_come_back_from_the_form_of_before(database_url: str) -> None:
    with closing(Database(database_url)) as database:
        host = enrol(database)
        batch = batches.make_batch(host_id=host.id)
        batches.add_page_sample(batch, pages=3, intervals=4)
        assert store(database, host, [batch])

        def body() -> bytes:
            with database.read() as session:
                return bytes(session.execute(text("SELECT body FROM traces")).scalar_one())

        packed = body()
        downgrade(database_url, "0038")
        assert zstandard.ZstdDecompressor().decompress(body())[:4] == b"TSP1"
        upgrade(database_url)
        assert body() == packed


@long_with_timescaledb
def test_blocks_of_all_kinds_come_into_one_table_and_out_of_it_again(database_url: str) -> None:
    days = Days(DAY, DAY + timedelta(days=60), [1, 2], "any")
    with closing(Database(database_url)) as database:

        def stored() -> dict[str, list[StoredBlock]]:
            with database.read() as session:
                return {kind.name: read_blocks(session, kind, days) for kind in BLOCK_KINDS}

        with database.write() as transaction:
            for place, kind in enumerate(BLOCK_KINDS):
                parts = tuple(bytes([place, part]) for part in range(kind.heads + 1))
                for host in (1, 2):
                    block = StoredBlock(host, start_seconds(DAY), place, N, (kind.name,), parts)
                    replace_blocks(transaction, kind, host, [DAY], [block])
        before = stored()
        downgrade(database_url, "0042")
        with database.read() as session:
            counts = {kind.name: f"SELECT count(*) FROM {kind.name}" for kind in BLOCK_KINDS}
            assert {session.execute(text(count)).scalar_one() for count in counts.values()} == {2}
        upgrade(database_url)
        assert stored() == before
        with database.write() as transaction:
            assert drop_old(transaction, utc_now() + timedelta(days=200)).keys() >= before.keys()
        left = {name for name, blocks in stored().items() if blocks}
    assert left == {"metrics_1h_days", "metrics_1d_months"}
