"""Stored bodies are read by a reader that knows docs/method/stored-forms.md alone."""

import json
import struct
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest
import zstandard
from sqlalchemy import text

from factories import batches
from factories.derived import day_before, drain, leave, to_ns
from factories.installations import enrol, store
from storage.test_stored_blocks import Part, Value
from tierscope.core.database import Database
from tierscope.domain._generated.heat_columns import HEAT_COLUMNS
from tierscope.domain.heat.rows import KINDS

native = pytest.mark.parametrize("storage_mode", ["native"], indirect=True)

PAGE = Path(__file__).parents[2] / "docs/method/stored-forms.md"
WIDTHS = {
    "kinds": 1,
    "page_sizes": 1,
    "validity": 1,
    "resident_bytes": 1,
    "age_bytes": 9,
    "never_bytes": 9,
    "active_count_bytes": 11,
    "active_lo_bytes": 4,
    "active_hi_bytes": 4,
    "load_samples": 1,
    "store_samples": 1,
    "distinct_pages": 4,
    "f1_pages": 4,
    "f2_pages": 4,
    "hot_intersection_bytes": 3,
    "hot_union_bytes": 3,
    "sampled_pages": 1,
    "written_bytes": 4,
    "subpage_active_bytes": 1,
    "dirty_bytes": 1,
}
"""The columns of heat, as the page lists them."""


def unshuffle(raw: bytes) -> list[int]:
    count = len(raw) // 8
    return [
        int.from_bytes(bytes(raw[place * count + i] for place in range(8)), "little", signed=True) for i in range(count)
    ]


def read_counters(body: bytes, keys: Sequence[str]) -> list[dict[str, Value]]:
    """Samples in order of time, each a value by key, with its `end` and `boot`."""
    (n, heads), (k, columns) = read_parts(body)
    assert k == len(keys)
    ends, boots, _, _ = heads.columns(n)
    values = dict(zip(keys, columns.columns(n), strict=True))
    return [{"end": ends[i], "boot": boots[i], **{key: column[i] for key, column in values.items()}} for i in range(n)]


def read_parts(body: bytes) -> list[tuple[int, Part]]:
    """The parts of a body, each with the number before it."""
    found, at = [], 0
    while at < len(body):
        number, length = struct.unpack("<II", body[at : at + 8])
        found.append((number, Part(body[at + 8 : at + 8 + length])))
        at += 8 + length
    return found


def read_heat(body: bytes) -> list[dict[str, object]]:
    """Intervals in order of time: each column by name, None where it was not measured."""
    line, _, raw = zstandard.ZstdDecompressor().decompress(body).partition(b"\n")
    numbers, at, found = unshuffle(raw), 0, []
    for head in json.loads(line):
        row: dict[str, object] = dict.fromkeys(WIDTHS)
        row |= {"end": head[0], "period": head[2], "groups": head[4], "tiers": head[5]}
        for name, length in zip(WIDTHS, head[6], strict=False):
            if length >= 0:
                assert length == WIDTHS[name] * len(head[4])
                row[name] = numbers[at : at + length]
                at += length
        found.append(row)
    assert at == len(numbers)
    return found


@native
def test_packed_counters_are_read_by_what_the_page_says(database: Database) -> None:
    host, start = enrol(database), day_before()
    rows: list[list[int | None]] = [[10, -5, (1 << 63) - 1], [11, None, -(1 << 63) + 1], [None, 7, 3]]
    ends = [to_ns(start + timedelta(minutes=minute)) for minute in (1, 2, 60)]
    batch = batches.make_batch(host_id=host.id, sealed_wall_ns=ends[-1])
    batches.add_counters(batch, rows, ends_ns=ends, boot_ids=["b1", "b1", "b2"])
    other = [to_ns(start + timedelta(minutes=30))]
    batches.add_counters(batch, [[42]], ends_ns=other, keys=("host|vmstat|pgfault",), boot_ids=["b1"])
    assert store(database, host, [batch])
    drain(database)
    leave(database)
    with database.read() as session:
        boots = dict(session.execute(text("SELECT boot_id, id FROM boots")).all())
        found = session.execute(
            text(
                "SELECT p.ts, p.n, p.body, l.keys AS names FROM counters_packed p JOIN layouts l ON l.id = p.layout_id"
                " ORDER BY p.n DESC"
            )
        ).all()
    assert [(row.ts, row.n) for row in found] == [(start, 3), (start, 1)]
    wanted = [
        {"end": end // 1000, "boot": boots[boot], **dict(zip(batches.KEYS, row, strict=True))}
        for end, boot, row in zip(ends, ("b1", "b1", "b2"), rows, strict=True)
    ]
    assert read_counters(found[0].body, found[0].names) == wanted
    (single,) = read_counters(found[1].body, ["host|vmstat|pgfault"])
    assert single == {"end": other[0] // 1000, "boot": boots["b1"], "host|vmstat|pgfault": 42}


@native
def test_packed_heat_is_read_by_what_the_page_says(database: Database) -> None:
    host, start = enrol(database), day_before()
    ends = [to_ns(start + timedelta(minutes=minute)) for minute in (3, 10)]
    batch = batches.make_batch(host_id=host.id, sealed_wall_ns=ends[-1])
    for end in ends:
        batches.add_heat(batch, services=("demo/cache", "demo/cache"), ends_ns=[end, end])
    batch.heat[0].dirty_bytes.extend([5, -1])
    batch.heat[0].tier_ref[:] = [batches.intern(batch, "dram"), batches.intern(batch, "cxl")]
    batch.heat[1].hot_union_bytes = np.array([1, 2, 3, 4, 5, 6], "<i8").tobytes()
    batches.add_inventory(batch)
    assert store(database, host, [batch])
    drain(database)
    leave(database)
    with database.read() as session:
        row = session.execute(text("SELECT ts, n, backend, granularity, interval_ns, body FROM heat")).one()
    assert (row.ts, row.n, row.backend, row.granularity, row.interval_ns) == (start, 2, 8, 3, batches.MINUTE_NS)
    first, second = read_heat(row.body)
    assert [first["end"], second["end"]] == [end // 1000 for end in ends]
    assert (first["tiers"], second["tiers"], first["groups"]) == (["dram", "cxl"], ["", ""], ["server", "server"])
    assert (first["kinds"], first["page_sizes"], first["resident_bytes"]) == ([1, 1], [4096, 4096], [1 << 20] * 2)
    assert first["age_bytes"] == [place * 4096 for place in range(2 * 9)]
    assert (first["dirty_bytes"], second["dirty_bytes"]) == ([5, -1], None)
    assert (first["hot_union_bytes"], second["hot_union_bytes"]) == (None, [1, 2, 3, 4, 5, 6])
    assert first["load_samples"] is first["period"] is None


def test_the_page_lists_the_columns_and_kinds_that_there_are() -> None:
    assert list(WIDTHS)[:2] == ["kinds", "page_sizes"]
    assert list(WIDTHS.items())[2:] == [(column.name, column.width) for column in HEAT_COLUMNS]
    page = PAGE.read_text()
    assert all(f"`{name}`" in page for name in WIDTHS)
    assert all(f"{number} `{name}`" in page for number, name in enumerate(KINDS) if name)
