"""Tiles as read: codes stay, columns and rows are merged to the size asked for, epochs are not mixed."""

import json
import os
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sqlalchemy import text

from cli.commands import call
from factories import batches
from factories.installations import Enrolled, enrol, store
from fixtures.damo import damo_percentiles, needs_damo
from tierscope.core.database import Database
from tierscope.core.errors import NotFound
from tierscope.core.settings import Settings
from tierscope.storage.base.partitions import ensure_partitions
from tierscope.storage.tiles.damo_records import read_damo_records
from tierscope.storage.tiles.grids import tile_spans
from tierscope.usecases.base.context import ReadContext
from tierscope.usecases.rebuild.drain import DrainMarks
from tierscope.usecases.tiles.damo_records import TileRecordReads
from tierscope.usecases.tiles.reads import TileGrid, TileReads
from tierscope.wire._generated import heat_pb2

MINUTE = batches.MINUTE_NS
HOUR = 60 * MINUTE
pytestmark = pytest.mark.parametrize("storage_mode", ["native"], indirect=True)


def send(
    database: Database,
    host: Enrolled,
    columns: Sequence[tuple[int, Sequence[int]]],
    *,
    epoch_id: int = 7,
    seq: int = 0,
    kinds: Sequence[heat_pb2.PageKind] | None = None,
    mapping: str = "anon-1",
    unit: float = 1.0,
    interval_ns: int = MINUTE,
) -> None:
    """Stores an epoch of 1 MiB rows and its columns (end, cells)."""
    rows = len(columns[0][1])
    batch = batches.make_batch(host_id=host.id, sealed_wall_ns=columns[-1][0], seq=seq)
    batch.tile_epochs.add(
        epoch_id=epoch_id,
        service_ref=batches.intern(batch, "demo/cache"),
        group_ref=batches.intern(batch, "server"),
        backend=heat_pb2.HEAT_BACKEND_TRACE,
        granularity=heat_pb2.GRANULARITY_PAGE,
        interval_ns=interval_ns,
        region_bytes=1 << 20,
        cell_log2_base=2.0,
        cell_unit=unit,
        cell_measure="accesses_per_byte",
        kind=kinds or [heat_pb2.PAGE_KIND_ANON] * rows,
        mapping_ref=[batches.intern(batch, mapping)] * rows,
        offset_bytes=[i << 20 for i in range(rows)],
        size_bytes=[1 << 20] * rows,
        start_wall_ns=columns[0][0] - interval_ns,
    )
    for end, cells in columns:
        batch.tile_columns.add(epoch_id=epoch_id, end_wall_ns=end, cells=bytes(cells))
    batches.add_inventory(batch)
    assert store(database, host, [batch])


def read(database: Database, now: int, **options: object) -> TileGrid:
    reads, asked = asking(database, now, **options)
    return reads.grid(**asked).unpack()


def asking(database: Database, now: int, **options: object) -> tuple[TileReads, dict[str, Any]]:
    """The use cases at that instant, and what is asked of the only service."""
    at = datetime.fromtimestamp(now / 1e9, tz=UTC)
    context = ReadContext(database, lambda: at, Settings(_env_file=None))
    with database.read() as session:
        service_id = session.connection.exec_driver_sql("SELECT public_id FROM services").scalar_one()
    defaults: dict[str, object] = {"from_": "-3h", "max_rows": 256, "max_columns": 360}
    absent = dict.fromkeys(("host", "group", "kind", "to"))
    return TileReads(context), {"service_id": service_id, **absent, **defaults, **options}


