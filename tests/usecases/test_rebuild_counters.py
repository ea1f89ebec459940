"""The ledger, the rollups and the packed hours: nothing that raw counters say is lost or counted twice."""

from datetime import datetime, timedelta

import numpy as np
import pytest
from sqlalchemy import text

from factories.derived import PROMOTED, day_before, drain, dump, internal_id, leave, sample, send_counters
from factories.installations import Enrolled, enrol
from fixtures.elsewhere import long_with_timescaledb
from tierscope.core.clock import clock_set, utc_now
from tierscope.core.database import Database
from tierscope.domain.base.buckets import DAY_US, HOUR_US
from tierscope.domain.counters.monotonic import Cause
from tierscope.domain.counters.rollups import OBSERVED_KEY, Rollup, merge_rollups
from tierscope.domain.ledger import Ledger
from tierscope.storage.counters.rollups import MetricsTable, read_metrics
from tierscope.storage.counters.rows import read_block, read_packed
from tierscope.storage.ledger.days import LEDGER
from tierscope.storage.ledger.rows import read_ledger

pytestmark = long_with_timescaledb

HOURS = 3
MINUTES = range(1, 60 * HOURS + 1)
DAY = timedelta(days=1)


def ledger(database: Database, host: Enrolled, start: datetime) -> Ledger:
    with database.read() as session:
        (found,) = read_ledger(session, [internal_id(database, host)], 0, start, start + DAY)
    return found.ledger


def metrics(database: Database, host: Enrolled, table: MetricsTable, start: datetime) -> Rollup:
    """The stored buckets of the day."""
    with database.read() as session:
        return read_metrics(session, table, internal_id(database, host), (start, start + DAY), None)


def metric_sum(found: Rollup, key: str) -> float:
    return float(np.nansum(found.sum[:, found.keys.index(key)]))


def test_totals_are_last_minus_first_of_the_raw_counters(database: Database) -> None:
    host, start = enrol(database), day_before()
    send_counters(database, host, start, MINUTES)
    drain(database)
    stored = ledger(database, host, start)
    assert stored.total("promoted_pages") == MINUTES[-1] ** 2 - 1
    assert stored.total("demoted_kswapd_pages") == 50 * (len(MINUTES) - 1)
    assert stored.total("demoted_pages") == 57 * (len(MINUTES) - 1)
    assert stored.total("swap_in_pages") is None
    assert len(stored.times_s) == len(MINUTES) - 1
    assert set(stored.dt_seconds.tolist()) == {60.0}
    assert set(stored.cause.tolist()) == {Cause.NONE}


def test_rows_name_the_counters_behind_them_by_the_id_of_one_shared_text(database: Database) -> None:
    start = day_before()
    for name in ("node-1", "node-2"):
        send_counters(database, enrol(database, name=name), start, MINUTES)
    drain(database)
    with database.read() as session:
        (described,) = session.execute(text("SELECT body FROM ledger_trusts")).scalars()
        referred = session.execute(text("SELECT count(*) FROM tier_moves WHERE trust_id IS NULL OR trust IS NOT NULL"))
        assert referred.scalar_one() == 0
        assert session.execute(text("SELECT count(DISTINCT trust_id) FROM tier_moves")).scalar_one() == 1
    assert described["columns"]["promoted_pages"]["c"] == ["pgpromote_success"]


def test_rebuilding_again_changes_nothing(database: Database) -> None:
    host, start = enrol(database), day_before()
    send_counters(database, host, start, MINUTES)
    assert drain(database).total > 0
    before = dump(database)
    assert before["tier_moves"]
    assert drain(database).total == 0
    with database.write() as transaction:
        transaction.execute(
            text(
                "INSERT INTO marks (kind, subject_id, service_id, bucket)"
                " SELECT 'counters', :host, 0, b FROM generate_series(CAST(:start AS timestamptz),"
                " CAST(:start AS timestamptz) + interval '3 hours', interval '10 minutes') AS b"
            ),
            {"host": internal_id(database, host), "start": start},
        )
    assert drain(database).buckets["counters"] == 6 * HOURS + 1
    assert dump(database) == before


