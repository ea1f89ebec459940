"""How often hosts send: by the size of the fleet, by who looks at them, and by the rules that watch them."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import text

from factories import batches
from factories.derived import drain, send_counters, to_ns
from factories.installations import Enrolled, enrol, store
from factories.watched import Cells, Watched
from fixtures.elsewhere import long
from tierscope.core.clock import utc_now
from tierscope.core.database import Database
from tierscope.core.settings import Sending, Settings
from tierscope.domain.alerts.rules import Rule, Scope
from tierscope.domain.base.jobs import COUNTERS_CLOSED
from tierscope.domain.fleet.sending import CLOSELY, NOTED_EVERY, SETTLES, held_seconds
from tierscope.domain.ingest.arrival import Clocks
from tierscope.storage.fleet.sending import longest_held_seconds, write_held_seconds
from tierscope.usecases.alerts.rules import Rules
from tierscope.usecases.base.context import ReadContext
from tierscope.usecases.fleet.agent_plans import PLAN_KEPT, AgentPlans
from tierscope.usecases.fleet.hosts import HostReads
from tierscope.usecases.fleet.looks import Looks
from tierscope.usecases.operate.data_quality import DataQualityReads

pytestmark = pytest.mark.parametrize("storage_mode", ["native"], indirect=True)
MINUTE = timedelta(minutes=1)
LARGE = Sending(minutes=5, small_fleet_hosts=0)
KEYS = ("host|vmstat|pgdemote_kswapd", "host|vmstat|pgpromote_success")
BUSY, QUIET = 2000 * 60, 10 * 60


def place(database: Database, name: str, service: str) -> Enrolled:
    """A host that has just sent what runs on it."""
    host = enrol(database, name=name)
    batch = batches.make_batch(host_id=host.id)
    batches.add_inventory(batch, services=[service])
    store(database, host, [batch])
    return host


def hold(database: Database, host: Enrolled, minutes: int) -> None:
    """As if the plan of a host had long said so."""
    with database.write() as transaction:
        write_held_seconds(transaction, host.identity, held_seconds(minutes))


def held(database: Database) -> int:
    with database.read() as session:
        return longest_held_seconds(session)


def minutes_at(database: Database, host: Enrolled, at: datetime, sending: Sending = LARGE) -> int:
    """What a process that has just started tells a host that takes up to ten minutes."""
    return AgentPlans(database, clock=lambda: at, sending=sending).config(host.identity, most_minutes=10).send_minutes


def test_hosts_of_a_small_fleet_send_each_minute_and_those_of_a_large_one_hold_minutes_back(database: Database) -> None:
    hosts = [place(database, f"node-{i}", "cache") for i in range(2)]
    now = utc_now()
    assert [minutes_at(database, host, now, Sending(small_fleet_hosts=2)) for host in hosts] == [1, 1]
    assert [minutes_at(database, host, now, Sending(small_fleet_hosts=1)) for host in hosts] == [5, 5]
    assert minutes_at(database, hosts[0], now, Sending(minutes=1, small_fleet_hosts=0)) == 1


@pytest.mark.parametrize(("most", "told"), [(1, 1), (3, 3), (10, 5), (1440, 5)])
def test_a_hosts_own_limit_wins(database: Database, most: int, told: int) -> None:
    host = place(database, "node-1", "cache")
    plans = AgentPlans(database, clock=utc_now, sending=LARGE)
    assert plans.config(host.identity, most_minutes=most).send_minutes == told
    assert held(database) == held_seconds(told)


def test_who_looks_at_a_host_or_a_service_sees_each_minute_for_a_quarter_of_an_hour(database: Database) -> None:
    cache, other = place(database, "node-1", "cache"), place(database, "node-2", "web")
    now = utc_now()
    with database.read() as session:
        service = session.execute(text("SELECT public_id FROM services WHERE name = 'web'")).scalar_one()
    looks = Looks(database, clock=lambda: now)
    looks.note("host", cache.id)
    assert [minutes_at(database, host, now) for host in (cache, other)] == [1, 5]
    looks.note("service", service)
    assert [minutes_at(database, host, now + CLOSELY) for host in (cache, other)] == [1, 1]
    over = now + CLOSELY + NOTED_EVERY
    assert [minutes_at(database, host, over) for host in (cache, other)] == [5, 5]
    assert looks.is_noted("host", cache.id)
    assert not looks.is_noted("host", other.id)


def test_a_host_that_is_to_send_more_often_may_still_bring_what_it_held(database: Database) -> None:
    host = place(database, "node-1", "cache")
    moment = utc_now()
    plans = AgentPlans(database, clock=lambda: moment, sending=LARGE)

    def told() -> tuple[int, int]:
        return plans.config(host.identity, most_minutes=10).send_minutes, held(database)

    assert told() == (5, 240)
    Looks(database, clock=lambda: moment).note("host", host.id)
    moment += PLAN_KEPT
    assert told() == (1, 240), "told at once, and nothing that it still holds is late"
    moment += SETTLES
    assert told() == (1, 0)


def test_a_plan_that_stands_is_told_without_asking_the_database(database: Database) -> None:
    host = place(database, "node-1", "cache")
    moment = utc_now()
    plans = AgentPlans(database, clock=lambda: moment, sending=LARGE)
    assert plans.known(host.identity, most_minutes=10) is None
    first = plans.config(host.identity, most_minutes=10)
    assert plans.known(host.identity, most_minutes=10) == first
    plans.pause(host.id, heat_only=False, actor="test")
    assert plans.config(host.identity, most_minutes=10).paused
    moment += PLAN_KEPT
    assert plans.known(host.identity, most_minutes=10) is None


def test_a_host_that_holds_minutes_back_is_neither_late_nor_silent_for_that(database: Database) -> None:
    host = place(database, "node-1", "cache")
    with database.read() as session:
        seen = session.execute(text("SELECT last_seen_at FROM hosts")).scalar_one()

    def state(after: timedelta) -> str:
        reads = HostReads(ReadContext(database, lambda: seen + after, Settings(_env_file=None)))
        found = reads.detail(host.id).summary.state
        everyone: dict[str, Any] = {"limit": 5, "cursor": None, "service": None, "origin": None, "labels": []}
        for word in ("reporting", "late", "silent"):
            items = reads.list(state=word, **everyone).items
            assert len(items) == (word == found), word
        return found

    assert [state(minutes * MINUTE) for minutes in (2, 4, 11)] == ["reporting", "late", "silent"]
    hold(database, host, 5)
    assert [state(minutes * MINUTE) for minutes in (4, 8, 11, 15)] == ["reporting", "late", "late", "silent"]


def test_minutes_that_a_host_still_holds_are_not_missing(database: Database) -> None:
    start = utc_now().replace(second=0, microsecond=0) - timedelta(hours=1)
    host = enrol(database)
    with database.write() as transaction:
        transaction.execute(text("UPDATE hosts SET enrolled_at = :at"), {"at": start - 4 * MINUTE})
        statement = text("UPDATE installation SET value = :at WHERE key = 'quality_since'")
        transaction.execute(statement, {"at": start.isoformat()})
    hold(database, host, 10)
    for seq, first in enumerate((1, 11)):
        ends = [to_ns(start + minute * MINUTE) for minute in range(first, first + 10)]
        batch = batches.make_batch(host_id=host.id, seq=seq, sealed_wall_ns=ends[-1])
        batches.add_counters(batch, [[1, 2, 3]] * 10, ends_ns=ends)
        # Two minutes late, so that the first of them is eleven minutes old.
        assert store(database, host, [batch], clocks=Clocks(ends[-1] + 120 * batches.SECOND_NS, None, None))

    def found(now: datetime) -> tuple[float | None, float | None, list[str]]:
        context = ReadContext(database=database, clock=lambda: now, settings=Settings(_env_file=None))
        read = DataQualityReads(context).read(from_=start.isoformat(), to=None, limit=5, cursor=None)
        (quality,) = read.hosts.items
        return quality.missing.value, quality.late.value, [gap.kind for gap in quality.gaps]

    assert found(start + 32 * MINUTE) == (0, 0, [])
    assert found(start + 36 * MINUTE) == (4, 0, ["silent"])


def test_a_bucket_stays_open_until_what_its_hosts_hold_has_come(database: Database) -> None:
    start = utc_now().replace(minute=0, second=0, microsecond=0) - timedelta(hours=2)
    host = enrol(database)
    hold(database, host, 5)
    send_counters(database, host, start, range(1, 8))
    drain(database, start + 7 * MINUTE)
    closed = start + 10 * MINUTE + COUNTERS_CLOSED.wait + timedelta(seconds=1)
    assert COUNTERS_CLOSED.kind not in drain(database, closed).buckets
    # The batch of the minutes 8 to 12 reaches into the next bucket, and only adds rows to both.
    send_counters(database, host, start, range(8, 13), seq=1)
    assert set(drain(database, start + 12 * MINUTE).buckets) == {"counters"}
    assert drain(database, closed + 5 * MINUTE).buckets[COUNTERS_CLOSED.kind] == 1


def counting(per_minute: list[int]) -> list[Cells]:
    """Samples whose differences are these promotions."""
    totals = [10**6]
    for pages in per_minute:
        totals.append(totals[-1] + pages)
    return [[0, total] for total in totals]


@pytest.mark.parametrize("minutes", [pytest.param(1, marks=long), 5])
def test_a_rule_judges_what_comes_in_batches_of_minutes_as_it_judges_each(database: Database, minutes: int) -> None:
    watched = Watched(database, 40)
    Rules(database).create(Rule("busy", "promoted_pages > 1000/s", for_seconds=180), actor="test")
    watched.evaluate(2.5)
    host = watched.enrol(origin="live")
    hold(database, host, minutes)
    rows = counting([QUIET] * 3 + [BUSY] * 5 + [QUIET] * 7)
    fired = []
    for first in range(0, len(rows), minutes):
        part = rows[first : first + minutes]
        watched.send(host, KEYS, part, first=first)
        watched.evaluate(first + len(part))
        if any(change.after == "firing" for change in watched.changes("busy")):
            fired.append(first + len(part))
    watched.evaluate(40)
    changes = [(change.minute, change.after) for change in watched.changes("busy")]
    assert changes == [(4, "pending"), (6, "firing"), (9, "resolved")]
    # Minute 6 is judged two minutes and a quarter after its end, or that much after its batch must have come.
    assert 6 + 2 + (minutes - 1) < fired[0] <= 6 + 3 + 2 * (minutes - 1)


@pytest.mark.parametrize(
    ("scope", "for_seconds", "told"),
    [("host", 180, 1), ("host", 600, 5), ("service", 180, 5), ("fleet", 180, 5)],
)
def test_a_host_sends_each_minute_while_a_rule_that_fires_soon_holds_for_it(
    database: Database, scope: str, for_seconds: int, told: int
) -> None:
    watched = Watched(database, 40)
    rule = Rule("busy", "promoted_pages > 1000/s", scope=Scope(scope), for_seconds=for_seconds)  # type: ignore[arg-type]
    Rules(database).create(rule, actor="test")
    watched.evaluate(2.5)
    host = watched.enrol(origin="live")
    watched.send(host, KEYS, counting([QUIET] * 4 + [BUSY] * 3))
    watched.evaluate(9)
    assert minutes_at(database, host, watched.at(10)) == told
    assert minutes_at(database, host, watched.at(40)) == 5


def test_rules_and_hosts_say_what_is_held_back(database: Database) -> None:
    cache, web = place(database, "node-1", "cache"), place(database, "node-2", "web")
    rules = Rules(database)
    for name, scope in (("all", Scope("host")), ("some", Scope("host", hosts=("node-2",)))):
        condition = "free_dram_ratio < 5%"
        rules.create(Rule(name=name, expression=condition, scope=scope), actor="test")
    own = {"all": 135, "some": 135}
    assert {view.row.rule.name: view.judged_after_seconds for view in rules.list()} == own
    hold(database, cache, 5)
    send_counters(database, cache, utc_now().replace(second=0, microsecond=0) - 10 * MINUTE, [1, 2], seq=1)
    assert {view.row.rule.name: view.judged_after_seconds for view in rules.list()} == own | {"all": 375}
    reads = HostReads(ReadContext(database, utc_now, Settings(_env_file=None)))
    assert [reads.detail(host.id).agent.send_minutes for host in (cache, web)] == [5, 1]
