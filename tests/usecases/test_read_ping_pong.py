"""Ping-pong as read: recordings of real kernels through the store, TPP by its own counters, costs, advice to stop."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta

import pytest

from factories import batches
from factories.derived import drain
from factories.installations import enrol, store
from factories.kernel_lab import load
from tierscope.core.database import Database
from tierscope.core.errors import NotFound
from tierscope.core.settings import Settings
from tierscope.usecases.base.context import ReadContext
from tierscope.usecases.ledger.ping_pong_reads import PingPongHistory, PingPongReads

pytestmark = pytest.mark.parametrize("storage_mode", ["native"], indirect=True)
MINUTE, SECOND = batches.MINUTE_NS, batches.SECOND_NS
MIB = 1 << 20
DRAM_BYTES = 768 * MIB
_KEPT = ("host|vmstat|", "node:0|vmstat|nr_", "node:1|vmstat|nr_", "cgroup:/load|memory.")
TPP_KEYS = (
    "host|vmstat|pgdemote_anon",
    "host|vmstat|pgdemote_file",
    "host|vmstat|pgpromote_anon",
    "host|vmstat|pgpromote_candidate",
    "host|vmstat|pgpromote_candidate_demoted",
    "host|vmstat|pgpromote_file",
)


def replay(
    database: Database,
    name: str,
    *,
    end_ns: int,
    stretch: int = 1,
    limit: str | None = None,
    throughput: Callable[[int], int] | None = None,
) -> str:
    """Stores a recording so that it ends at `end_ns`, its workload as the service demo/cache. Returns the host's id."""
    times, keys, values, present = load(name)
    places = [i for i, key in enumerate(keys) if key.startswith(_KEPT)]
    named = [(keys[i].replace("cgroup:/load|", "service:demo/cache|"), i) for i in places]
    named.sort()
    rows: list[list[int | None]] = [
        [int(values[row, i]) if present[row, i] else None for _, i in named] for row in range(len(times))
    ]
    names = [key for key, _ in named]
    if throughput is not None:
        names.append("service:demo/cache|metrics|throughput_milli_per_s")
        for row, cells in enumerate(rows):
            cells.append(1000 * throughput(row))
    ends = [end_ns - round((times[-1] - at) * stretch) * SECOND for at in times.tolist()]
    host = enrol(database)
    batch = batches.make_batch(host_id=host.id, sealed_wall_ns=end_ns)
    batches.add_counters(batch, rows, ends_ns=ends, keys=names)
    batches.add_inventory(batch)
    batch.inventory.nodes[0].memory_bytes = DRAM_BYTES
    if limit is not None:
        batch.inventory.knobs.add(path="proc/sys/kernel/numa_balancing_promote_rate_limit_MBps", value=limit)
    assert store(database, host, [batch])
    return host.id


def reads(database: Database, end_ns: int) -> PingPongReads:
    now = datetime.fromtimestamp(end_ns / 1e9, tz=UTC)
    return PingPongReads(ReadContext(database, lambda: now, Settings(_env_file=None)))


def of_service(database: Database, end_ns: int, *, from_: str = "-1h", to: str | None = None) -> PingPongHistory:
    with database.read() as session:
        service = session.connection.exec_driver_sql("SELECT public_id FROM services").scalar_one()
    return reads(database, end_ns).service(service, from_=from_, to=to, max_points=500)


def of_host(
    database: Database, host: str, end_ns: int, *, from_: str = "-1h", to: str | None = None
) -> PingPongHistory:
    return reads(database, end_ns).host(host, from_=from_, to=to, max_points=2000)


def turns(view: PingPongHistory) -> list[str]:
    """The states in their order, each once per stretch."""
    found: list[str] = []
    for state in view.states:
        if state is not None and (not found or found[-1] != state):
            found.append(state)
    return found


@pytest.mark.parametrize("stretch", [1, 30])
def test_futile_ping_pong_warns_turns_critical_and_stays(database: Database, stretch: int) -> None:
    now = batches.now_ns()
    host = replay(database, "04-pingpong", end_ns=now, stretch=stretch)
    view = of_host(database, host, now, from_="-2h")
    assert turns(view) == ["ok", "warn", "crit"]
    assert (view.kind, view.state, view.verdict) == ("upper_bound", "crit", "futile_ping_pong")
    assert [(span.state, span.to is None) for span in view.spans] == [("warn", False), ("crit", True)]
    assert view.spans[0].to == view.spans[1].from_
    if stretch == 1:
        assert view.stop_moving.advised
        assert "promote_rate_limit" in (view.stop_moving.how or "")
    else:
        assert (view.stop_moving.advised, view.stop_moving.how) == (False, None)
        assert "less than the action threshold" in view.stop_moving.why


@pytest.mark.parametrize("stretch", [1, 30])
def test_a_minute_of_an_old_kernel_warns_and_stays(database: Database, stretch: int) -> None:
    now = batches.now_ns()
    host = replay(database, "12-kernel-6.1", end_ns=now, stretch=stretch)
    view = of_host(database, host, now)
    assert turns(view) in (["ok", "warn"], ["ok", "warn", "crit"])
    assert view.verdict == "futile_ping_pong"


