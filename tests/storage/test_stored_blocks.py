"""Blocks as stored are what docs/method/stored-forms.md says: a reader that was written from that page alone."""

import json
import struct
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from typing import Any

import numpy as np
import pytest
import zstandard
from sqlalchemy import text

from storage.test_closed_days import DAY, FIRST, store_gaps
from tierscope.core.database import Database
from tierscope.domain.counters.rollups import STATISTICS, Rollup
from tierscope.domain.heat.rows import Method
from tierscope.domain.ingest.batch import GAP_BINS, GapBlock, ServiceKey
from tierscope.domain.ledger import COLUMN_KEYS
from tierscope.storage.alerts.rule_inputs import RULES, InputRows
from tierscope.storage.base.binary import to_us
from tierscope.storage.base.partitions import ensure_partitions
from tierscope.storage.counters.rollups import ROLLUPS, replace_metrics
from tierscope.storage.curve.reuse_intervals import GAPS
from tierscope.storage.ledger.days import LEDGER, Moves, copy_moves

pytestmark = pytest.mark.parametrize("storage_mode", ["native"], indirect=True)
Value = int | float | None
DIVISORS = {2: 1e2, 3: 1e3, 4: 1e6, 5: 1e9}


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    with closing(Database(database_url)) as opened:
        with opened.write() as transaction:
            ensure_partitions(transaction, FIRST - DAY, FIRST + 3 * DAY)
        yield opened


def signed(number: int) -> int:
    return (number + 2**63) % 2**64 - 2**63


