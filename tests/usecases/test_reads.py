"""What the dashboard reads of hosts, services, counters, the fleet and the installation."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import count
from typing import Any, Literal

import pytest
from sqlalchemy import text

from factories import batches
from factories.derived import drain
from factories.installations import Enrolled, enrol, store
from tierscope.core.clock import clock_set, utc_now
from tierscope.core.database import ReadSession
from tierscope.core.embedded.places import find_places
from tierscope.core.embedded.process import identify
from tierscope.core.embedded.state import ComponentState, InstanceState
from tierscope.core.errors import BadRequest, NotFound
from tierscope.core.settings import Objects
from tierscope.domain._generated.catalogue import METRICS
from tierscope.storage.base.dirty_buckets import append_all
from tierscope.storage.ledger.rows import read_newest
from tierscope.usecases.base.context import ReadContext
from tierscope.usecases.counters.reads import CounterAnswer, CounterReads
from tierscope.usecases.fleet import service_moves
from tierscope.usecases.fleet.grid import GridReads
from tierscope.usecases.fleet.hosts import HostPage, HostReads
from tierscope.usecases.fleet.overview import FleetReads
from tierscope.usecases.fleet.services import ServiceReads
from tierscope.usecases.ledger.reads import LedgerReads
from tierscope.usecases.operate.status import StatusReads
from tierscope.usecases.operate.telemetry.runs import WorkerRuns

pytestmark = pytest.mark.parametrize("storage_mode", ["native"], indirect=True)

PROMOTED, DEMOTED = "host|vmstat|pgpromote_success", "host|vmstat|pgdemote_kswapd"
PSI, FREE = "host|pressure.memory|some_total_us", "node:0|meminfo|MemFree"
NODE, LOW = "node:0|vmstat|pgpromote_success", "zone:0/Normal|zoneinfo|low"
KEYS = tuple(sorted((PROMOTED, DEMOTED, PSI, FREE, NODE, LOW)))
MINUTES = 10


def row(minute: int) -> list[int]:
    """Counters that grow by 600 promotions, 1200 demotions and 3 s of pressure a minute."""
    values = {PROMOTED: 600 * minute, DEMOTED: 1200 * minute, PSI: 3_000_000 * minute, NODE: 600 * minute}
    values |= {FREE: 1 << 30, LOW: 100}
    return [values[key] for key in KEYS]


def feed(
    context: ReadContext, *, name: str = "node-1", rows: list[list[int]] | None = None, origin: str = "live"
) -> Enrolled:
    """Enrol a host and store ten minutes of counters, heat of one service, its inventory and a report of its agent."""
    host = enrol(context.database, name=name, origin=origin)
    number = {"live": 1, "import": 2, "simulated": 3}[origin]
    batch = batches.make_batch(host_id=host.id, origin=number)  # type: ignore[arg-type]
    batches.add_counters(batch, rows or [row(minute) for minute in range(MINUTES)], keys=KEYS)
    batches.add_heat(batch)
    # As much as its ages cover, so that all of it has a class.
    batch.heat[0].resident_bytes[0] = 72 * 4096
    batches.add_inventory(batch, hostname=name)
    for path, value in (
        ("/proc/sys/kernel/numa_balancing", "2"),
        ("/sys/kernel/mm/numa/demotion_enabled", "false"),
        ("/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never"),
    ):
        batch.inventory.knobs.add(path=path, value=value)
    batches.add_self(batch)
    outcome = store(context.database, host, [batch])[0]
    assert not isinstance(outcome, Exception)
    return host


@pytest.fixture
def within_the_hour() -> Iterator[None]:
    """A clock that stands where the newest ten minutes are of one hour, so that no hour is to be summed up yet."""
    now = utc_now()
    within = now if now.minute >= MINUTES else now - timedelta(minutes=MINUTES)
    with clock_set(lambda: within):
        yield


def hosts(context: ReadContext, *, limit: int = 100, cursor: str | None = None, state: str | None = None) -> HostPage:
    reads = HostReads(context)
    return reads.list(limit=limit, cursor=cursor, state=state, service=None, origin=None, labels=[])


def series(context: ReadContext, host: Enrolled, name: str, **options: object) -> CounterAnswer:
    asked = {"scope": None, "source": None, "from_": "-1h", "to": None, "max_points": 500} | options
    return CounterReads(context).series(host.id, name=name, **asked)  # type: ignore[arg-type]


def test_a_host_shows_its_rates_memory_and_findings(context: ReadContext) -> None:
    feed(context)
    (line,) = hosts(context).items
    assert (line.name, line.state, line.tiers) == ("node-1", "reporting", ("dram", "cxl"))
    assert line.promotion_pages_per_s.value == pytest.approx(10)
    assert line.demotion_pages_per_s.value == pytest.approx(20)
    assert line.psi_memory_some_ratio.value == pytest.approx(0.05)
    assert line.memory_bytes.value == 1 << 33
    assert [finding.id for finding in line.findings] == ["demotion-off"]
    assert line.labels == {"rack": "r1"}


def test_the_detail_joins_the_inventory_with_the_newest_counters(context: ReadContext) -> None:
    host = feed(context)
    detail = HostReads(context).detail(host.id)
    first, second = detail.nodes
    assert (first.free_bytes, first.watermark_low_bytes) == (1 << 30, 100 * 4096)
    assert (second.memory_bytes, second.free_bytes, second.anon_bytes) == (None, None, None)
    assert detail.agent_rss_bytes.value == 9 << 20
    assert detail.agent_cpu_ratio.value == pytest.approx(0.0002)
    assert detail.knobs[0].value is None
    assert detail.knobs[0].unavailable == "the kernel has no such setting"
    assert "Memory pressure is 5.0 %" in detail.headline


def test_of_a_setting_that_offers_a_choice_its_value_is_told_and_what_else_there_is(context: ReadContext) -> None:
    told = {knob.path: (knob.value, knob.choices) for knob in HostReads(context).detail(feed(context).id).knobs}
    assert told["/sys/kernel/mm/transparent_hugepage/enabled"] == ("madvise", ("always", "madvise", "never"))
    assert told["/proc/sys/kernel/numa_balancing"] == ("2", ())


def test_a_headline_says_that_tiering_is_off(context: ReadContext) -> None:
    host = feed(context, rows=[row(0)] * MINUTES)
    assert "2 memory tiers, and demotion is off" in HostReads(context).detail(host.id).headline


def test_a_host_that_sent_nothing_has_no_zeros(context: ReadContext) -> None:
    enrol(context.database)
    (line,) = hosts(context).items
    assert line.state == "silent"
    for figure in (line.memory_bytes, line.promotion_pages_per_s, line.psi_memory_some_ratio):
        assert (figure.status, figure.value) == ("not_collected", None)
        assert figure.reason
    assert line.verdict == "not_known"


def test_states_follow_the_clock(context: ReadContext) -> None:
    feed(context)
    seen = utc_now()
    for silence, state in ((0, "reporting"), (200, "late"), (700, "silent")):
        at = seen + timedelta(seconds=silence)
        later = replace(context, clock=partial(datetime.fromtimestamp, at.timestamp(), UTC))
        assert [line.state for line in hosts(later).items] == [state]
        assert len(hosts(later, state=state).items) == 1
        others = {"reporting", "late", "silent", "retired"} - {state}
        assert all(not hosts(later, state=other).items for other in others)


def test_pages_of_hosts_are_stable_and_whole(context: ReadContext) -> None:
    names = ["b", "a", "c", "a"]
    for name in names:
        enrol(context.database, name=name)
    found, cursor = [], None
    while True:
        page = hosts(context, limit=1, cursor=cursor)
        found += [line.name for line in page.items]
        cursor = page.next_cursor
        if cursor is None:
            break
    assert found == sorted(names)
    with pytest.raises(BadRequest):
        hosts(context, cursor="nonsense")


def test_a_bare_name_finds_the_host_and_its_nodes(context: ReadContext) -> None:
    host = feed(context)
    found = series(context, host, "pgpromote_success")
    assert [(line.scope, line.source) for line in found.series] == [("host", "vmstat"), ("node:0", "vmstat")]
    line = found.series[0]
    assert line.values == tuple(600.0 * minute for minute in range(MINUTES))
    assert line.per_s == (None, *(pytest.approx(10.0) for _ in range(MINUTES - 1)))
    assert (found.axis.resolution, found.points) == ("raw", MINUTES)
    (gauge,) = series(context, host, FREE).series
    assert (gauge.kind, gauge.per_s) == ("gauge", None)
    assert len(series(context, host, "vmstat|pgpromote_success", scope="node:0").series) == 1


def test_a_counter_that_went_backwards_is_a_gap_and_not_a_rate(context: ReadContext) -> None:
    rows = [row(minute) for minute in range(5)] + [row(minute) for minute in range(5)]
    (line,) = series(context, feed(context, rows=rows), PROMOTED).series
    assert line.resets == 1
    assert line.per_s is not None
    assert line.per_s[5] is None
    assert [rate for rate in line.per_s if rate is not None] == [pytest.approx(10.0)] * 8


def test_absent_and_not_collected_are_told_apart(context: ReadContext) -> None:
    host = feed(context)
    never = series(context, host, "pgdemote_direct")
    assert (never.status, never.series) == ("not_supported", ())
    empty = series(context, host, "pgpromote_success", from_="-3h", to="-2h")
    assert (empty.status, empty.series) == ("not_collected", ())
    with pytest.raises(NotFound):
        CounterReads(context).names("hx", scope=None, contains=None, limit=1)
    names = CounterReads(context).names(host.id, scope=None, contains="PROMOTE", limit=1)
    assert (len(names.items), names.truncated) == (1, True)
    with pytest.raises(BadRequest):
        series(context, host, "pgfault", from_="yesterday")


def test_many_samples_are_binned_and_the_resolution_is_named(context: ReadContext) -> None:
    found = series(context, feed(context), PROMOTED, max_points=3)
    assert found.points <= 3
    assert found.axis.resolution != "raw"
    assert found.axis.step_seconds is not None
    rates = [rate for rate in found.series[0].per_s or () if rate is not None]
    assert rates == [pytest.approx(10.0)] * len(rates)
    assert rates


def test_services_show_their_heat_and_no_moves_of_whole_hosts(context: ReadContext) -> None:
    host = feed(context)
    page = ServiceReads(context).list(limit=100, cursor=None, origin=None, host=None)
    (line,) = page.items
    assert (line.namespace, line.name, line.n_hosts, line.n_hosts_with_heat) == ("demo", "cache", 1, 1)
    assert line.resident_bytes.value == 72 * 4096
    assert line.method == "referenced"
    assert line.cold_ratio.grade == "early"
    # Only whole hosts count moves here, and those are not the service's.
    assert (line.promotion_pages_per_s.status, line.promotion_pages_per_s.value) == ("not_collected", None)
    drain(context.database, utc_now() + timedelta(hours=3))
    (line,) = ServiceReads(context).list(limit=100, cursor=None, origin=None, host=None).items
    assert (line.promotion_pages_per_s.status, line.psi_memory_some_ratio.status) == ("not_supported",) * 2
    detail = ServiceReads(context).detail(line.id, from_=None, to=None)
    assert detail.hosts == (host.id,)
    assert "cold" in detail.headline
    with pytest.raises(NotFound):
        ServiceReads(context).detail("sx", from_=None, to=None)


@pytest.mark.parametrize("summed", [False, True])
def test_a_service_has_what_its_own_cgroups_moved(context: ReadContext, *, summed: bool) -> None:
    """On the list, in its detail and in its ledger; pages add up over hosts, of shares there is a mean."""
    own = {"memory.stat|pgpromote_success": 60, "memory.pressure|some_total_us": 600_000}
    keys = sorted((*KEYS, *(f"service:demo/cache|{name}" for name in own)))
    for name, factor in (("a", 1), ("b", 3)):
        host = enrol(context.database, name=name)
        batch = batches.make_batch(host_id=host.id)
        grown = {f"service:demo/cache|{key}": step * factor for key, step in own.items()}
        rows = [
            [dict(zip(KEYS, row(minute), strict=True)).get(key, 0) + grown.get(key, 0) * minute for key in keys]
            for minute in range(MINUTES)
        ]
        batches.add_counters(batch, rows, keys=tuple(keys))
        batches.add_heat(batch)
        batches.add_inventory(batch, hostname=name)
        assert not isinstance(store(context.database, host, [batch])[0], Exception)
    drain(context.database, utc_now() + timedelta(hours=3) if summed else utc_now())
    services = ServiceReads(context)
    (line,) = services.list(limit=100, cursor=None, origin=None, host=None).items
    assert services.detail(line.id, from_=None, to=None).summary == line
    assert line.promotion_pages_per_s.value == pytest.approx(1 + 3)
    assert line.psi_memory_some_ratio.value == pytest.approx((0.01 + 0.03) / 2)
    ledger = LedgerReads(context).service(line.id, from_="-1h", to=None, max_points=500)
    columns, lines = {one.key: one for one in ledger.columns}, {one.key: one for one in ledger.series}
    assert columns["promoted_pages"].rate.value == pytest.approx(1 + 3)
    assert columns["psi_some_us"].rate.value == pytest.approx((0.01 + 0.03) / 2 * 1e6)
    shown = [value for value in lines["psi_some_us"].values if value is not None]
    assert shown == [pytest.approx(20_000)] * len(shown)


@pytest.mark.usefixtures("within_the_hour")
def test_rows_of_all_services_without_a_summed_hour_are_read_in_one_statement(
    context: ReadContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each gets its own: the moves of one service are not those of another on the same host."""
    grown = {"demo/a": 60, "demo/b": 120}
    host = enrol(context.database, name="a")
    batch = batches.make_batch(host_id=host.id)
    keys = tuple(sorted((*KEYS, *(f"service:{name}|memory.stat|pgpromote_success" for name in grown))))
    steps = [dict(zip(KEYS, row(minute), strict=True)) for minute in range(MINUTES)]
    for minute, held in enumerate(steps):
        held.update({f"service:{name}|memory.stat|pgpromote_success": by * minute for name, by in grown.items()})
    batches.add_counters(batch, [[held[key] for key in keys] for held in steps], keys=keys)
    batches.add_inventory(batch, services=("a", "b"), hostname="a")
    assert not isinstance(store(context.database, host, [batch])[0], Exception)
    drain(context.database, utc_now())
    asked: list[int] = []

    def counted(session: ReadSession, subjects: Sequence[tuple[int, int]], **rest: Any) -> Any:  # noqa: ANN401 - as it is
        asked.append(len({service for _, service in subjects}))
        return read_newest(session, subjects, **rest)

    monkeypatch.setattr(service_moves, "read_newest", counted)
    items = ServiceReads(context).list(limit=100, cursor=None, origin=None, host=None).items
    found = {f"{line.namespace}/{line.name}": line.promotion_pages_per_s.value for line in items}
    assert asked == [len(items)]
    assert {name: found[name] for name in grown} == pytest.approx({"demo/a": 1.0, "demo/b": 2.0})