@pytest.mark.parametrize(
    ("name", "limit", "stretch"),
    [
        ("01-baseline-fits", None, 1),
        ("02-default-spill", None, 1),
        ("03-tiering-steady", None, 1),
        ("03-tiering-steady", None, 30),
        ("05-ratelimited", "2", 1),
        ("07b-phase-fastscan", None, 1),
        ("07b-phase-fastscan", None, 30),
        ("08-swap", None, 1),
        ("10-cxl-real", None, 1),
        ("15-mixed-reclaim", None, 1),
    ],
)
def test_other_hosts_are_never_critical(database: Database, name: str, limit: str | None, stretch: int) -> None:
    now = batches.now_ns()
    host = replay(database, name, end_ns=now, stretch=stretch, limit=limit)
    for view in (of_host(database, host, now, from_="-2h"), of_service(database, now, from_="-2h")):
        assert "crit" not in turns(view)
        assert not view.stop_moving.advised
        assert view.stop_moving.how is None


def test_a_service_is_judged_with_its_hosts_counters(database: Database) -> None:
    now = batches.now_ns()
    replay(database, "04-pingpong", end_ns=now)
    view = of_service(database, now)
    assert (view.state, view.verdict) == ("crit", "futile_ping_pong")
    assert "hot" in view.explanation
    assert view.stop_moving.advised
    assert "memory.low" in (view.stop_moving.how or "")
    assert not [note for note in view.notes if "Whole hosts" in note]


def test_a_service_that_follows_its_phases_is_not_warned_about(database: Database) -> None:
    now = batches.now_ns()
    replay(database, "07b-phase-fastscan", end_ns=now)
    view = of_service(database, now)
    assert turns(view) == ["ok"]
    assert view.verdict != "futile_ping_pong"


def test_pressure_is_that_of_the_services_own_groups(database: Database) -> None:
    now = batches.now_ns()
    host = replay(database, "04-pingpong", end_ns=now)
    own = of_service(database, now).cost.psi_some_ratio
    assert own.value is not None
    assert own.value < 0.01
    of_all = of_host(database, host, now).cost.psi_some_ratio
    assert (of_all.status, of_all.value) == ("not_supported", None)
    assert "kswapd" in (of_all.reason or "")


def test_cost_counts_moves_and_hint_faults(database: Database) -> None:
    now = batches.now_ns()
    host = replay(database, "04-pingpong", end_ns=now)
    cost = of_host(database, host, now).cost
    seconds = 204.0
    expected = ((258_633 + 283_433) * 3e-6 + 432_195 * 1e-6) / seconds
    assert cost.cpu_core_ratio.value == pytest.approx(expected, rel=0.02)
    assert cost.tier_move_bytes_per_s.value == pytest.approx((258_633 + 283_433) * 4096 / seconds, rel=0.02)
    assert cost.slow_bandwidth_ratio.status == "not_collected"
    assert any("3 us" in warning for warning in cost.cpu_core_ratio.warnings)


@pytest.mark.parametrize("stretch", [1, 30])
def test_states_do_not_depend_on_how_the_window_is_cut(database: Database, stretch: int) -> None:
    now = batches.now_ns()
    host = replay(database, "04-pingpong", end_ns=now, stretch=stretch)
    whole = of_host(database, host, now, from_="-2h")
    at = dict(zip(whole.axis.times, whole.states, strict=True))
    for cut in ("-4m", "-2m", "-20s") if stretch == 1 else ("-60m", "-30m", "-5m"):
        part = of_host(database, host, now, from_=cut)
        same = [
            (at[time], state) for time, state in zip(part.axis.times[1:], part.states[1:], strict=True) if time in at
        ]
        assert same
        assert all(before == after for before, after in same)
        assert part.spans[-1] == whole.spans[-1]


def test_states_are_the_same_from_rows_that_the_worker_built(database: Database) -> None:
    now = batches.now_ns()
    host = replay(database, "04-pingpong", end_ns=now)
    before = of_host(database, host, now)
    drain(database, datetime.fromtimestamp(now / 1e9, tz=UTC) + timedelta(hours=2))
    after = of_host(database, host, now)
    assert (after.states, after.spans) == (before.states, before.spans)


def send_tpp(database: Database, minutes: Sequence[tuple[int, int, int]], *, end_ns: int) -> str:
    """Stores minutes of (promoted, candidates, of them demoted before); as many pages are demoted as promoted."""
    rows = [[0, 0, 0, 0, 0, 0]]
    for promoted, candidates, again in minutes:
        step = [promoted, 0, promoted, candidates, again, 0]
        rows.append([total + more for total, more in zip(rows[-1], step, strict=True)])
    host = enrol(database)
    batch = batches.make_batch(host_id=host.id, sealed_wall_ns=end_ns)
    ends = [end_ns - (len(minutes) - i) * MINUTE for i in range(len(rows))]
    batches.add_counters(batch, rows, ends_ns=ends, keys=TPP_KEYS)
    batches.add_inventory(batch)
    assert store(database, host, [batch])
    return host.id


