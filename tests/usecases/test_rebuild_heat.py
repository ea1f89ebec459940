"""Heat and tiles: packs are exact, sums per hour and day are the sums of their intervals, levels are merges."""

import dataclasses
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

import numpy as np
import pytest
from sqlalchemy import text

from factories import batches
from factories.derived import day_before, drain, dump, internal_id, marks, to_ns
from factories.heat_packs import read_packs
from factories.installations import Enrolled, enrol, store
from fixtures.elsewhere import long_with_timescaledb
from tierscope.core.database import Database, WriteTransaction
from tierscope.domain.base.figures import Window
from tierscope.domain.base.jobs import HEAT
from tierscope.domain.heat.classes import Folded
from tierscope.domain.heat.rows import HeatRow, HeatSeries, fold_rows
from tierscope.domain.heat.source import SeriesSource
from tierscope.domain.tiles.levels import LEVEL_INTERVALS, NOT_COLLECTED, Scale, merge
from tierscope.storage.base.dirty_buckets import append
from tierscope.storage.heat.rows import RollupTable, read_rollups, read_rows
from tierscope.storage.tiles.rows import StoredTile, read_tiles
from tierscope.usecases.heat.sources import read_heat
from tierscope.usecases.rebuild import drain as drains
from tierscope.usecases.rebuild.heat import rebuild_heat_of_hosts

pytestmark = long_with_timescaledb
DAY = timedelta(days=1)
EPOCH_ID = 7
ROWS = 3


def send_heat(database: Database, host: Enrolled, start: datetime, minutes: Sequence[int], *, seq: int = 0) -> None:
    """Store one interval of one service for each of these minutes after `start`."""
    ends = [to_ns(start + timedelta(minutes=minute)) for minute in minutes]
    batch = batches.make_batch(host_id=host.id, seq=seq, sealed_wall_ns=ends[-1])
    for end in ends:
        batches.add_heat(batch, ends_ns=[end])
    batches.add_inventory(batch)
    assert store(database, host, [batch])


def the_service(database: Database) -> int:
    with database.read() as session:
        return int(session.execute(text("SELECT id FROM services")).scalar_one())


def live_rows(database: Database, host: Enrolled, start: datetime) -> list[HeatRow]:
    """All intervals of the day as they came."""
    with database.read() as session:
        return read_rows(session, the_service(database), start, start + DAY)[internal_id(database, host)]


def rollups(database: Database, table: RollupTable, start: datetime) -> list[HeatSeries]:
    """Stored sums of the day."""
    with database.read() as session:
        return read_rollups(session, table, the_service(database), start, start + DAY)


def assert_same_sums(found: Folded, wanted: Folded) -> None:
    for field in dataclasses.fields(Folded):
        np.testing.assert_array_equal(getattr(found, field.name), getattr(wanted, field.name), err_msg=field.name)


def test_packs_hold_exactly_what_was_live(database: Database) -> None:
    host, start = enrol(database), day_before()
    send_heat(database, host, start, range(1, 26))
    drain(database)
    with database.read() as session:
        packs = read_packs(session, the_service(database), start, start + DAY)
    assert [len(rows) for _, rows in sorted(packs.items())] == [10, 10, 5]
    packed = [row for _, rows in sorted(packs.items()) for row in rows]
    for one, other in zip(packed, live_rows(database, host, start), strict=True):
        for field in dataclasses.fields(HeatRow):
            np.testing.assert_equal(getattr(one, field.name), getattr(other, field.name), err_msg=field.name)