def test_a_service_without_heat_says_why(context: ReadContext) -> None:
    host = enrol(context.database)
    batch = batches.make_batch(host_id=host.id)
    batch.inventory.services.add(namespace="demo", name="quiet", rule="exe", processes=1, heat_reason="not listed")
    store(context.database, host, [batch])
    (line,) = ServiceReads(context).list(limit=10, cursor=None, origin=None, host=host.id).items
    assert (line.cold_ratio.status, line.cold_ratio.value, line.cold_ratio.reason) == (
        "not_collected",
        None,
        "not listed",
    )
    assert ServiceReads(context).detail(line.id, from_=None, to=None).heat_reason == "not listed"


def test_the_fleet_adds_up(context: ReadContext) -> None:
    for name in ("a", "b"):
        feed(context, name=name, origin="simulated")
    enrol(context.database, name="c")
    fleet = FleetReads(context).overview(from_="-2h", to=None, max_points=144)
    assert (fleet.hosts_reporting, fleet.hosts_silent, fleet.hosts_total, fleet.hosts_tiering_off) == (2, 1, 3, 2)
    assert fleet.simulated
    assert fleet.memory_bytes.value == 2 << 33
    assert fleet.memory_bytes.grade == "partial"
    assert fleet.promotion_pages_per_s.value == pytest.approx(20)
    assert fleet.psi_memory_some_ratio.value == pytest.approx(0.05)
    assert fleet.hot_outside_dram_bytes.status == "not_collected"
    assert [line.n_hosts for line in fleet.services] == [2]
    (cold,) = fleet.matrix
    assert len(cold.cold_ratio) == len(fleet.matrix_axis.times)
    assert any(value is not None for value in cold.cold_ratio)
    promoted = next(line for line in fleet.moves if line.key == "promoted")
    assert len(promoted.values) == len(fleet.moves_axis.times)
    assert max(value for value in promoted.values if value is not None) == pytest.approx(20)
    assert promoted.values[0] is None
    reasons = [(cause.kind, cause.key, cause.severity, [host.name for host in cause.hosts]) for cause in fleet.causes]
    assert ("state", "silent", "critical", ["c"]) in reasons
    assert ("setting", "tiering_off", "warning", ["a", "b"]) in reasons
    # Nobody says how much is resident on each tier of two of them, so that no verdict on their moves is critical.
    assert (fleet.hosts_in_need, fleet.hosts_critical) == (3, 1)
    assert [cause.severity for cause in fleet.causes] == sorted(cause.severity for cause in fleet.causes)
    assert "3 of 3 hosts need attention (1 critical)" in fleet.headline
    assert "silent" in fleet.headline