def test_tpp_states_follow_the_measured_ratio(database: Database) -> None:
    now = batches.now_ns()
    percent = (4, 11, 12, 13, 9, 6, 4, 4, 4)
    host = send_tpp(database, [(400_000, 100_000, share * 1000) for share in percent], end_ns=now)
    view = of_host(database, host, now, from_="-9m")
    assert (view.kind, view.state) == ("measured", "ok")
    assert view.states == ("ok", "ok", "ok", "warn", "warn", "warn", "warn", "warn", "ok")
    (span,) = view.spans
    end = datetime.fromtimestamp(now / 1e9, tz=UTC)
    assert (span.state, span.from_, span.to) == ("warn", end - timedelta(minutes=6), end - timedelta(minutes=1))
    assert "13%" in span.why
    ratio = next(series.values for series in view.series if series.key == "ping_pong_ratio")
    assert ratio == pytest.approx([share / 100 for share in percent])


def test_tpp_is_critical_at_once_and_only_with_traffic(database: Database) -> None:
    now = batches.now_ns()
    busy = send_tpp(database, [(400_000, 100_000, 40_000)] * 3, end_ns=now)
    quiet = send_tpp(database, [(400, 100, 40)] * 3, end_ns=now)
    assert of_host(database, busy, now).state == "crit"
    assert of_host(database, quiet, now).state == "ok"


FOLLOWED_KEYS = tuple(
    f"host|page_moves|{name}[{kind}]"
    for name in ("promotions", "promotions_squared", "round_trips", "unsure_moves")
    for kind in ("anon", "file")
)


def test_followed_pages_tell_the_share_where_the_kernel_marks_none(database: Database) -> None:
    now = batches.now_ns()
    # By name, anon and file: 14 of 40 promotions a minute went round.
    steps = dict(zip(FOLLOWED_KEYS, (24, 16, 24, 16, 12, 2, 0, 0), strict=True))
    moved = ("host|vmstat|pgdemote_kswapd", "host|vmstat|pgpromote_success")
    keys = (*FOLLOWED_KEYS, *moved)
    host = enrol(database)
    batch = batches.make_batch(host_id=host.id, sealed_wall_ns=now)
    # An agent that starts anew begins at zero: its minute is left out, and the kernel's counters go on.
    rows = [[steps[key] * (minute % 30) if key in steps else 60_000 * minute for key in keys] for minute in range(60)]
    ends = [now - (59 - minute) * MINUTE for minute in range(60)]
    batches.add_counters(batch, rows, ends_ns=ends, keys=keys)
    batches.add_inventory(batch)
    assert store(database, host, [batch])
    view = of_host(database, host.id, now, from_="-1h")
    assert view.kind == "sampled"
    assert view.ratio.n_samples == 58 * 40
    assert view.ratio.value == pytest.approx(14 / 40)
    assert view.ratio.interval is not None
    assert 0.32 < view.ratio.interval.lo < 0.35 < view.ratio.interval.hi < 0.38
    assert view.churn_pages_per_s.value == pytest.approx(1000 * 14 / 40)
    line = next(series.values for series in view.series if series.key == "ping_pong_ratio")
    assert [value for value in line if value is not None] == pytest.approx([14 / 40] * 58)
    assert not any("followed" in note for note in view.notes)


def test_without_counters_nothing_is_claimed(database: Database) -> None:
    now = batches.now_ns()
    host = enrol(database)
    batch = batches.make_batch(host_id=host.id, sealed_wall_ns=now)
    batches.add_inventory(batch)
    assert store(database, host, [batch])
    view = of_host(database, host.id, now)
    assert (view.kind, view.state, view.spans) == ("not_available", None, ())
    assert set(view.states) == {None}
    assert view.missing is not None
    assert view.missing.status == "not_collected"
    assert view.cost.cpu_core_ratio.value is None
    with pytest.raises(NotFound):
        of_host(database, "nobody", now)


def test_throughput_that_rises_speaks_for_the_moves(database: Database) -> None:
    now = batches.now_ns()
    replay(database, "04-pingpong", end_ns=now, stretch=30, throughput=lambda row: 1000 + 40 * row)
    view = of_service(database, now, from_="-2h")
    assert turns(view) == ["ok"]
    line = next(series.values for series in view.series if series.key == "throughput_per_s")
    assert [value for value in line if value is not None][-1] == pytest.approx(1000 + 40 * 102)


def test_throughput_that_stands_still_makes_a_service_sure_by_itself(database: Database) -> None:
    now = batches.now_ns()
    replay(database, "04-pingpong", end_ns=now, stretch=30, throughput=lambda _: 1000)
    view = of_service(database, now, from_="-2h")
    assert view.state == "crit"
