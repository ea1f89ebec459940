"""The ledger of a service from summed hours is the ledger from its rows, late data and reboots included."""

from datetime import timedelta

import pytest
from sqlalchemy import text

from factories.derived import day_before, drain, sample, send_counters
from factories.installations import enrol
from tierscope.core.database import Database
from tierscope.core.settings import Settings
from tierscope.usecases.base.context import ReadContext
from tierscope.usecases.ledger import reads as tier_moves
from tierscope.usecases.ledger.answers import Ledger
from tierscope.usecases.ledger.reads import LedgerReads

pytestmark = pytest.mark.parametrize("storage_mode", ["native"], indirect=True)
START = day_before()
FIRST, LAST = 22 * 60, 27 * 60


def read(database: Database, *, max_points: int = 500) -> Ledger:
    """The ledger of the only service over the whole hours that have data."""
    context = ReadContext(database, lambda: START + timedelta(days=2), Settings(_env_file=None))
    with database.read() as session:
        service = session.execute(text("SELECT public_id FROM services")).scalar_one()
    window = (START + timedelta(minutes=FIRST + 60), START + timedelta(minutes=LAST))
    return LedgerReads(context).service(
        service, from_=window[0].isoformat(), to=window[1].isoformat(), max_points=max_points
    )


def assert_same(database: Database, monkeypatch: pytest.MonkeyPatch) -> Ledger:
    """Both readings of the window agree, figure by figure; returns the one from summed hours."""
    wanted = read(database, max_points=5)
    with monkeypatch.context() as patch:
        patch.setattr(tier_moves, "MAX_ROWS", 0)
        found = read(database, max_points=5)
    assert found.ping_pong.explanation.startswith("3 of 3 hosts")
    assert (found.n_hosts, found.dialect) == (wanted.n_hosts, wanted.dialect)
    for one, other in zip(found.columns, wanted.columns, strict=True):
        assert (one.key, one.trust, one.counters) == (other.key, other.trust, other.counters)
        assert one.trust_note == other.trust_note
        for figure, known in ((one.total, other.total), (one.rate, other.rate)):
            assert (figure.status, figure.n_hosts, figure.n_intervals) == (
                known.status,
                known.n_hosts,
                known.n_intervals,
            )
            assert figure.value == (known.value if figure is one.total else pytest.approx(known.value))
            assert figure.coverage == pytest.approx(known.coverage)
    assert [(reset.at, reset.cause, reset.columns) for reset in found.resets] == [
        (reset.at, reset.cause, reset.columns) for reset in wanted.resets
    ]
    assert found.axis.times == wanted.axis.times
    for line, known_line in zip(found.series, wanted.series, strict=True):
        assert (line.key, line.unit) == (known_line.key, known_line.unit)
        assert line.values == pytest.approx(known_line.values, nan_ok=True)
    assert found.ping_pong.ratio.value == pytest.approx(wanted.ping_pong.ratio.value)
    assert found.ping_pong.churn_pages_per_s.value == pytest.approx(wanted.ping_pong.churn_pages_per_s.value)
    return found


def test_summed_hours_say_what_rows_say(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    hosts = [enrol(database, name=f"node-{number}") for number in range(3)]
    minutes = list(range(FIRST, LAST + 1))
    send_counters(database, hosts[0], START, minutes)
    late = [minute for minute in minutes if not FIRST + 70 < minute <= FIRST + 95]
    send_counters(database, hosts[1], START, late)
    boots = ["a" if minute < FIRST + 200 else "b" for minute in minutes]
    send_counters(database, hosts[2], START, minutes, boots=boots)
    drain(database, START + timedelta(days=2))
    before = assert_same(database, monkeypatch)
    assert before.resets

    missing = [minute for minute in minutes if minute not in late]
    send_counters(database, hosts[1], START, missing, seq=1, rows=[sample(minute) for minute in missing])
    drain(database, START + timedelta(days=2))
    after = assert_same(database, monkeypatch)
    assert len(after.resets) < len(before.resets)


def test_a_window_without_summed_hours_is_read_from_rows(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    send_counters(database, enrol(database), START, range(FIRST, LAST + 1))
    monkeypatch.setattr(tier_moves, "MAX_ROWS", 0)
    found = read(database)
    assert next(column for column in found.columns if column.key == "promoted_pages").total.value
