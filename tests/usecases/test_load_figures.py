"""What a load costs: lag of roll-ups, and bytes by table."""

from datetime import timedelta

import pytest
from sqlalchemy import text

from factories.derived import day_before, drain, dump, send_counters
from factories.installations import enrol
from fixtures.elsewhere import long_with_timescaledb
from tierscope.core.clock import utc_now
from tierscope.core.database import Database
from tierscope.usecases.operate.load_figures import LoadFigures, judge, per_host_day, size_fleets
from tierscope.usecases.rebuild.trial_packing import TrialPacking


@long_with_timescaledb
def test_lag_is_there_until_the_ledger_ends_on_the_newest_sample(database: Database) -> None:
    hour_ago = utc_now().replace(minute=0, second=0, microsecond=0) - timedelta(hours=1)
    figures = LoadFigures(database, lambda: hour_ago + timedelta(minutes=32))
    sizes = figures.sizes()
    host = enrol(database)
    send_counters(database, host, hour_ago, range(1, 11))
    drain(database, hour_ago + timedelta(minutes=12))
    assert figures.lag().behind_s == 0.0
    send_counters(database, host, hour_ago, range(11, 31), seq=1)
    before = figures.lag()
    assert before.pending == 2
    assert before.behind_s == 1200.0
    drain(database, hour_ago + timedelta(minutes=32))
    after = figures.lag()
    assert after.behind_s == 0.0
    assert after.open_due_s == 0.0
    assert after.oldest_due_s <= before.oldest_due_s + 1
    grown = per_host_day(sizes, figures.sizes(), host_minutes=30.0)
    assert grown["tier_moves"] > 0
    assert grown["counters_live"] > 0


@long_with_timescaledb
def test_the_lag_of_a_load_is_that_of_its_hosts_alone(database: Database) -> None:
    hour_ago = utc_now().replace(minute=0, second=0, microsecond=0) - timedelta(hours=1)
    figures = LoadFigures(database, lambda: hour_ago + timedelta(minutes=32))
    assert figures.newest_enrolment() is None
    before, of_load = enrol(database, name="before"), enrol(database, name="of-load")
    with database.write() as transaction:
        moved = text("UPDATE hosts SET enrolled_at = enrolled_at - interval '1 day' WHERE name = 'before'")
        transaction.execute(moved)
        begun = transaction.execute(text("SELECT enrolled_at FROM hosts WHERE name = 'before'")).scalar_one()
        newest = transaction.execute(text("SELECT enrolled_at FROM hosts WHERE name = 'of-load'")).scalar_one()
    assert figures.newest_enrolment() == newest
    send_counters(database, before, hour_ago, range(1, 31))
    waiting = figures.lag(begun)
    assert (waiting.pending, waiting.open_due_s, waiting.oldest_due_s, waiting.behind_s) == (0, 0.0, 0.0, 0.0)
    assert figures.lag().pending > 0
    send_counters(database, of_load, hour_ago, range(1, 31))
    assert figures.lag(begun).pending > 0
    assert figures.lag(begun).pending < figures.lag().pending
    drain(database, hour_ago + timedelta(minutes=32))
    assert figures.lag(begun).behind_s == 0.0


@long_with_timescaledb
def test_days_are_packed_on_trial_and_nothing_stays_of_it(database: Database) -> None:
    start = day_before()
    for name in ("one", "two"):
        send_counters(database, enrol(database, name=name), start, range(1, 200))
    drain(database)
    before = dump(database)
    sizes = TrialPacking(database).bytes_by_table(most_hosts=1)
    assert set(sizes) == {"gap_days", "metrics_10m_days", "metrics_1h_days", "metrics_1d_months", "tier_move_days"}
    assert all(sizes[name] > 0 for name in sizes.keys() - {"gap_days"})
    assert dump(database) == before
    assert dump(database, sorted(sizes)) == {name: [] for name in sizes}


def test_bytes_are_scaled_to_a_day_of_one_host() -> None:
    assert per_host_day({"heat": 100}, {"heat": 400}, host_minutes=144.0) == {"heat": 3000.0}
    assert per_host_day({}, {"heat": 400}, host_minutes=0.0) == {}


def test_a_fleet_is_sized_by_its_batches_and_the_days_that_rows_stay() -> None:
    small, *_, large = size_fleets(5_000, {"api": 3.0, "database": 6.0}, {"counters_live": 1e6, "metrics_1h_days": 1e4})
    assert small.cores == {"api": pytest.approx(0.0833, abs=1e-3), "database": pytest.approx(0.1667, abs=1e-3)}
    assert small.disk_bytes == pytest.approx(1_000 * 1.5 * (0.5e6 + 3.97e6))
    assert (small.extrapolated, large.extrapolated) == (False, True)
    assert large.disk_bytes == pytest.approx(1_000 * small.disk_bytes)


def test_a_load_is_held_where_nothing_is_given_up_and_new_samples_wait_less_than_a_minute() -> None:
    fleet = {"errors": 0, "first_error": None, "host_minutes": 600, "lag_s": {"max": 1.5}}
    lag = {"open_due_s": {"max": 9.0}, "oldest_due_s": {"max": 200.0}, "settled_after_s": 3.0}
    assert judge(fleet, lag, expected_minutes=600).held
    lost = judge(fleet | {"errors": 2, "first_error": "status 503", "host_minutes": 598}, lag, expected_minutes=600)
    assert not lost.held
    assert "status 503" in lost.reasons[0]
    slow = judge(fleet, lag | {"open_due_s": {"max": 75.0}}, expected_minutes=600)
    assert slow.reasons == ("a sample waited 75 s for its row of the ledger",)
    assert not judge(fleet, lag | {"settled_after_s": None}, expected_minutes=600).held