def test_causes_are_the_same_whether_a_worker_has_summed_hosts_up_or_not(context: ReadContext) -> None:
    for name in ("a", "b"):
        feed(context, name=name, origin="simulated")
    enrol(context.database, name="c")
    before = FleetReads(context).overview(from_="-2h", to=None, max_points=10)
    drain(context.database)
    after = FleetReads(context).overview(from_="-2h", to=None, max_points=10)
    assert after.causes == before.causes
    assert (after.hosts_in_need, after.hosts_critical) == (before.hosts_in_need, before.hosts_critical)


def test_the_grid_has_a_row_of_every_host(context: ReadContext) -> None:
    feed(context, name="a", origin="simulated")
    enrol(context.database, name="c")
    grid = GridReads(context).read()
    rows = {host.name: host for host in grid.hosts}
    assert set(rows) == {"a", "c"}
    assert (rows["a"].service, rows["a"].state) == ("cache", "reporting")
    assert rows["a"].cold_ratio is not None
    assert 0 <= rows["a"].cold_ratio <= 1
    assert (rows["c"].service, rows["c"].cold_ratio, rows["c"].memory_bytes) == (None, None, None)
    assert (rows["c"].state, rows["c"].verdict) == ("silent", "not_known")


def test_an_empty_fleet_says_what_to_do(context: ReadContext) -> None:
    fleet = FleetReads(context).overview(from_=None, to=None, max_points=10)
    assert fleet.memory_bytes.value is None
    assert fleet.cold_ratio.value is None
    assert "tierscope token join" in fleet.headline
    assert (fleet.hosts_total, fleet.services, fleet.matrix) == (0, (), ())


