"""Tier moves of all hosts together: what workers keep by ten minutes says what the ledgers say."""

from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta

import numpy as np
import pytest
from sqlalchemy import text

from factories.derived import day_before, drain, send_counters
from factories.installations import enrol
from tierscope.core.database import Database
from tierscope.core.settings import Settings
from tierscope.domain.base.axis import make_grid
from tierscope.domain.base.figures import Window
from tierscope.storage.base.dirty_buckets import count_waiting
from tierscope.storage.ledger.fleet import read_fleet_moves, replace_fleet_moves, sum_minutes
from tierscope.usecases.base.context import ReadContext
from tierscope.usecases.fleet.overview import FleetReads
from tierscope.usecases.fleet.overview_moves import move_series, read_fleet_minutes, read_waiting

pytestmark = pytest.mark.parametrize("storage_mode", ["native"], indirect=True)
START = day_before()
SPAN = (START, START + timedelta(minutes=30))


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    with closing(Database(database_url)) as opened:
        for name, minutes in (("node-1", range(31)), ("node-2", range(3, 31)), ("node-3", range(0, 31, 5))):
            send_counters(opened, enrol(opened, name=name), START, list(minutes))
        drain(opened)
        yield opened


def test_stored_minutes_are_those_of_the_ledgers(database: Database) -> None:
    with database.read() as session:
        stored, live = read_fleet_moves(session, *SPAN), sum_minutes(session, *SPAN)
    assert stored.ends_s.tolist() == live.ends_s.tolist()
    assert len(stored.ends_s) == 30
    np.testing.assert_allclose(stored.per_s, live.per_s, rtol=1e-12)
    assert stored.hosts.tolist() == live.hosts.tolist()
    assert stored.known.tolist() == live.known.tolist()
    assert stored.known[0].tolist() == [3] * 30


def test_sums_over_hosts_are_those_of_their_own_rates(database: Database) -> None:
    grid = make_grid(Window(*SPAN), interval_s=60.0, max_points=3)
    with database.read() as session:
        moves, _ = move_series(read_fleet_minutes(session, grid), (), grid, np.zeros(3))
    # Sample i has counted 7,000,000 + i * i promotions.
    at = np.array([10, 20, 30])
    one = ((at**2) - (at - 10) ** 2) / 600
    assert moves[0].key == "promoted"
    found = np.array(moves[0].values, float)
    np.testing.assert_allclose(found[1:], 3 * one[1:], rtol=0.03)


def test_the_fleet_page_says_the_same_before_workers_have_summed_and_after(database: Database) -> None:
    reads = FleetReads(ReadContext(database, lambda: SPAN[1], Settings()))
    after = reads.overview(from_="-30m", to=None, max_points=60)
    with database.write() as transaction:
        transaction.execute(text("DELETE FROM fleet_moves"))
    before = reads.overview(from_="-30m", to=None, max_points=60)
    for kept, live in zip(after.moves, before.moves, strict=True):
        assert [value is None for value in kept.values] == [value is None for value in live.values]
        np.testing.assert_allclose(
            [value for value in kept.values if value is not None],
            [value for value in live.values if value is not None],
            rtol=1e-9,
        )


def test_a_late_sample_is_counted(database: Database) -> None:
    late = enrol(database, name="node-4")
    send_counters(database, late, START, [11, 12, 13])
    drain(database)
    with database.read() as session:
        stored, live = read_fleet_moves(session, *SPAN), sum_minutes(session, *SPAN)
    assert stored.hosts.tolist() == live.hosts.tolist()
    assert stored.known.tolist() == live.known.tolist()
    assert stored.known[0].tolist() == [3] * 10 + [4] * 10 + [3] * 10


def test_ten_minutes_without_a_ledger_have_no_row(database: Database) -> None:
    gone = [SPAN[0], SPAN[0] + timedelta(minutes=20)]
    with database.write() as transaction:
        transaction.execute(text("DELETE FROM tier_moves"))
        replace_fleet_moves(transaction, gone)
        assert transaction.execute(text("SELECT ts FROM fleet_moves")).scalars().all() == [
            SPAN[0] + timedelta(minutes=10)
        ]


def test_a_total_that_lacks_hosts_is_not_told_until_workers_have_summed_them(database: Database) -> None:
    reads = FleetReads(ReadContext(database, lambda: SPAN[1] + timedelta(minutes=30), Settings()))
    whole = reads.overview(from_="-1h", to=None, max_points=6)
    assert whole.moves_missing is None
    assert [value is not None for value in whole.moves[0].values] == [True] * 3 + [False] * 3
    send_counters(database, enrol(database, name="node-4"), START, list(range(11, 20)))
    partial = reads.overview(from_="-1h", to=None, max_points=6)
    assert [value is not None for value in partial.moves[0].values] == [True, False, True] + [False] * 3
    assert partial.moves_missing == (
        "1 of 6 steps are not shown yet: workers still sum up what 1 host sent, and a total without them would be too"
        " low."
    )
    drain(database)
    late = reads.overview(from_="-1h", to=None, max_points=6)
    assert late.moves_missing is None
    summed, before = late.moves[0].values[1], whole.moves[0].values[1]
    assert summed is not None
    assert before is not None
    assert summed > before


def test_waiting_hosts_are_counted_by_step_up_to_a_limit(database: Database) -> None:
    grid = make_grid(Window(*SPAN), interval_s=60.0, max_points=3)
    send_counters(database, enrol(database, name="node-4"), START, list(range(11, 20)))
    with database.read() as session:
        assert count_waiting(session, "counters", since=SPAN[0], before=SPAN[1], most=0) is None
        waiting = read_waiting(session, grid, now=SPAN[1] + timedelta(hours=1))
    assert waiting.tolist() == [0, 1, 0]
