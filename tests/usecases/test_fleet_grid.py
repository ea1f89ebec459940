"""Every host in a short row: now, at a moment of the past, and how far each is from its peers."""

from collections.abc import Iterator
from contextlib import closing
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import event, text

from factories import batches
from factories.derived import drain
from factories.experiments import make_fleet
from factories.installations import enrol, store
from tierscope.core.clock import clock_set, utc_now
from tierscope.core.database import Database
from tierscope.core.errors import BadRequest
from tierscope.core.settings import Settings
from tierscope.usecases.base.context import ReadContext
from tierscope.usecases.fleet.grid import GridHost, GridReads
from tierscope.usecases.statistics.reads import FleetStatisticsReads
from tierscope.usecases.statistics.update import DRIFTS_KEPT, UpdateFleetStatistics

pytestmark = pytest.mark.parametrize("storage_mode", ["native"], indirect=True)
SWAPPED, PSI = "host|vmstat|pswpout", "host|pressure.memory|some_total_us"
MINUTES = 60


@pytest.fixture
def context(database_url: str, tmp_path: Path) -> Iterator[ReadContext]:
    with closing(Database(database_url)) as database:
        yield ReadContext(database, utc_now, Settings(data_dir=tmp_path))


def feed(context: ReadContext, name: str) -> None:
    """An hour of a host: 3 s of memory pressure a minute in its first half, none in the second."""
    host = enrol(context.database, name=name)
    batch = batches.make_batch(host_id=host.id)
    rows = [[3_000_000 * min(minute, MINUTES // 2), 0] for minute in range(MINUTES)]
    batches.add_counters(batch, rows, keys=[PSI, SWAPPED])
    batches.add_inventory(batch, hostname=name)
    assert not isinstance(store(context.database, host, [batch])[0], Exception)
    drain(context.database)


def at(context: ReadContext, moment: str | None) -> dict[str, GridHost]:
    return {host.name: host for host in GridReads(context).read(at=moment).hosts}


def test_a_moment_has_the_pressure_of_its_ten_minutes(context: ReadContext) -> None:
    feed(context, "a")
    assert at(context, "-40m")["a"].psi_memory_some_ratio == pytest.approx(0.05)
    assert at(context, "-5m")["a"].psi_memory_some_ratio == 0
    assert (at(context, "-40m")["a"].state, at(context, "-40m")["a"].memory_bytes) == ("reporting", 1 << 33)


def test_a_moment_has_the_verdict_and_the_findings_of_then(context: ReadContext) -> None:
    feed(context, "a")
    statement = text("UPDATE findings SET since = :since, until = :until")
    with context.database.write() as transaction:
        words = "UPDATE rule_inputs SET vals[array_position(l.keys, 'verdict')] = 8 FROM layouts l"
        transaction.execute(
            text(f"{words} WHERE l.id = layout_id AND service_id = 0 AND ts <= :at"),
            {"at": utc_now() - timedelta(minutes=30)},
        )
        hour = timedelta(hours=1)
        transaction.execute(statement, {"since": utc_now() - hour, "until": utc_now() - hour / 2})
    then, later = at(context, "-40m")["a"], at(context, "-20m")["a"]
    assert (then.verdict, then.finding_severity) == ("swap_pressure", "warning")
    assert (later.verdict, later.finding_severity) != (then.verdict, then.finding_severity)
    assert later.finding_severity is None


def test_a_moment_is_the_same_once_its_rows_are_packed(context: ReadContext) -> None:
    feed(context, "a")
    then = (utc_now() - timedelta(minutes=40)).isoformat()
    wanted = at(context, then)["a"]
    days_later = utc_now() + timedelta(days=3)
    with clock_set(lambda: days_later):
        drain(context.database)
        with context.database.write() as transaction:
            transaction.execute(text("DELETE FROM rule_inputs"))
        found = at(context, then)["a"]
    assert (found.state, found.verdict) == (wanted.state, wanted.verdict) == ("reporting", wanted.verdict)
    assert found.psi_memory_some_ratio == pytest.approx(wanted.psi_memory_some_ratio) == pytest.approx(0.05)


def test_what_is_not_known_of_a_moment_is_null(context: ReadContext) -> None:
    feed(context, "a")
    with context.database.write() as transaction:
        transaction.execute(text("UPDATE hosts SET enrolled_at = :at"), {"at": utc_now() - timedelta(days=30)})
    host = at(context, "-2d")["a"]
    assert (host.state, host.verdict, host.psi_memory_some_ratio) == (None, "not_known", None)
    assert (host.cold_ratio, host.tiering_off) == (None, None)


def test_a_host_is_missing_at_a_moment_before_it_was_enrolled(context: ReadContext) -> None:
    feed(context, "a")
    assert at(context, "-2d") == {}


def test_the_answer_says_its_moment(context: ReadContext) -> None:
    reads = GridReads(context)
    now, then = reads.read(), reads.read(at="-2h")
    assert (now.at, now.is_now) == (utc_now(), True)
    assert (then.at, then.is_now) == (utc_now() - timedelta(hours=2), False)
    with pytest.raises(BadRequest, match="still to come"):
        reads.read(at=(utc_now() + timedelta(hours=1)).isoformat())
    with pytest.raises(BadRequest, match="is no time"):
        reads.read(at="yesterday")


def test_a_moment_takes_few_statements_however_many_hosts(context: ReadContext) -> None:
    def statements() -> int:
        counted: list[str] = []

        def count(*told: object) -> None:
            counted.append(str(told[2]))

        with context.database.read() as session:
            engine = session.connection.engine
        event.listen(engine, "before_cursor_execute", count)
        GridReads(context).read(at="-5m")
        event.remove(engine, "before_cursor_execute", count)
        return len(counted)

    feed(context, "a")
    one = statements()
    for name in "bcd":
        feed(context, name)
    assert 0 < statements() <= one


def faster(number: int, _at: datetime) -> float:
    return 3.0 if number == 7 else 1.0


def test_each_host_has_its_furthest_metric_and_the_median_of_its_peers(context: ReadContext) -> None:
    fleet = make_fleet(context.database, 12, hours=2, factor=faster)
    later = fleet.now + timedelta(minutes=15)
    UpdateFleetStatistics(context.database, lambda: later).run()
    reads = FleetStatisticsReads(fleet.context(context.database, at=later))
    found = reads.drift(at=None)
    assert found.window is not None
    assert (found.window.end, found.limit, found.missing) == (fleet.now, 3.5, None)
    hosts = {host.host_id: host for host in found.hosts}
    assert set(hosts) == set(fleet.ids)
    odd = hosts[fleet.ids[7]]
    assert odd.metric in ("throughput_per_s", "latency_p99_ns")
    assert abs(odd.score) == max(abs(host.score) for host in found.hosts) > 3.5
    assert (odd.value > odd.median) == (odd.score > 0)
    assert odd.n_hosts == 12
    earlier = reads.drift(at=(fleet.now - timedelta(minutes=30)).isoformat())
    assert earlier.window is not None
    assert earlier.window.end == fleet.now - timedelta(hours=1)


def test_hosts_without_peers_have_no_drift(context: ReadContext) -> None:
    fleet = make_fleet(context.database, 5, hours=2)
    later = fleet.now + timedelta(minutes=15)
    UpdateFleetStatistics(context.database, lambda: later).run()
    found = FleetStatisticsReads(fleet.context(context.database, at=later)).drift(at=None)
    assert (found.hosts, found.window) == ((), None)
    assert found.missing is not None
    assert found.missing.reason


def test_old_drift_is_dropped(context: ReadContext) -> None:
    fleet = make_fleet(context.database, 8, hours=2)
    later = fleet.now + timedelta(minutes=15)
    UpdateFleetStatistics(context.database, lambda: later).run()
    old = DRIFTS_KEPT + timedelta(hours=12)
    with context.database.write() as transaction:
        transaction.execute(text("UPDATE fleet_sketches SET ts = ts - :old WHERE hours = 1"), {"old": old})
    UpdateFleetStatistics(context.database, lambda: later).run()
    with context.database.read() as session:
        known = session.execute(text("SELECT min(ts) FROM fleet_sketches WHERE drifts IS NOT NULL")).scalar_one()
    assert known >= fleet.now - timedelta(hours=3)