def test_codes_stay_and_missing_minutes_are_not_collected(database: Database) -> None:
    now = batches.now_ns()
    host = enrol(database)
    send(database, host, [(now - 3 * MINUTE, [0, 250, 254]), (now - MINUTE, [1, 253, 254]), (now, [2, 255, 3])])
    view = read(database, now)
    assert view.cells == ((0, 255, 1, 2), (250, 255, 253, 255), (254, 255, 254, 3))
    assert view.column_ends[-1] == now / 1e9
    assert view.column_seconds == 60
    assert view.known_share == pytest.approx((1.0, 0.0, 0.5, 2 / 3))
    assert (view.level, view.rows_per_cell, view.epoch_ids) == (0, 1, (f"{7:016x}",))
    assert view.hosts == (host.id,)
    assert view.groups == ("server",)
    reads, asked = asking(database, now)
    packed = reads.grid(**asked)
    header, cells = packed.header, packed.cells
    assert cells == bytes([0, 255, 1, 2, 250, 255, 253, 255, 254, 255, 254, 3])
    assert header.cells == ()


def test_rows_are_merged_by_bytes(database: Database) -> None:
    now = batches.now_ns()
    send(database, enrol(database), [(now, [1, 1, 254, 254, 255])])
    view = read(database, now, max_rows=3)
    assert view.rows_per_cell == 2
    assert view.cells == ((1,), (254,), (255,))
    assert [row.size_bytes for row in view.rows] == [2 << 20, 2 << 20, 1 << 20]


def test_columns_are_merged_to_the_level_that_fits(database: Database) -> None:
    now = batches.now_ns() // HOUR * HOUR
    send(database, enrol(database), [(now - (59 - i) * MINUTE, [1, 0]) for i in range(60)])
    view = read(database, now, max_columns=6)
    assert (view.level, view.column_seconds) == (1, 600)
    assert view.cells == ((1,) * 6, (0,) * 6)
    assert view.known_share == (1.0,) * 6
    assert view.column_ends[-1] == now / 1e9
    single = read(database, now, max_columns=1)
    assert (single.level, len(single.column_ends)) == (2, 1)


def test_never_more_columns_than_asked_for(database: Database) -> None:
    now = batches.now_ns()
    send(database, enrol(database), [(now - (99 - i) * MINUTE, [1]) for i in range(100)])
    for most in (1, 2, 3, 7, 10, 99, 100):
        assert 1 <= len(read(database, now, max_columns=most).column_ends) <= most


def test_earlier_lists_of_rows_are_shown_where_rows_agree(database: Database) -> None:
    now = batches.now_ns()
    host = enrol(database)
    send(database, host, [(now - 2 * MINUTE, [1, 2])], epoch_id=5, mapping="heap")
    send(database, host, [(now, [3, 4, 5])], epoch_id=(1 << 63) + 6, seq=1, mapping="heap")
    view = read(database, now)
    assert view.cells == ((1, 255, 3), (2, 255, 4), (255, 255, 5))
    assert view.epoch_ids == (f"{(1 << 63) + 6:016x}", f"{5:016x}")
    assert any("earlier lists" in note for note in view.notes)
    assert read(database, now, to="-1m").cells == ((1,), (2,))


def test_unnamed_mappings_that_changed_have_no_past(database: Database) -> None:
    now = batches.now_ns()
    host = enrol(database)
    send(database, host, [(now - MINUTE, [1, 2])], epoch_id=5)
    send(database, host, [(now, [3, 4, 5])], epoch_id=6, seq=1)
    assert read(database, now).cells == ((255, 3), (255, 4), (255, 5))


def test_cells_of_another_scale_are_not_joined(database: Database) -> None:
    now = batches.now_ns()
    host = enrol(database)
    send(database, host, [(now - MINUTE, [1, 2])], epoch_id=5, mapping="heap", unit=2.0)
    send(database, host, [(now, [3, 4])], epoch_id=6, seq=1, mapping="heap")
    view = read(database, now)
    assert view.cells == ((3,), (4,))
    assert any("not shown" in note for note in view.notes)


def test_columns_that_are_no_longer_live_come_from_stored_tiles(database: Database) -> None:
    now = batches.now_ns() // HOUR * HOUR
    send(database, enrol(database), [(now - (119 - i) * MINUTE, [i % 251, 253, 254]) for i in range(120)])
    live = read(database, now)
    later = datetime.fromtimestamp((now + HOUR) / 1e9, tz=UTC)
    assert DrainMarks(database, lambda: later).run().total
    with database.write() as transaction:
        transaction.connection.exec_driver_sql("DELETE FROM tile_columns")
    stored = read(database, now)
    assert stored.cells == live.cells
    assert stored.column_ends == live.column_ends


