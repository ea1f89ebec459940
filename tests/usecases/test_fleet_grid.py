"""Every host in a short row: now, at a moment of the past, and how far each is from its peers."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import event, text

from factories import batches
from factories.derived import drain
from factories.experiments import make_fleet
from factories.installations import enrol, store
from tierscope.core.clock import clock_set, utc_now
from tierscope.core.errors import BadRequest
from tierscope.storage.fleet.hosts import HostCounts
from tierscope.usecases.base.context import ReadContext
from tierscope.usecases.fleet.grid import GridHost, GridReads
from tierscope.usecases.fleet.hosts import HostReads
from tierscope.usecases.operate.retention import KeepPartitions
from tierscope.usecases.statistics.reads import FleetStatisticsReads
from tierscope.usecases.statistics.update import DRIFTS_KEPT, UpdateFleetStatistics

pytestmark = pytest.mark.parametrize("storage_mode", ["native"], indirect=True)
SWAPPED, PSI = "host|vmstat|pswpout", "host|pressure.memory|some_total_us"
MINUTES = 60


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
    with pytest.raises(BadRequest, match="in the future"):
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
    # What is so old is not taken: whether a partition has room for it depends on the day.
    KeepPartitions(context.database, lambda: later - old).run()
    with context.database.write() as transaction:
        transaction.execute(text("UPDATE fleet_sketches SET ts = ts - :old WHERE hours = 1"), {"old": old})
    UpdateFleetStatistics(context.database, lambda: later).run()
    with context.database.read() as session:
        known = session.execute(text("SELECT min(ts) FROM fleet_sketches WHERE drifts IS NOT NULL")).scalar_one()
    assert known >= fleet.now - timedelta(hours=3)


def seed_hosts(context: ReadContext, count: int) -> None:
    """Hosts h00, h01, ... of 1, 2, ... GiB: every second in rack r1, every third silent, the first one stalled."""
    statement = text(
        "WITH h AS (INSERT INTO hosts (public_id, name, origin, credential_hash, labels, enrolled_at, last_seen_at)"
        " SELECT 'h' || lpad(to_hex(n), 16, '0'), 'h' || lpad(n::text, 2, '0'), 'live', int8send(n),"
        " jsonb_build_object('rack', 'r' || n % 2), :now, CASE WHEN n % 3 = 0 THEN NULL ELSE :now END"
        " FROM generate_series(0, :count - 1) AS n RETURNING id, name)"
        " INSERT INTO host_recent (host_id, built_at, started_at, ended_at, psi_total, psi_seconds, verdict,"
        " broken, promoted_seconds, promoted_intervals, demoted_seconds, demoted_intervals,"
        " psi_intervals, one_tier, tier_classes,"
        " memory_bytes, kernel)"
        " SELECT id, :now, :now - interval '1 hour', :now, 36e6 * n, 3600,"
        " CASE n WHEN 1 THEN 'stalled' ELSE 'healthy' END, false, 0, 0, 0, 0, 60, false, ARRAY['dram'],"
        " (n + 1) * 1073741824::bigint, '6.' || n % 2"
        " FROM h, LATERAL (SELECT substr(name, 2)::int AS n) AS x"
    )
    with context.database.write() as transaction:
        transaction.execute(statement, {"now": context.clock(), "count": count})


def test_a_large_fleet_is_told_by_group_and_loses_no_host(context: ReadContext) -> None:
    seed_hosts(context, 12)
    whole, parts = GridReads(context).read(), GridReads(context, most_hosts=11).read(group="label:rack")
    assert (len(whole.hosts), whole.parts, parts.hosts) == (12, (), ())
    for grid in (whole, parts):
        assert (grid.hosts_total, grid.hosts_reporting, grid.label_keys) == (12, 8, ("rack",))
    found = {(part.group, part.state, part.verdict): part for part in parts.parts}
    assert {key: part.hosts for key, part in found.items()} == {
        ("r0", "reporting", "healthy"): 4,
        ("r0", "silent", "healthy"): 2,
        ("r1", "reporting", "healthy"): 3,
        ("r1", "reporting", "stalled"): 1,
        ("r1", "silent", "healthy"): 2,
    }
    assert sum(part.memory_bytes or 0 for part in parts.parts) == sum(host.memory_bytes or 0 for host in whole.hosts)
    silent = found["r1", "silent", "healthy"]
    assert (silent.memory_bytes, silent.psi_memory_some_ratio) == (14 << 30, pytest.approx(0.06))
    assert {part.group for part in GridReads(context, most_hosts=11).read(group="kernel").parts} == {"6.0", "6.1"}
    assert {part.group for part in GridReads(context, most_hosts=11).read().parts} == {None}
    with pytest.raises(BadRequest, match="is not `service`"):
        GridReads(context).read(group="rack")


def test_a_large_fleet_of_the_past_is_told_by_group(context: ReadContext) -> None:
    feed(context, "a")
    whole, told = GridReads(context).read(at="-40m"), GridReads(context, most_hosts=0).read(at="-40m")
    (host,), (part,) = whole.hosts, told.parts
    assert (part.group, part.hosts, part.memory_bytes) == (host.service, 1, host.memory_bytes)
    assert part.psi_memory_some_ratio == pytest.approx(host.psi_memory_some_ratio) == pytest.approx(0.05)
    assert (told.hosts_total, told.hosts_reporting) == (1, None)


def names_of(context: ReadContext, **asked: object) -> tuple[list[str], int]:
    """Names of all pages of five hosts, and how many hosts the pages say match."""
    base: dict[str, Any] = {"limit": 5, "state": None, "service": None, "origin": None, "labels": []} | asked
    page = HostReads(context).list(cursor=None, **base)
    names = [line.name for line in page.items]
    while page.next_cursor is not None:
        page = HostReads(context).list(cursor=page.next_cursor, **base)
        names += [line.name for line in page.items]
    assert page.fleet == HostCounts(12, 8, 0, 4, 0)
    return names, page.matching


def test_hosts_are_put_in_order_and_narrowed_over_all_pages(context: ReadContext) -> None:
    seed_hosts(context, 12)
    every = [f"h{n:02}" for n in range(12)]
    assert names_of(context) == (every, 12)
    assert names_of(context, sort="memory", descending=True) == (every[::-1], 12)
    assert names_of(context, sort="psi", descending=True) == (every[::-1], 12)
    quiet = [f"h{n:02}" for n in (0, 3, 6, 9)]
    others = [name for name in every if name not in quiet and name != "h01"]
    assert names_of(context, sort="trouble", descending=True) == ([*sorted([*quiet, "h01"]), *others], 12)
    assert names_of(context, sort="kernel") == (every[::2] + every[1::2], 12)
    assert names_of(context, words="RACK=r1 6.1") == (every[1::2], 6)
    assert names_of(context, words="h0", state="silent") == (quiet, 4)
    assert names_of(context, cause="state:silent", sort="name", descending=True) == (quiet[::-1], 4)
    assert names_of(context, cause="verdict:stalled") == (["h01"], 1)
    assert names_of(context, cause="finding:clock-skew") == ([], 0)
    assert names_of(context, cause="setting:tiering_off") == ([], 0)
    assert names_of(context, hosts=["h0000000000000002", "h0000000000000001"]) == (["h01", "h02"], 2)
    with pytest.raises(BadRequest, match="the cause 'silent' is not"):
        names_of(context, cause="silent")