def test_samples_that_come_for_a_packed_day_leave_the_ledger_as_if_they_had_come_in_time(database: Database) -> None:
    start, weeks_later = day_before(), utc_now() + timedelta(days=14)
    late, punctual = enrol(database, name="late"), enrol(database, name="punctual")
    send_counters(database, punctual, start, MINUTES)
    send_counters(database, late, start, [minute for minute in MINUTES if not 65 <= minute <= 75])
    drain(database)
    in_time = ledger(database, punctual, start)
    send_counters(database, late, start, range(65, 76), seq=1)
    with clock_set(lambda: weeks_later):
        with database.write() as transaction:
            for host in (late, punctual):
                LEDGER.close(transaction, internal_id(database, host), [start])
            assert transaction.execute(text("SELECT count(*) FROM tier_moves")).scalar_one() == 0
        assert_same(ledger(database, punctual, start), in_time)
        drain(database)
        assert_same(ledger(database, late, start), in_time)
        with database.read() as session:
            held = [
                session.execute(text(f"SELECT count(*) FROM {table}")) for table in ("tier_moves", "tier_move_days")
            ]
            assert [found.scalar_one() for found in held] == [0, 2]


def assert_same(found: Ledger, wanted: Ledger) -> None:
    for name in ("times_s", "dt_seconds", "values", "present", "cause"):
        np.testing.assert_array_equal(getattr(found, name), getattr(wanted, name), err_msg=name)


@pytest.mark.parametrize(
    ("first", "last"), [(65, 75), (61, 69), (60, 60), (69, 70)], ids=["across", "inside", "edge", "to the edge"]
)
def test_late_samples_leave_the_ledger_as_if_they_had_come_in_time(database: Database, first: int, last: int) -> None:
    start = day_before()
    late, punctual = enrol(database, name="late"), enrol(database, name="punctual")
    send_counters(database, punctual, start, MINUTES)
    send_counters(database, late, start, [minute for minute in MINUTES if not first <= minute <= last])
    drain(database)
    assert ledger(database, late, start).total("promoted_pages") == MINUTES[-1] ** 2 - 1
    send_counters(database, late, start, range(first, last + 1), seq=1)
    drain(database)
    found, wanted = ledger(database, late, start), ledger(database, punctual, start)
    for name in ("times_s", "dt_seconds", "values", "present", "cause"):
        np.testing.assert_array_equal(getattr(found, name), getattr(wanted, name), err_msg=name)
    for table in ("metrics_10m", "metrics_1h", "metrics_1d"):
        one, other = metrics(database, late, table, start), metrics(database, punctual, table, start)
        for name in ("starts_us", "first", "last", "min", "max", "sum", "n"):
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=f"{table}.{name}")


def test_a_hole_keeps_its_difference_and_is_named(database: Database) -> None:
    host, start = enrol(database), day_before()
    send_counters(database, host, start, [*range(1, 60), *range(75, 100)])
    drain(database)
    stored = ledger(database, host, start)
    assert stored.total("promoted_pages") == 99**2 - 1
    (place,) = np.flatnonzero(stored.cause)
    assert stored.cause[place] == Cause.GAP
    assert stored.dt_seconds[place] == 16 * 60


def test_a_reboot_is_left_out_with_its_cause(database: Database) -> None:
    host, start = enrol(database), day_before()
    minutes = range(1, 41)
    rows = [sample(i if i <= 20 else i - 20) for i in minutes]
    send_counters(database, host, start, minutes, rows=rows, boots=["boot-a"] * 20 + ["boot-b"] * 20)
    drain(database)
    stored = ledger(database, host, start)
    (place,) = np.flatnonzero(stored.cause)
    assert stored.cause[place] == Cause.REBOOT
    assert not stored.present[place].any()
    assert stored.total("promoted_pages") == 2 * (20**2 - 1)
    assert metric_sum(metrics(database, host, "metrics_10m", start), PROMOTED) == 2 * (20**2 - 1)


