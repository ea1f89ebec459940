"""Stability as read: shares from control groups and from heat, warm-up, overlaps of hot sets as stored and packed."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from factories import batches
from factories.derived import drain
from factories.heat_packs import read_packs
from factories.installations import enrol, store
from tierscope.core.clock import utc_now
from tierscope.core.database import Database
from tierscope.core.errors import NotFound
from tierscope.core.settings import Settings
from tierscope.usecases.base.context import ReadContext
from tierscope.usecases.sensitivity.stability import Stability, StabilityReads
from tierscope.wire._generated import heat_pb2

pytestmark = pytest.mark.parametrize("storage_mode", ["native"], indirect=True)
MINUTE = batches.MINUTE_NS
MIB = 1 << 20
ALL = (1 << 64) - 1
KEYS = tuple(f"service:demo/cache|memory.stat|{name}" for name in ("anon", "file", "shmem"))


def send(database: Database, rows: Sequence[Sequence[int]], *, end_ns: int, name: str = "node-1") -> None:
    """Stores one sample a minute of (anon, file with shmem, shmem) in MiB, the last at `end_ns`."""
    host = enrol(database, name=name)
    batch = batches.make_batch(host_id=host.id, sealed_wall_ns=end_ns)
    ends = [end_ns - (len(rows) - 1 - i) * MINUTE for i in range(len(rows))]
    batches.add_counters(batch, [[cell * MIB for cell in row] for row in rows], ends_ns=ends, keys=KEYS)
    batches.add_inventory(batch)
    assert store(database, host, [batch])


def send_overlaps(
    database: Database, overlaps: Sequence[Sequence[tuple[int, int]]], *, end_ns: int, name: str = "node-1"
) -> None:
    """Stores one interval a minute, each with (intersection, union) in MiB at the three lags, in two page groups."""
    host = enrol(database, name=name)
    batch = batches.make_batch(host_id=host.id, sealed_wall_ns=end_ns)
    zeros = np.zeros(18, "<i8").tobytes()
    for place, lags in enumerate(overlaps):
        both, either = zip(*lags, strict=True)
        batch.heat.add(
            backend=heat_pb2.HEAT_BACKEND_ABIT_WALK,
            granularity=heat_pb2.GRANULARITY_PAGE,
            interval_ns=MINUTE,
            end_wall_ns=[end_ns - (len(overlaps) - 1 - place) * MINUTE] * 2,
            service_ref=[batches.intern(batch, "demo/cache")] * 2,
            group_ref=[batches.intern(batch, "server")] * 2,
            kind=[heat_pb2.PAGE_KIND_ANON, heat_pb2.PAGE_KIND_FILE],
            page_size_bytes=[4096] * 2,
            tier_ref=[0, 0],
            validity=[ALL] * 2,
            resident_bytes=[300 * MIB, 100 * MIB],
            age_bytes=zeros,
            never_bytes=zeros,
            active_count_bytes=np.zeros(22, "<i8").tobytes(),
            active_lo_bytes=np.zeros(8, "<i8").tobytes(),
            active_hi_bytes=np.zeros(8, "<i8").tobytes(),
            hot_intersection_bytes=(np.array([*both, 0, 0, 0], "<i8") * MIB).tobytes(),
            hot_union_bytes=(np.array([*either, 0, 0, 0], "<i8") * MIB).tobytes(),
        )
    batches.add_inventory(batch)
    assert store(database, host, [batch])


def read(database: Database, end_ns: int, *, from_: str = "-6h", max_points: int = 500) -> Stability:
    now = datetime.fromtimestamp(end_ns / 1e9, tz=UTC)
    with database.read() as session:
        service = session.connection.exec_driver_sql("SELECT public_id FROM services").scalar_one()
    reads = StabilityReads(ReadContext(database, lambda: now, Settings(_env_file=None)))
    return reads.service(service, from_=from_, to=None, max_points=max_points)


def test_shares_trend_and_spread_of_a_growing_kind(database: Database) -> None:
    now = batches.now_ns()
    send(database, [[500 + minute, 500 - minute, 100] for minute in range(301)], end_ns=now)
    view = read(database, now)
    lines = {series.key: [value for value in series.values if value is not None] for series in view.series}
    assert lines["anon_ratio"][0] == pytest.approx(0.5)
    assert lines["file_ratio"][0] == pytest.approx(0.4)
    assert lines["tmpfs_ratio"][-1] == pytest.approx(0.1)
    anon, file, tmpfs = view.kinds
    assert (anon.kind, file.kind, tmpfs.kind) == ("anon", "file", "tmpfs")
    assert anon.slope_per_hour.value == pytest.approx(0.06)
    assert file.slope_per_hour.value == pytest.approx(-0.06)
    assert anon.iqr.value == pytest.approx(0.15, abs=0.002)
    assert (anon.stable, file.stable, tmpfs.stable) == (False, False, True)
    assert any("not 24" in warning for warning in anon.iqr.warnings)
    assert "memory.stat" in (view.residency or "")
    assert view.missing is None


def test_warm_up_ends_where_the_mix_settles(database: Database) -> None:
    now = batches.now_ns()
    rows = [[300 if minute < 60 else 600, 700 if minute < 60 else 400, 0] for minute in range(360)]
    send(database, rows, end_ns=now)
    found = read(database, now).warm_up_end
    assert found.at is not None
    changed = datetime.fromtimestamp((now - 300 * MINUTE) / 1e9, tz=UTC)
    assert timedelta(minutes=45) <= found.at - changed <= timedelta(minutes=60)


def test_a_mix_that_never_changed_was_warm_before(database: Database) -> None:
    now = batches.now_ns()
    send(database, [[300, 700, 0]] * 200, end_ns=now)
    found = read(database, now).warm_up_end
    assert found.at is None
    assert "first hour" in found.why


def test_overlaps_are_ratios_per_interval_and_medians_over_them(database: Database) -> None:
    now = batches.now_ns()
    overlaps = [[(80, 100), (50, 100), (30, 100)], [(60, 100), (50, 100), (10, 100)], [(90, 100), (50, 100), (20, 100)]]
    send_overlaps(database, overlaps, end_ns=now)
    found = read(database, now).hot_set
    assert [part.lag_minutes for part in found] == [10, 30, 60]
    assert [part.jaccard.value for part in found] == [pytest.approx(value) for value in (0.8, 0.5, 0.2)]
    assert [part.state for part in found] == ["stable", "moving", "volatile"]
    assert found[0].jaccard.interval is not None
    assert found[0].jaccard.interval.kind == "range"
    assert (found[0].jaccard.n_hosts, found[0].jaccard.n_intervals) == (1, 3)


def test_hosts_give_an_interval_over_hosts(database: Database) -> None:
    now = batches.now_ns()
    for host, both in enumerate((70, 80, 90)):
        send_overlaps(database, [[(both, 100), (both, 100), (0, 0)]] * 2, end_ns=now, name=f"node-{host}")
    ten, _, sixty = read(database, now).hot_set
    assert ten.jaccard.value == pytest.approx(0.8)
    assert ten.jaccard.interval is not None
    assert [ten.jaccard.interval.lo, ten.jaccard.interval.hi] == pytest.approx([0.7, 0.9])
    assert (sixty.jaccard.status, sixty.state) == ("not_collected", None)


def test_overlaps_reach_the_packs(database: Database) -> None:
    now = batches.now_ns()
    send_overlaps(database, [[(80, 100), (50, 100), (30, 100)]], end_ns=now)
    at = datetime.fromtimestamp(now / 1e9, tz=UTC)
    drain(database, at + timedelta(hours=2))
    with database.read() as session:
        (row,) = next(iter(read_packs(session, 1, at - timedelta(hours=1), at + timedelta(hours=1)).values()))
    assert row.hot_intersection_bytes is not None
    assert row.hot_union_bytes is not None
    assert row.hot_intersection_bytes.tolist() == [80 * MIB, 50 * MIB, 30 * MIB, 0, 0, 0]
    assert row.hot_union_bytes.tolist() == [100 * MIB, 100 * MIB, 100 * MIB, 0, 0, 0]


def test_heat_gives_the_shares_where_no_control_group_does(database: Database) -> None:
    now = batches.now_ns()
    send_overlaps(database, [[(0, 0), (0, 0), (0, 0)]] * 6, end_ns=now)
    view = read(database, now)
    assert view.residency == "rows of heat"
    assert {kind.kind for kind in view.kinds} == {"anon", "file"}
    anon = next(series.values for series in view.series if series.key == "anon_ratio")
    assert [value for value in anon if value is not None] == [0.75] * 6


def test_nothing_measured_is_not_zero(database: Database) -> None:
    now = batches.now_ns()
    host = enrol(database)
    batch = batches.make_batch(host_id=host.id, sealed_wall_ns=now)
    batches.add_inventory(batch)
    assert store(database, host, [batch])
    view = read(database, now)
    assert view.missing is not None
    assert (view.missing.status, view.kinds) == ("not_collected", ())
    assert all(set(series.values) == {None} for series in view.series)
    assert [part.jaccard.status for part in view.hot_set] == ["not_collected"] * 3
    with pytest.raises(NotFound):
        StabilityReads(ReadContext(database, utc_now, Settings(_env_file=None))).service(
            "nothing", from_=None, to=None, max_points=10
        )
