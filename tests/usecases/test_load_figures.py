"""What a load costs: lag of roll-ups, and bytes by table."""

from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta

import pytest

from factories.derived import drain, send_counters
from factories.installations import enrol
from tierscope.core.database import Database
from tierscope.usecases.load_figures import LoadFigures, per_host_day

HOUR_AGO = datetime.now(UTC).replace(minute=0, second=0, microsecond=0) - timedelta(hours=1)


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    with closing(Database(database_url)) as opened:
        yield opened


def test_lag_is_there_until_the_ledger_ends_on_the_newest_sample(database: Database) -> None:
    figures = LoadFigures(database, lambda: HOUR_AGO + timedelta(minutes=32))
    assert figures.lag().behind_s == 0.0
    send_counters(database, enrol(database), HOUR_AGO, range(1, 31))
    before = figures.lag()
    assert before.pending == 3
    assert before.behind_s > 0
    sizes = figures.sizes()
    drain(database, HOUR_AGO + timedelta(minutes=32))
    after = figures.lag()
    assert after.behind_s == 0.0
    assert after.pending == 0
    grown = per_host_day(sizes, figures.sizes(), host_minutes=30.0)
    assert grown["tier_moves"] > 0
    assert grown["counters_live"] == 0


def test_bytes_are_scaled_to_a_day_of_one_host() -> None:
    assert per_host_day({"heat": 100}, {"heat": 400}, host_minutes=144.0) == {"heat": 3000.0}
    assert per_host_day({}, {"heat": 400}, host_minutes=0.0) == {}
