"""Rolled-up counters that are packed answer as their rows did, and rows that come later count instead of them."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from sqlalchemy import text

from fixtures.elsewhere import long_with_timescaledb
from tierscope.core.database import Database, ReadSession
from tierscope.domain.base.buckets import floor_to
from tierscope.domain.counters.rollups import OBSERVED_KEY, STATISTICS, Rollup, widen
from tierscope.storage.base.binary import to_us
from tierscope.storage.base.partitions import ensure_partitions
from tierscope.storage.capacity.rows import first_hour, read_hours
from tierscope.storage.counters.rollups import BLOCKS, ROLLUPS, MetricsTable, read_metrics, replace_metrics
from tierscope.storage.statistics.host_means import read_counter_means
from tierscope.storage.tables import TIME_TABLES

START = datetime(2026, 3, 2, tzinfo=UTC)
DAY = timedelta(days=1)
COUNTER, GAUGE, OTHER = "host|vmstat|pgpromote_success", "host|meminfo|MemFree", "host|vmstat|pgfault"
KEYS = (COUNTER, GAUGE, OBSERVED_KEY)
WIDTHS: Mapping[MetricsTable, timedelta] = {
    "metrics_10m": timedelta(minutes=10),
    "metrics_1h": timedelta(hours=1),
    "metrics_1d": DAY,
}


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    with closing(Database(database_url)) as opened:
        with opened.write() as transaction:
            for name in WIDTHS:
                days, names = 31 if name == "metrics_1d" else 2, {name, BLOCKS[name].name}
                entries = [entry for entry in TIME_TABLES if entry.name in names]
                ensure_partitions(transaction, START - days * DAY, START + days * DAY, entries)
        yield opened


def rollup(starts: Sequence[datetime], keys: Sequence[str], rng: np.random.Generator) -> Rollup:
    """Buckets with constants, whole numbers, fractions, extremes and holes."""
    shape = (len(starts), len(keys))
    columns = {}
    n = rng.integers(0, 12, shape)
    for name in STATISTICS:
        values = np.where(rng.random(shape) < 0.3, 7.0, rng.integers(0, 2**50, shape).astype(float))
        values = np.where(rng.random(shape) < 0.1, rng.normal(size=shape) * 1e-9, values)
        columns[name] = np.where(rng.random(shape) < 0.2, np.nan, values)
    columns["sum"] = np.where(n > 0, np.nan_to_num(columns["sum"], nan=5.0), np.nan)
    return Rollup(starts_us=np.array([to_us(start) for start in starts]), keys=tuple(keys), n=n, **columns)


def said(found: Rollup) -> Rollup:
    """Without keys of which it says nothing: a block has those of its whole day. In order of names."""
    names = np.array(found.keys, object)
    empty = (found.n == 0).all(axis=0)
    for name in STATISTICS:
        empty &= np.isnan(getattr(found, name)).all(axis=0)
    places = [int(place) for place in np.argsort(names) if not empty[place]]
    columns = {name: getattr(found, name)[:, places] for name in STATISTICS}
    keys = tuple(str(names[place]) for place in places)
    return Rollup(starts_us=found.starts_us, keys=keys, n=found.n[:, places], **columns)


def assert_same(one: Rollup, other: Rollup) -> None:
    one, other = said(one), said(other)
    assert one.keys == other.keys
    for name in ("starts_us", *STATISTICS, "n"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)


Answers = list[object]


def answers(
    session: ReadSession, table: MetricsTable, hosts: Sequence[int], span: tuple[datetime, datetime]
) -> Answers:
    """What all that read rolled-up counters say of a window."""
    found: Answers = []
    for host in hosts:
        for keys in (None, [COUNTER, OBSERVED_KEY], ["host|vmstat|none"]):
            found.append(read_metrics(session, table, host, span, keys))
    if table != "metrics_1d":
        cells = read_counter_means(session, hosts, [COUNTER, GAUGE], span, table)
        found.append(sorted((cell.host_id, cell.end_s, cell.name, cell.value) for cell in cells))
    if table == "metrics_1h":
        hours = {}
        kinds = {COUNTER: "counter", GAUGE: "gauge"}
        for block in read_hours(session, hosts, *span, wanted=kinds.get):
            for host, start, values in zip(block.hosts.tolist(), block.starts_s.tolist(), block.values, strict=True):
                hours.update({(host, start, key): value for key, value in zip(block.keys, values, strict=True)})
        found.append({place: value for place, value in hours.items() if not np.isnan(value)})
    return found


def assert_alike(before: Answers, after: Answers) -> None:
    for one, other in zip(before, after, strict=True):
        if isinstance(one, Rollup):
            assert isinstance(other, Rollup)
            assert_same(one, other)
        else:
            assert one == other


@long_with_timescaledb
@pytest.mark.parametrize("table", BLOCKS)
@pytest.mark.parametrize("seed", range(3))
def test_a_block_answers_as_the_rows_that_it_was_made_of(database: Database, seed: int, table: MetricsTable) -> None:
    rng = np.random.default_rng(seed)
    width, stretch = WIDTHS[table], BLOCKS[table].width
    begin = floor_to(START, stretch)
    starts = [begin + i * width for i in range(stretch // width) if rng.random() < 0.8]
    hosts = (1, 2)
    with database.write() as transaction:
        for name in (table, BLOCKS[table].name):
            transaction.execute(text(f"DELETE FROM {name}"))
        for host in hosts:
            cut = int(rng.integers(0, len(starts) + 1))
            replace_metrics(transaction, table, {host: rollup(starts[:cut], KEYS, rng)})
            replace_metrics(transaction, table, {host: rollup(starts[cut:], (*KEYS, OTHER), rng)})
    inside = begin + int(rng.integers(1, 20)) * width
    spans = [(begin, begin + stretch), (inside, inside + 3 * width), (begin - DAY, begin + width / 2)]
    with database.write() as transaction:
        before = [answers(transaction, table, hosts, span) for span in spans]
        ROLLUPS[table].close(transaction, 1, [begin])
        ROLLUPS[table].close(transaction, 2, [begin])
        assert transaction.execute(text(f"SELECT count(*) FROM {table}")).scalar_one() == 0
        after = [answers(transaction, table, hosts, span) for span in spans]
        for one, other in zip(before, after, strict=True):
            assert_alike(one, other)
        # What is rolled up anew counts at once, and after it has been packed too.
        late = rollup(starts[-3:], KEYS, rng)
        replace_metrics(transaction, table, {1: late})
        beside = [answers(transaction, table, hosts, span) for span in spans]
        replaced = read_metrics(transaction, table, 1, spans[0], KEYS)
        assert_same(replaced.rows(np.isin(replaced.starts_us, late.starts_us)), late)
        ROLLUPS[table].close(transaction, 1, [begin])
        ROLLUPS[table].close(transaction, 2, [begin])
        for one, other in zip(beside, [answers(transaction, table, hosts, span) for span in spans], strict=True):
            assert_alike(one, other)


@long_with_timescaledb
def test_the_first_hour_is_found_in_blocks_too(database: Database) -> None:
    with database.write() as transaction:
        for name in ("metrics_1h", "metrics_1h_days"):
            transaction.execute(text(f"DELETE FROM {name}"))
        assert first_hour(transaction, START - DAY) is None
        hours = [START + timedelta(hours=hour) for hour in (5, 6)]
        replace_metrics(transaction, "metrics_1h", {1: rollup(hours, KEYS, np.random.default_rng(1))})
        assert first_hour(transaction, START - DAY) == hours[0]
        ROLLUPS["metrics_1h"].close(transaction, 1, [START])
        assert first_hour(transaction, START - DAY) == START
        assert first_hour(transaction, START + timedelta(hours=3)) == START + timedelta(hours=3)


@pytest.mark.parametrize("storage_mode", ["native"], indirect=True)
def test_a_host_with_more_counters_than_a_statement_has_columns_is_packed_and_read(database: Database) -> None:
    keys = tuple(f"host|vmstat|{place:04}" for place in range(1700))
    hours = [START + timedelta(hours=hour) for hour in range(2)]
    parts = [rollup([hour], keys, np.random.default_rng(3)) for hour in hours]
    with database.write() as transaction:
        for part in parts:
            replace_metrics(transaction, "metrics_1h", {1: part})
            ROLLUPS["metrics_1h"].close(transaction, 1, [START])
        assert_same(read_metrics(transaction, "metrics_1h", 1, (START, START + DAY), None), widen(parts))