class Part:
    def __init__(self, body: bytes) -> None:
        self.body = zstandard.ZstdDecompressor().decompress(body) if body[:4] == b"\x28\xb5\x2f\xfd" else body
        self.at = 0

    def take(self, n: int) -> bytes:
        found = self.body[self.at : self.at + n]
        self.at += n
        return found

    def varint(self) -> int:
        """The next signed number."""
        z = shift = 0
        while True:
            byte = self.take(1)[0]
            z |= byte % 128 << shift
            shift += 7
            if byte < 128:
                return z // 2 if z % 2 == 0 else -(z + 1) // 2

    def columns(self, rows: int) -> Iterator[list[Value]]:
        """The columns of the part, null as None."""
        kind, present, values = 0, [False] * rows, [0]
        while self.at < len(self.body):
            head = self.take(1)[0] - 128
            holes, form = divmod(head, 16)
            if form == 0:
                present, values = [False] * rows, []
            elif form > 1:
                before = values
                kind, width = divmod(self.take(1)[0], 16)
                if holes == 0:
                    present = [True] * rows
                elif holes == 1:
                    bits = self.take((rows + 7) // 8)
                    present = [not bits[row // 8] >> (7 - row % 8) & 1 for row in range(rows)]
                values = [self.varint()] if form == 3 else []
                low, m = self.varint(), sum(present) - len(values)
                distinct = self.take(1)[0] + 1 if form == 5 else m
                planes = self.take(width * distinct)
                residuals = [
                    low + sum(planes[j * distinct + i] << 8 * j for j in range(width)) for i in range(distinct)
                ]
                if form == 5:
                    residuals = [residuals[place] for place in self.take(m)]
                for i, residual in enumerate(residuals):
                    base = values[-1] if form == 3 else before[i] if form == 4 else 0
                    values.append(signed(base + residual))
            left = iter(values)
            yield [number(kind, next(left)) if there else None for there in present]

    def column(self, rows: int) -> list[Value]:
        (found,) = self.columns(rows)
        return found


def number(kind: int, value: int) -> int | float:
    if kind == 6:
        return float(struct.unpack("<d", struct.pack("<q", value))[0])
    return value if kind == 0 else float(value) if kind == 1 else value / DIVISORS[kind]


def stored(database: Database, table: str) -> tuple[int, list[str], list[Part]]:
    """Rows, the names of the layout, and the parts of the only block."""
    with database.read() as session:
        row: Any = session.execute(
            text(f"SELECT n, offsets, body, keys FROM {table} LEFT JOIN layouts ON layouts.id = layout_id")
        ).one()
    return row.n, row.keys, [Part(row.body[a:b]) for a, b in zip(row.offsets, row.offsets[1:], strict=False)]


def test_a_day_of_the_ledger(database: Database) -> None:
    n, rng = 200, np.random.default_rng(5)
    ends = to_us(FIRST) + 60_000_000 * np.arange(1, n + 1) + rng.integers(0, 900, n)
    values, present = np.zeros((n, len(COLUMN_KEYS)), np.int64), np.zeros((n, len(COLUMN_KEYS)), bool)
    for key, high in (("promoted_pages", 1), ("demoted_pages", 2**40), ("psi_some_us", 300)):
        place = COLUMN_KEYS.index(key)
        values[:, place], present[:, place] = rng.integers(-3, high, n), rng.random(n) < 0.9
    values[~present] = 0
    seconds = np.where(rng.random(n) < 0.5, 60.0, 59.999983)
    causes, trusts = rng.integers(0, 2, n) * 4, np.full(n, 7)
    with database.write() as transaction:
        copy_moves(transaction, [Moves(1, 0, ends, seconds, causes, trusts, values, present)])
        LEDGER.close(transaction, 1, [FIRST])
    rows, names, parts = stored(database, "tier_move_days")
    assert rows == n
    assert set(names) == {"promoted_pages", "demoted_pages", "psi_some_us"}
    heads = [part.column(n) for part in parts[:4]]
    assert heads == [ends.tolist(), seconds.tolist(), [cause or None for cause in causes.tolist()], trusts.tolist()]
    for name, part in zip(names, parts[4:], strict=True):
        place = COLUMN_KEYS.index(name)
        wanted = [v if there else None for v, there in zip(values[:, place].tolist(), present[:, place], strict=True)]
        assert part.column(n) == wanted, name


def test_a_day_of_what_rules_judge(database: Database) -> None:
    n, rng = 100, np.random.default_rng(6)
    ones = np.ones(n)
    ends = np.asarray(FIRST.timestamp() + 60.0 * np.arange(1, n + 1), np.float64)
    columns = {
        "hundredths": rng.integers(0, 900, n) / 100,
        "nothing": np.full(n, np.nan),
        "noise": np.where(rng.random(n) < 0.2, np.nan, rng.random(n)),
        "whole": rng.integers(0, 2**45, n).astype(np.float64),
    }
    names = tuple(columns)
    rows = InputRows(
        ones.astype(int), 0 * ones.astype(int), ends, 60 * ones, 30 * ones, names, np.array([*columns.values()]).T
    )
    with database.write() as transaction:
        RULES.store(transaction, 1, FIRST, [rows])
    found, held, parts = stored(database, "rule_days")
    assert (found, tuple(held)) == (n, names)
    assert [part.column(n) for part in parts[:3]] == [ends.tolist(), [60.0] * n, [30.0] * n]
    for name, part in zip(names, parts[3:], strict=True):
        assert part.column(n) == [None if np.isnan(value) else value for value in columns[name].tolist()], name


def test_a_day_of_rolled_up_counters(database: Database) -> None:
    n, rng = 24, np.random.default_rng(8)
    keys = ("host|vmstat|constant", "host|vmstat|moving")
    shape = (n, len(keys))
    columns = {name: np.full(shape, 7.0) for name in STATISTICS}
    for values in columns.values():
        values[:, 1] = np.where(rng.random(n) < 0.2, np.nan, rng.integers(0, 2**40, n) / 100)
    counts = rng.integers(0, 3, shape)
    starts = to_us(FIRST) + 3_600_000_000 * np.arange(n)
    with database.write() as transaction:
        replace_metrics(transaction, "metrics_1h", {1: Rollup(starts_us=starts, keys=keys, n=counts, **columns)})
        ROLLUPS["metrics_1h"].close(transaction, 1, [FIRST])
    rows, names, parts = stored(database, "metrics_1h_days")
    assert (rows, tuple(names)) == (n, keys)
    assert parts[0].column(n) == [3600 * hour for hour in range(n)]
    for place, part in enumerate(parts[1:]):
        *found, many = part.columns(n)
        for name, column in zip(("first", "last", "min", "max", "sum"), found, strict=True):
            wanted = columns[name][:, place].tolist()
            assert column == [None if np.isnan(value) else value for value in wanted], name
        assert many == [count or None for count in counts[:, place].tolist()]


def test_a_day_of_reuse_gaps(database: Database) -> None:
    blocks = []
    for place in range(4):
        groups = ("server", "größe")[: 1 + place % 2]
        table = np.random.default_rng(place).integers(0, 3, (len(groups), GAP_BINS)) * 4096
        method, end = Method(4, 1, 60 * 10**9), FIRST + timedelta(hours=1 + place)
        services, kinds = (ServiceKey("default", "web"),) * len(groups), np.arange(len(groups)) + 1
        told = None if place == 2 else table + 1
        blocks.append(
            GapBlock(method, to_us(end) * 1000, 60, services, groups, kinds, table, 2 * table, 3 * table, told)
        )
    with database.write() as transaction:
        store_gaps(transaction, [(1, 7, block) for block in blocks])
        GAPS.close(transaction, 1, [FIRST])
    n, _, parts = stored(database, "gap_days")
    heads = [part.column(n) for part in parts[:6]]
    ends = [block.end_wall_ns // 1000 for block in blocks]
    assert heads == [ends, [4] * 4, [1] * 4, [60 * 10**9] * 4, [60] * 4, [len(block.groups) for block in blocks]]
    words, rows = json.loads(parts[6].body), sum(len(block.groups) for block in blocks)
    named = [words[int(place or 0)] for place in parts[7].column(rows)]
    assert named == [group for block in blocks for group in block.groups]
    assert parts[8].column(rows) == [kind for block in blocks for kind in block.kinds.tolist()]
    for part, name in zip(parts[9:], ("closed", "freed", "open", "censored"), strict=True):
        wanted: list[list[int | None]] = []
        for block in blocks:
            table = getattr(block, f"{name}_bytes")
            wanted += [[None] * GAP_BINS] * len(block.groups) if table is None else table.tolist()
        assert [list(row) for row in zip(*part.columns(rows), strict=True)] == wanted, name