def test_a_counter_that_went_backwards_is_left_out_alone(database: Database) -> None:
    host, start = enrol(database), day_before()
    minutes = range(1, 21)
    rows = [[*sample(i)[:3], i if i > 10 else 1000 + i] for i in minutes]
    send_counters(database, host, start, minutes, rows=rows)
    drain(database)
    stored = ledger(database, host, start)
    (place,) = np.flatnonzero(stored.cause)
    assert stored.cause[place] == Cause.WENT_BACKWARDS
    assert stored.total("promoted_pages") == 18
    assert stored.total("demoted_kswapd_pages") == 50 * 19


def test_a_counter_that_was_not_read_is_absent_and_not_zero(database: Database) -> None:
    host, start = enrol(database), day_before()
    minutes = range(1, 11)
    rows = [sample(i) for i in minutes]
    rows[4][3] = None
    send_counters(database, host, start, minutes, rows=rows)
    drain(database)
    stored = ledger(database, host, start)
    assert np.isnan(stored.column("promoted_pages")).sum() == 2
    assert set(stored.cause[[3, 4]].tolist()) == {Cause.MISSING}
    assert not np.isnan(stored.column("demoted_kswapd_pages")).any()


def test_fine_metrics_sum_to_the_coarse_ones(database: Database) -> None:
    host, start = enrol(database), day_before()
    send_counters(database, host, start, MINUTES)
    drain(database)
    tables: tuple[MetricsTable, ...] = ("metrics_10m", "metrics_1h", "metrics_1d")
    fine, hours, days = (metrics(database, host, table, start) for table in tables)
    assert (len(fine), len(hours), len(days)) == (6 * HOURS, HOURS, 1)
    for parts, width_us, wanted in ((fine, HOUR_US, hours), (hours, DAY_US, days)):
        merged = merge_rollups(parts, width_us)
        for name in ("starts_us", "first", "last", "min", "max", "sum", "n"):
            np.testing.assert_array_equal(getattr(merged, name), getattr(wanted, name))
    for found in (fine, hours, days):
        assert metric_sum(found, PROMOTED) == MINUTES[-1] ** 2 - 1
        assert metric_sum(found, OBSERVED_KEY) == 60 * (len(MINUTES) - 1)


def test_packed_hours_hold_exactly_what_was_live(database: Database) -> None:
    host, start = enrol(database), day_before()
    rows = [sample(i) for i in MINUTES]
    rows[70][1] = None
    rows[71][3] = (1 << 63) - 1
    send_counters(database, host, start, MINUTES, rows=rows)
    drain(database)
    host_id = internal_id(database, host)
    with database.read() as session:
        live = read_block(session, host_id, start, start + DAY)
        assert [len(block) for block in read_packed(session, host_id, start, start + DAY)] == [60] * HOURS
    assert leave(database)["counters_live"] > 0
    with database.read() as session:
        assert session.execute(text("SELECT count(*) FROM counters_live")).scalar_one() == 0
        packed = read_block(session, host_id, start, start + DAY)
    assert packed.keys == live.keys
    for name in ("times_us", "boots", "boottimes_ns", "flags", "values", "present"):
        np.testing.assert_array_equal(getattr(packed, name), getattr(live, name), err_msg=name)


def test_hosts_are_kept_apart(database: Database) -> None:
    start = day_before()
    hosts = [enrol(database, name=f"node-{i}") for i in range(3)]
    for i, host in enumerate(hosts):
        send_counters(database, host, start, range(1, 11 + i))
    drain(database)
    totals = [ledger(database, host, start).total("promoted_pages") for host in hosts]
    assert totals == [99, 120, 143]