def test_the_status_knows_the_object_store_by_what_workers_did(context: ReadContext) -> None:
    ticks = count()
    runs = WorkerRuns(context.database, lambda: utc_now() + timedelta(seconds=next(ticks)))

    def status_of(store: Literal["database", "directory"]) -> str:
        own = context.settings.model_copy(update={"objects": Objects(store=store)})
        components = StatusReads(replace(context, settings=own)).status().components
        return next(component.status for component in components if component.name == "objects")

    assert (status_of("database"), status_of("directory")) == ("absent", "unknown")
    found = []
    for failed in (False, True, True, False):
        runs.ran("objects.move", seconds=1, failed=failed)
        found.append(status_of("directory"))
    assert found == ["healthy", "degraded", "degraded", "healthy"]
    runs.ran("ingest.drain", seconds=1, failed=True)
    assert status_of("directory") == "healthy", "another task's failure"
    assert status_of("database") == "absent"
    with context.database.write() as transaction:
        transaction.execute(
            text(
                "INSERT INTO objects (key, kind, host_id, service_id, ts, size_bytes, created_at, stored_at)"
                " VALUES ('k', 'tiles', 1, 1, now(), 1, now(), now())"
            )
        )
    assert status_of("database") == "down", "rows refer to a store, and none is set"