def test_hosts_that_are_packed_together_get_what_each_gets_by_itself(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = day_before()
    hosts = [enrol(database, name=f"node-{number}") for number in range(3)]
    for host, minutes in zip(hosts, (range(1, 16), range(5, 26), range(1, 11)), strict=True):
        send_heat(database, host, start, minutes)
    together: list[Mapping[int, Sequence[datetime]]] = []

    def noted(transaction: WriteTransaction, service_id: int, claimed: Mapping[int, Sequence[datetime]]) -> None:
        together.append(claimed)
        rebuild_heat_of_hosts(transaction, service_id, claimed)

    def broken(*_: object) -> None:
        raise ValueError("data that cannot be worked")

    monkeypatch.setattr(drains, "rebuild_heat_of_hosts", noted)
    drain(database)
    few = [internal_id(database, host) for host in (hosts[0], hosts[2])]
    assert [sorted(claimed) for claimed in together] == [few]  # the other waited with three blocks
    packed = dump(database, ("heat", "heat_1h"))
    assert len(packed["heat"]) == 2 + 3 + 1
    service = the_service(database)
    with database.write() as transaction:
        transaction.execute(text("DELETE FROM heat"))
        for host_id in few:
            append(transaction, HEAT.kind, host_id, service, [start])
        append(transaction, HEAT.kind, few[0], service, [start + timedelta(minutes=10)])
        append(transaction, HEAT.kind, internal_id(database, hosts[1]), service, [start + timedelta(minutes=10)])
    monkeypatch.setattr(drains, "rebuild_heat_of_hosts", broken)
    drain(database)
    whole = [row for row in packed["heat"] if row in dump(database, ("heat",))["heat"]]
    assert len(whole) == 2 + 1 + 1
    assert marks(database) == []


def test_hours_and_days_are_the_sums_of_their_intervals(database: Database) -> None:
    host, start = enrol(database), day_before()
    minutes = [*range(1, 61), *range(100, 111)]
    send_heat(database, host, start, minutes)
    drain(database)
    host_id = internal_id(database, host)
    rows = live_rows(database, host, start)
    hours = rollups(database, "heat_1h", start)
    assert [int(part.n_intervals[0]) for part in hours] == [60, 11]
    for part, some in zip(hours, (rows[:60], rows[60:]), strict=True):
        folded = fold_rows(host_id, some)
        assert folded is not None
        assert_same_sums(
            part.folded, Folded(*(getattr(folded.folded, f.name).sum(axis=0)[None] for f in dataclasses.fields(Folded)))
        )
        assert (part.kinds, part.tiers, part.method) == (folded.kinds, folded.tiers, folded.method)
    (day,) = rollups(database, "heat_1d", start)
    assert day.n_intervals.tolist() == [len(minutes)]
    assert int(day.folded.resident[0, 0]) == len(minutes) << 20
    assert_same_sums(
        day.folded, Folded(*(sum(getattr(part.folded, f.name) for part in hours) for f in dataclasses.fields(Folded)))
    )


def test_dirty_bytes_are_summed_where_they_are_known_and_null_where_never(database: Database) -> None:
    host, start = enrol(database), day_before()
    ends = [to_ns(start + timedelta(minutes=minute)) for minute in (1, 2, 3, 61)]
    batch = batches.make_batch(host_id=host.id, sealed_wall_ns=ends[-1])
    # A clean interval, a dirty one and one of which it is not known, in one hour; an agent of before in the next.
    for end, dirty_bytes in zip(ends, (0, 1 << 19, -1, None), strict=True):
        batches.add_heat(batch, ends_ns=[end])
        if dirty_bytes is not None:
            batch.heat[-1].dirty_bytes.append(dirty_bytes)
    batches.add_inventory(batch)
    assert store(database, host, [batch])
    live = live_rows(database, host, start)
    assert [None if row.dirty_bytes is None else row.dirty_bytes.tolist() for row in live] == [
        [0],
        [1 << 19],
        [-1],
        None,
    ]
    drain(database)
    with database.read() as session:
        packs = read_packs(session, the_service(database), start, start + DAY)
        nulls = session.execute(text("SELECT dirty_bytes, dirty_of_bytes FROM heat_1h ORDER BY ts")).all()
    packed = [row for _, rows in sorted(packs.items()) for row in rows]
    for one, other in zip(packed, live, strict=True):
        np.testing.assert_equal(one.dirty_bytes, other.dirty_bytes)
    assert [tuple(row) for row in nulls] == [([1 << 19], [2 << 20]), (None, None)]
    (day,) = rollups(database, "heat_1d", start)
    assert day.beside["dirty_bytes"].tolist() == [[1 << 19]]
    assert day.beside["dirty_of_bytes"].tolist() == [[2 << 20]]
    assert SeriesSource((rollups(database, "heat_1h", start)[1],)).part("dirty_bytes") is None


def test_late_intervals_end_where_they_would_have_been_in_time(database: Database) -> None:
    host, start = enrol(database), day_before()
    send_heat(database, host, start, [*range(1, 55), *range(66, 121)])
    drain(database)
    send_heat(database, host, start, range(55, 66), seq=1)
    drain(database)
    (day,) = rollups(database, "heat_1d", start)
    assert day.n_intervals.tolist() == [120]
    assert [int(part.n_intervals[0]) for part in rollups(database, "heat_1h", start)] == [60, 60]
    with database.read() as session:
        packs = read_packs(session, the_service(database), start, start + DAY)
    assert {len(rows) for rows in packs.values()} == {10}


def test_a_window_is_folded_from_packs_as_from_its_rows(database: Database) -> None:
    host, start = enrol(database), day_before()
    send_heat(database, host, start, range(1, 26))
    drain(database)
    send_heat(database, host, start, [27, 31, 33, 44], seq=1)  # of a block that is packed, and of two that are not
    host_id, service = internal_id(database, host), the_service(database)
    for first, last in ((0, 45), (4, 33), (3, 8), (10, 20), (12, 28), (20, 20)):
        window = Window(start + timedelta(minutes=first), start + timedelta(minutes=last))
        with database.read() as session:
            rows = read_rows(session, service, window.start, window.end).get(host_id, [])
            found = read_heat(session, service, [host_id], window, now=window.end)
        wanted = fold_rows(host_id, rows)
        (got,) = found[rows[0].method].values() if rows else (None,)
        np.testing.assert_equal(got and dataclasses.asdict(got), wanted and dataclasses.asdict(wanted))
    with database.write() as transaction:
        transaction.execute(text("DELETE FROM heat_live"))
        found = read_heat(transaction, service, [host_id], Window(start, start + DAY), now=start)
    ((packed,),) = (hosts.values() for hosts in found.values())
    assert len(packed.ends_us) == 20


def test_an_open_hour_waits_and_its_intervals_stay_live(database: Database) -> None:
    host, start = enrol(database), day_before()
    send_heat(database, host, start, range(1, 16))
    done = drain(database, start + timedelta(minutes=15))
    assert done.buckets == {"heat": 1}
    assert rollups(database, "heat_1h", start) == []
    assert drain(database, start + timedelta(minutes=70)).buckets == {"heat": 1, "heat_1h": 1, "service_heat_1h": 1}
    assert [int(part.n_intervals[0]) for part in rollups(database, "heat_1h", start)] == [15]


def send_tiles(
    database: Database, host: Enrolled, start: datetime, columns: dict[int, bytes], *, seq: int = 0, first: bool = True
) -> None:
    """Store columns by minute, with their epoch the first time."""
    ends = {minute: to_ns(start + timedelta(minutes=minute)) for minute in columns}
    batch = batches.make_batch(host_id=host.id, seq=seq, sealed_wall_ns=max(ends.values()))
    if first:
        batches.add_tiles(batch, epoch_id=EPOCH_ID, rows=ROWS)
        batch.tile_epochs[0].start_wall_ns = to_ns(start)
        del batch.tile_columns[:]
    for minute, cells in columns.items():
        batch.tile_columns.add(epoch_id=EPOCH_ID, end_wall_ns=ends[minute], cells=cells)
    batches.add_inventory(batch)
    assert store(database, host, [batch])


def stored_tiles(database: Database, host: Enrolled, level: int, start: datetime) -> list[StoredTile]:
    with database.read() as session:
        host_id = internal_id(database, host)
        return read_tiles(session, host_id, the_service(database), EPOCH_ID, level, start, start + DAY)


def test_tiles_are_columns_at_level_0_and_their_merges_above(database: Database) -> None:
    host, start = enrol(database), day_before()
    columns = {minute: bytes([minute % 251, 253, (minute * 7) % 251]) for minute in range(1, 61) if minute != 30}
    send_tiles(database, host, start, columns)
    drain(database)
    grid = np.full((60, ROWS), NOT_COLLECTED, np.uint8)
    for minute, cells in columns.items():
        grid[minute - 1] = np.frombuffer(cells, np.uint8)
    with database.read() as session:
        epoch = session.execute(text("SELECT cell_log2_base, cell_unit FROM tile_epochs")).one()
    scale = Scale(epoch.cell_log2_base, epoch.cell_unit)
    for level, intervals in enumerate(LEVEL_INTERVALS):
        (tile,) = stored_tiles(database, host, level, start)
        wanted = merge(grid, intervals, scale)
        assert tile.cells == wanted.cells.tobytes()
        assert tile.known == wanted.known.tobytes()
    (finest,) = stored_tiles(database, host, 0, start)
    assert finest.cells == grid.tobytes()


def test_late_columns_replace_the_hour(database: Database) -> None:
    host, start = enrol(database), day_before()
    send_tiles(database, host, start, {1: b"\x01\x02\x03", 61: b"\x01\x01\x01"})
    drain(database)
    before = dump(database, ["tiles"])["tiles"]
    send_tiles(database, host, start, {2: b"\x04\x05\x06"}, seq=1, first=False)
    assert drain(database).buckets == {"tiles": 1}
    first, second = stored_tiles(database, host, 0, start)
    assert first.cells[: 2 * ROWS] == b"\x01\x02\x03\x04\x05\x06"
    assert second.cells[:ROWS] == b"\x01\x01\x01"
    assert len(dump(database, ["tiles"])["tiles"]) == len(before)