def rebuild(database: Database, now: int) -> None:
    """Stores the tiles of all hours that have closed."""
    later = datetime.fromtimestamp((now + 2 * HOUR) / 1e9, tz=UTC)
    assert DrainMarks(database, lambda: later).run().buckets["tiles"]


def forget(database: Database, now: int, *, hours: tuple[int, int]) -> None:
    """Removes what was measured minute by minute in these hours before now, live and stored."""
    span = {"start": now // 10**9 - hours[0] * 3600, "end": now // 10**9 - hours[1] * 3600}
    with database.write() as transaction:
        where = "ts > to_timestamp(%(start)s) AND ts <= to_timestamp(%(end)s)"
        transaction.connection.exec_driver_sql(f"DELETE FROM tile_columns WHERE {where}", span)
        where = "ts >= to_timestamp(%(start)s) AND ts < to_timestamp(%(end)s)"
        transaction.connection.exec_driver_sql(f"DELETE FROM tiles WHERE level = 0 AND {where}", span)


def minutes(now: int, hours: int) -> list[tuple[int, list[int]]]:
    """Columns of whole hours up to now, all kinds of cells, with a hole."""
    count = 60 * hours
    return [
        (now - (count - 1 - i) * MINUTE, [i % 251, 253 + i % 3, (7 * i) % 256])
        for i in range(count)
        if not 200 < i < 275
    ]


@pytest.mark.parametrize(("columns", "level"), [(12, 2), (120, 1)])
def test_wide_windows_are_the_same_from_merged_tiles_as_minute_by_minute(
    database: Database, columns: int, level: int
) -> None:
    now = batches.now_ns() // HOUR * HOUR
    send(database, enrol(database), minutes(now, 12))
    fine = read(database, now, from_="-20h", max_columns=columns)
    assert fine.level == level
    rebuild(database, now)
    forget(database, now, hours=(11, 1))
    merged = read(database, now, from_="-20h", max_columns=columns)
    assert merged == fine


@pytest.mark.parametrize("seconds", [10, 5, 120])
def test_columns_are_as_long_as_the_intervals_that_were_measured(database: Database, seconds: int) -> None:
    now = batches.now_ns() // HOUR * HOUR
    interval = seconds * batches.SECOND_NS
    count = HOUR // interval
    ends = [now - (count - 1 - i) * interval for i in range(count)]
    send(database, enrol(database), [(end, [i % 251, 3]) for i, end in enumerate(ends)], interval_ns=interval)
    fine = read(database, now, from_="-1h", max_columns=720)
    assert (fine.level, fine.column_seconds) == (0, seconds)
    assert fine.cells[0] == tuple(i % 251 for i in range(count))
    assert fine.column_ends[0] == ends[0] / 1e9
    coarse = read(database, now, from_="-1h", max_columns=count // 10)
    assert (coarse.level, coarse.column_seconds) == (1, 10 * seconds)
    rebuild(database, now)
    with database.write() as transaction:
        transaction.connection.exec_driver_sql("DELETE FROM tile_columns")
    stored = read(database, now, from_="-1h", max_columns=720)
    assert (stored.cells, stored.column_ends) == (fine.cells, fine.column_ends)
    merged = read(database, now, from_="-1h", max_columns=count // 10)
    assert (merged.cells, merged.column_ends) == (coarse.cells, coarse.column_ends)


def test_intervals_that_do_not_fill_an_hour_keep_their_columns(database: Database) -> None:
    now = batches.now_ns() // HOUR * HOUR
    interval = 7 * batches.SECOND_NS
    last = now // interval * interval
    ends = [last - (599 - i) * interval for i in range(600)]
    send(database, enrol(database), [(end, [i % 251]) for i, end in enumerate(ends)], interval_ns=interval)
    fine = read(database, now, from_="-2h", max_columns=1200)
    assert fine.column_seconds == 7
    assert [cell for cell in fine.cells[0] if cell != 255] == [i % 251 for i in range(600)]


def test_wide_windows_show_late_columns_before_their_hour_is_rebuilt(database: Database) -> None:
    now = batches.now_ns() // HOUR * HOUR
    host = enrol(database)
    send(database, host, minutes(now, 8))
    rebuild(database, now)
    before = read(database, now, from_="-20h", max_columns=8)
    late = now - 479 * MINUTE + 240 * MINUTE
    send(database, host, [(late, [250, 250, 250])], seq=1)
    waiting = read(database, now, from_="-20h", max_columns=8)
    rebuild(database, now)
    assert waiting == read(database, now, from_="-20h", max_columns=8)
    assert waiting.level == before.level == 2
    changed = [i for i in range(8) if waiting.known_share[i] != before.known_share[i]]
    assert len(changed) == 1


def test_wide_windows_join_epochs_within_an_hour(database: Database) -> None:
    now = batches.now_ns() // HOUR * HOUR
    host = enrol(database)
    both = minutes(now, 8)
    send(database, host, both[:100], epoch_id=5, mapping="heap")
    send(database, host, [(end, cells[:2]) for end, cells in both[100:]], epoch_id=6, seq=1, mapping="heap")
    fine = read(database, now, from_="-20h", max_columns=8)
    assert len(fine.epoch_ids) == 2
    rebuild(database, now)
    assert read(database, now, from_="-20h", max_columns=8) == fine


def test_one_kind_alone(database: Database) -> None:
    now = batches.now_ns()
    kinds = [heat_pb2.PAGE_KIND_ANON, heat_pb2.PAGE_KIND_FILE]
    send(database, enrol(database), [(now, [9, 8])], kinds=kinds)
    assert read(database, now, kind="file").cells == ((8,),)
    assert read(database, now, kind="tmpfs").cells == ()


def test_nothing_collected_is_an_empty_grid_that_says_so(database: Database) -> None:
    now = batches.now_ns()
    send(database, enrol(database), [(now, [9])])
    view = read(database, now, from_="-3h", to="-2h")
    assert (view.cells, view.rows, view.backend) == ((), (), "none")
    assert view.notes
    with pytest.raises(NotFound):
        read(database, now, host="nobody")


def test_the_default_host_stays_whichever_reported_last(database: Database) -> None:
    now = batches.now_ns()
    second, first = enrol(database, name="node-2"), enrol(database, name="node-1")
    brief = enrol(database, name="node-0")
    for host, ends in ((first, (170, 2)), (second, (175, 1)), (brief, (1, 0))):
        send(database, host, [(now - minutes_ago * MINUTE, [1]) for minutes_ago in ends])
    view = read(database, now)
    assert (view.host_id, view.hosts) == (first.id, (first.id, second.id, brief.id))
    send(database, second, [(now, [1])], seq=1)
    assert read(database, now).host_id == first.id
    assert read(database, now + 5 * MINUTE).host_id == first.id
    assert read(database, now, host=second.id).host_id == second.id


@pytest.mark.parametrize("seed", range(6))
def test_hosts_have_the_spans_of_their_columns_and_hours(database: Database, seed: int) -> None:
    """First and last of each host, wherever they are in the window and whether their columns are live or stored."""
    random = np.random.default_rng(seed)
    end = datetime(2026, 3, 4, 5, 17, tzinfo=UTC)
    start = end - timedelta(minutes=int(random.choice([7, 60, 200, 3000])))
    hosts = [enrol(database, name=f"node-{number}") for number in range(5)]
    send(database, hosts[0], [(batches.now_ns(), [1])])
    columns: list[tuple[int, datetime]] = []
    hours: list[tuple[int, datetime]] = []
    with database.write() as transaction:
        ensure_partitions(transaction, start - timedelta(days=2), end + timedelta(days=2))
        numbers = transaction.execute(text("SELECT id FROM hosts ORDER BY id")).scalars().all()
        service = transaction.execute(text("SELECT id FROM services")).scalar_one()
        transaction.execute(text("DELETE FROM host_services"))
        on_hosts = text("INSERT INTO host_services (host_id, service_id) VALUES (:host, :service)")
        transaction.execute(on_hosts, [{"host": host, "service": service} for host in numbers])
        length = (end - start) // timedelta(minutes=1)
        for host in numbers[:-1]:
            drawn = random.integers(-90, length + 90, random.integers(0, 4)).tolist()
            columns += [(host, start + timedelta(minutes=minute)) for minute in drawn]
            drawn = random.integers(-3, length // 60 + 2, random.integers(0, 3)).tolist()
            hours += [(host, start.replace(minute=0) + timedelta(hours=hour)) for hour in drawn]
        for host, at in columns:
            statement = "INSERT INTO tile_columns VALUES (:host, :service, :at, 7, '')"
            transaction.execute(text(statement), {"host": host, "service": service, "at": at})
        for (host, at), level in product(hours, (0, 1)):
            statement = (
                "INSERT INTO tiles (host_id, service_id, ts, epoch_id, level, cells, known)"
                " VALUES (:host, :service, :at, 7, :level, '', '')"
            )
            earlier = at - level * timedelta(hours=1)
            values = {"host": host, "service": service, "at": earlier, "level": level}
            transaction.execute(text(statement), values)
    hour = timedelta(hours=1)
    expected: dict[int, list[tuple[datetime, datetime]]] = {}
    for host, at in columns:
        if start < at <= end:
            expected.setdefault(host, []).append((at, at))
    for host, at in hours:
        if start <= at and at + hour <= end:
            expected.setdefault(host, []).append((at, at + hour))
    with database.read() as session:
        found = tile_spans(session, service, start, end)
    assert found == {
        host: (min(first for first, _ in some), max(last for _, last in some)) for host, some in expected.items()
    }


@needs_damo
def test_exported_tiles_have_the_working_set_that_damo_reports(
    database: Database, database_url: str, tmp_path: Path
) -> None:
    """Rows of 1 MiB: damo counts those with any activity, in each of thirty intervals."""
    now = batches.now_ns()
    random = np.random.default_rng(3)
    cells = random.choice([0, 0, 1, 40, 250, 253, 254, 255], (30, 12))
    columns = [(now - (29 - at) * MINUTE, [int(cell) for cell in row]) for at, row in enumerate(cells)]
    host = enrol(database)
    send(database, host, columns)
    target = tmp_path / "tiles.data"
    env = {**os.environ, "TIERSCOPE_DATABASE_URL": database_url}
    words = ("export-damo", "demo/cache", target, "--host", host.id, "--from", "-1h", "--json")
    done = call(*words, env=env)
    assert done.status == 0, done.stderr
    assert json.loads(done.stdout)["targets"] == [[0, "server"]]
    assert "greatest activity" in done.stderr
    accessed = sorted((1 << 20) * int(((row >= 1) & (row <= 250)).sum()) for row in cells)
    expected = {percent: accessed[min(percent * 30 // 100, 29)] for percent in range(0, 101, 5)}
    assert damo_percentiles(target, "--exclude_samples", "0", "--sortby", "size") == expected
    (record,) = read_damo_records(target)
    assert record.counts[0] == 30
    assert record.intervals_ns == (MINUTE // 100, MINUTE)
    missing = call("export-damo", "demo/none", target, env=env)
    assert (missing.status, "neither a file nor a service" in missing.stderr) == (2, True)
    _, asked = asking(database, now)
    at = ReadContext(database, lambda: datetime.fromtimestamp(now / 1e9, tz=UTC), Settings(_env_file=None))
    with pytest.raises(NotFound, match="no tiles of group"):
        TileRecordReads(at).read(asked["service_id"], host=None, group="none", from_="-1h", to=None)
    packed = TileRecordReads(at).read(asked["service_id"], host=None, group="server", from_="-1h", to=None).pack()
    assert packed == target.read_bytes()