def test_hosts_are_narrowed_to_those_enrolled_since(context: ReadContext) -> None:
    feed(context, name="old")
    with context.database.write() as transaction:
        transaction.execute(text("UPDATE hosts SET enrolled_at = enrolled_at - interval '2 hours'"))
    enrol(context.database, name="new")
    listed = partial(HostReads(context).list, limit=10, cursor=None, state=None, service=None, origin=None, labels=[])
    old, new = sorted(listed().items, key=lambda line: line.enrolled_at)
    assert (old.name, new.name) == ("old", "new")
    assert [line.name for line in listed(enrolled_since=new.enrolled_at).items] == ["new"]
    assert len(listed(enrolled_since=old.enrolled_at).items) == 2


def test_the_status_tells_the_address_that_is_set(context: ReadContext) -> None:
    assert StatusReads(context).status().public_url is None
    own = context.settings.model_copy(update={"public_url": "https://tierscope.example"})
    assert StatusReads(replace(context, settings=own)).status().public_url == "https://tierscope.example"


def test_the_status_counts_the_work_that_waits(context: ReadContext) -> None:
    assert StatusReads(context).status().queue_lag_seconds == 0
    feed(context)
    status = StatusReads(context).status()
    assert status.marks_pending > 0
    assert status.storage == "native"
    states = {component.name: component.status for component in status.components}
    assert (states["database"], states["api"], states["agent"]) == ("healthy", "healthy", "healthy")
    assert [metric.name for metric in StatusReads(context).catalogue().items] == [metric.name for metric in METRICS]


@pytest.mark.parametrize(
    ("later", "health", "said"),
    [
        (timedelta(seconds=20), "healthy", "1 live host; the newest data came less than a minute ago"),
        (timedelta(minutes=9), "healthy", "1 live host; the newest data came 9 min ago"),
        (timedelta(minutes=12), "degraded", "no live host has sent anything for 12 minutes"),
    ],
)
def test_the_status_tells_when_data_came(context: ReadContext, later: timedelta, health: str, said: str) -> None:
    feed(context)
    came = utc_now()
    status = StatusReads(replace(context, clock=lambda: came + later)).status()
    (agents,) = (part for part in status.components if part.name == "agent")
    assert (agents.status, agents.detail) == (health, said)


def test_work_that_came_at_once_is_told_as_one_progress(context: ReadContext) -> None:
    now = [utc_now()]
    reads = StatusReads(replace(context, clock=lambda: now[0]))
    assert reads.status().catching_up is None
    feed(context)
    before = reads.status().marks_pending
    with context.database.write() as transaction:
        wanted = [(1, now[0] - timedelta(hours=hour)) for hour in range(3, 1000 - before + 3)]
        append_all(transaction, "counters_pack", wanted)
    told = reads.status().catching_up
    assert told is not None
    assert (round(told.span_seconds / 3600), told.done_ratio, told.seconds_left) == (1002 - before, 0.0, None)
    with context.database.write() as transaction:
        transaction.execute(text("DELETE FROM marks WHERE id IN (SELECT id FROM marks ORDER BY id DESC LIMIT 400)"))
    now[0] += timedelta(minutes=1)
    status = reads.status()
    told = status.catching_up
    assert told is not None
    assert (told.done_ratio, told.seconds_left) == (pytest.approx(0.4, abs=0.01), pytest.approx(90, abs=1))
    now[0] += timedelta(minutes=10)
    status = reads.status()
    assert status.queue_lag_seconds is not None
    assert status.queue_lag_seconds >= 600
    assert next(part.status for part in status.components if part.name == "worker") == "healthy"
    now[0] += timedelta(minutes=16)
    status = reads.status()
    assert status.catching_up is not None
    assert status.catching_up.seconds_left is None, "nothing was done meanwhile"
    assert next(part.status for part in status.components if part.name == "worker") == "degraded"


def test_a_part_that_is_starting_is_not_healthy_yet(context: ReadContext) -> None:
    own = identify(os.getpid())
    assert own is not None
    starting = ComponentState(status="starting", detail="not ready yet", since=utc_now(), process=own)
    state = InstanceState(phase="up", supervisor=own, url="http://127.0.0.1:1", components={"worker": starting})
    state.save(find_places(context.settings.data_dir).state_file)
    worker = next(part for part in StatusReads(context).status().components if part.name == "worker")
    assert (worker.status, worker.detail) == ("degraded", "not ready yet")


@pytest.mark.usefixtures("within_the_hour")
def test_lists_say_the_same_once_workers_have_summed_up_the_newest_hour(context: ReadContext) -> None:
    feed(context)
    services = ServiceReads(context)
    before = hosts(context).items[0], services.list(limit=10, cursor=None, origin=None, host=None).items[0]
    drain(context.database)
    with context.database.read() as session:
        assert session.execute(text("SELECT count(*) FROM host_recent")).scalar_one() == 1
    after = hosts(context).items[0], services.list(limit=10, cursor=None, origin=None, host=None).items[0]
    assert after == before
