"""Ratio advice as read: page samples give an answer with its grade and evidence; only none at all is refused."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import Engine, event

from factories import batches
from factories.batches import MINUTE_NS
from factories.derived import drain
from factories.installations import Enrolled, store
from factories.ratio_services import GIB, now, send_history, this_hour
from fixtures.elsewhere import long
from fixtures.histories import Histories
from tierscope.core.database import Database
from tierscope.core.errors import NotFound
from tierscope.core.settings import Settings
from tierscope.domain.ingest.arrival import Clocks
from tierscope.domain.knobs.facts import INTERLEAVE
from tierscope.usecases.base.context import ReadContext
from tierscope.usecases.base.subjects import service_named
from tierscope.usecases.knobs.reads import KnobReads
from tierscope.usecases.ratio.answers import Ratio
from tierscope.usecases.ratio.hardware import KnownMemory
from tierscope.usecases.ratio.reads import RatioReads
from tierscope.usecases.sensitivity.objectives import ObjectiveReads
from tierscope.usecases.slowdown.points import SlowdownPointRequest, SlowdownPoints

pytestmark = pytest.mark.parametrize("storage_mode", ["native"], indirect=True)


def service_of(database: Database) -> str:
    return service_named(database, "demo/cache")


def read(database: Database, *, memory: KnownMemory | None = None, **options: object) -> Ratio:
    reads = RatioReads(ReadContext(database, now, Settings(_env_file=None)), memory=memory)
    asked: dict[str, Any] = {"loss_target": 0.05, "hold_hot": False, "growth": 0.0, "from_": None, "to": None}
    return reads.service(service_of(database), **{**asked, **options})


def check_parts(view: Ratio) -> None:
    """Parts add up to the DRAM of the likeliest ratio, and steps say by how much they narrow."""
    assert view.range is not None
    narrowed = [step.narrows.narrowed_ratio for step in view.next_steps if step.narrows is not None]
    assert len(narrowed) == 2, "what a replay and a bench of bandwidth find cannot be foretold"
    assert narrowed == sorted(narrowed, reverse=True)
    assert narrowed[0] > 0.0
    parts = view.parts
    assert parts is not None
    assert (parts.name, parts.established_at) == (view.range.likely or view.range.plausible, None)
    named = next(candidate for candidate in view.candidates if candidate.name == parts.name)
    assert parts.dram_bytes == pytest.approx(named.dram_bytes)
    assert sum(part.bytes or 0.0 for part in parts.parts) == pytest.approx(parts.dram_bytes)
    assert parts.hi_bytes == pytest.approx(view.range.safe_dram_ratio * 100 * GIB)
    by_name = {part.name: part.bytes for part in parts.parts}
    assert by_name["hot"] == pytest.approx(10 * GIB)
    assert by_name["moving"] is None, "no hot sets were compared"


def check_needed(view: Ratio) -> None:
    """Each end is the least share of the sweep that keeps the target, and no more than what is sold."""
    assert view.range is not None
    assert view.dram_needed is not None
    assert view.dram_needed.interval is not None
    assert view.sweep is not None
    needed, ends, sold = view.dram_needed, view.dram_needed.interval, view.range
    for end, losses, next_sold in (
        (ends.hi, view.sweep.loss_upper, sold.safe_dram_ratio),
        (needed.value, view.sweep.loss_median, sold.likely_dram_ratio),
        (ends.lo, view.sweep.loss_lower, sold.plausible_dram_ratio),
    ):
        kept = [x for x, loss in zip(view.sweep.dram_ratio, losses, strict=True) if loss <= view.loss_target]
        assert end == min(kept, default=1.0)
        assert end <= next_sold, "a ratio that is sold has no less"


def test_a_full_week_gives_a_range_with_its_evidence(histories: Histories) -> None:
    database, _ = histories.copy(send_history)
    view = read(database)
    assert view.refused == ()
    assert view.answer == "range"
    assert view.grade == "established"
    assert view.chosen is None
    names = [candidate.name for candidate in view.candidates]
    assert names == ["8:1", "4:1", "2:1", "1:1", "1:2", "1:4"]
    assert view.range is not None
    kept = [candidate.name for candidate in view.candidates if candidate.kept]
    assert view.range.safe == (kept[-1] if kept else None)
    assert set(view.alternatives) == set(kept)
    assert view.range.safe_dram_ratio >= view.range.likely_dram_ratio >= view.range.plausible_dram_ratio
    assert view.range.plausible is not None
    assert all(candidate.why_not for candidate in view.candidates if not candidate.kept)
    upper = [candidate.loss_upper.value or 0.0 for candidate in view.candidates]
    assert upper == sorted(upper)
    share = view.candidates[0].share_on_slow
    assert share.n_hosts == 3
    assert share.unit == "ratio"
    assert share.interval is not None
    assert share.interval.lo <= (share.value or 0.0) <= share.interval.hi
    assert share.interval.hi >= 1 - 8 / 9, "without a replay the bound is a placement that knows nothing of heat"
    figures = {named.metric: named.figure for named in view.evidence}
    assert figures["required_bytes_per_host"].value == pytest.approx(100 * GIB)
    assert figures["hot_bytes_per_host"].value == pytest.approx(10 * GIB)
    assert figures["days"].value == pytest.approx(8.0)
    assert figures["rho"].status == figures["demand_bytes_per_s"].status == "not_collected"
    assert view.candidates[0].dram_bytes == pytest.approx(view.candidates[0].dram_ratio * 100 * GIB)
    assert {item.name for item in view.assumptions} >= {"placement", "headroom", "rho", "exponent"}
    assert [item.name for item in view.sensitivity] == ["rho", "exponent", "growth"]
    assert view.expires_at is not None
    assert (view.expires_at - view.window.end).days == 14
    assert view.service_class.name is None
    assert view.range.plausible in view.sentence
    assert view.binding == ("loss",)
    assert sum(doubt.variance_ratio for doubt in view.uncertainty) == pytest.approx(1.0)
    assert [step.what for step in view.next_steps] == ["replay", "bandwidth", "ab_test", "bench"]
    check_parts(view)
    check_needed(view)
    assert [(kind.headline, kind.n_hosts, kind.answer) for kind in view.kinds] == [(True, 3, "range")]
    assert read(database, from_="-1h").range == view.range, "a week is read whatever the window asked for"
    grown = read(database, growth=0.5)
    more = [candidate.share_on_slow.value or 0.0 for candidate in grown.candidates]
    less = [candidate.share_on_slow.value or 0.0 for candidate in view.candidates]
    assert all(after > before for before, after in zip(less, more, strict=True)), "growth takes DRAM away"
    assert grown.headroom_ratio == pytest.approx(1 - 0.98 / 1.5)


def test_a_tighter_target_keeps_more_dram(histories: Histories) -> None:
    database, _ = histories.copy(send_history, days=2, spread=1.2)
    loose, tight, strict = (read(database, loss_target=target).range for target in (0.2, 0.02, 0.01))
    assert loose is not None
    assert tight is not None
    assert strict is not None, "latencies that were not measured widen the answer, and refuse none"
    assert strict.plausible_dram_ratio >= tight.plausible_dram_ratio >= loose.plausible_dram_ratio
    assert tight.likely_dram_ratio > loose.likely_dram_ratio


def test_hot_bytes_bind_those_who_ask_for_it(histories: Histories) -> None:
    database, _ = histories.copy(send_history)
    free, bound = read(database), read(database, hold_hot=True)
    assert (free.hold_hot, bound.hold_hot) == (False, True)
    assert free.range is not None
    assert bound.range is not None
    assert bound.range.plausible_dram_ratio >= max(free.range.plausible_dram_ratio, 0.11)
    assert [candidate.holds_hot for candidate in free.candidates] == [True] * 6


def test_owners_points_move_the_belief(histories: Histories) -> None:
    database, _ = histories.copy(send_history)
    before = read(database)
    assert before.posterior is not None
    points, service = SlowdownPoints(database), service_of(database)
    share = before.candidates[3].share_on_slow.value or 0.1
    points.create(
        service, SlowdownPointRequest(share, 0.0005, 0.0001, "ab_test", None, ""), actor="t", idempotency_key=None
    )
    points.create(
        service, SlowdownPointRequest(share, -0.001, 0.001, "ab_test", None, ""), actor="t", idempotency_key=None
    )
    after = read(database)
    assert [point.used for point in after.points] == [False, True]
    assert after.points[0].why_not is not None
    assert after.posterior is not None
    assert (after.posterior.points_used, before.posterior.points_used) == (1, 0)
    assert after.posterior.variance < before.posterior.variance
    assert after.posterior.at_share == pytest.approx(share)
    assert (after.candidates[3].loss_upper.value or 1) < (before.candidates[3].loss_upper.value or 0)


def send_stalls_and_benches(database: Database, hosts: Sequence[Enrolled]) -> None:
    """A third of all cycles waits for memory; the first host measured both its tiers, the others DRAM alone."""
    minutes = 30
    ends = [this_hour() - (minutes - 1 - minute) * MINUTE_NS for minute in range(minutes)]
    for place, host in enumerate(hosts):
        batch = batches.make_batch(host_id=host.id, seq=100, sealed_wall_ns=ends[-1])
        rows = [[3_000_000 * minute, 1_000_000 * minute] for minute in range(1, minutes + 1)]
        keys = ("host|memory_stall|cycles", "host|memory_stall|stall_cycles")
        batches.add_counters(batch, rows, ends_ns=ends, keys=keys)
        batches.add_inventory(batch)
        # Kinds of hosts by their memory: the first one is of another kind than all others.
        batch.inventory.nodes[0].memory_bytes = (64 if place == 0 else 128) * GIB
        for node, idle_ns in ((0, 100.0), (1, 250.0)) if place == 0 else ((0, 100.0),):
            bench = batch.inventory.benches.add(cpu_node=0, memory_node=node, measured_wall_ns=ends[-1])
            for name, value in (("idle_latency", idle_ns), ("read_bandwidth", 1e11)):
                bench.figures.add(name=name, median=value, p10=value, p90=value, repetitions=5)
        assert store(database, host, [batch], clocks=Clocks(ends[-1], None, None))
    drain(database, now() + timedelta(hours=2))


@long
def test_memory_stalls_and_latencies_of_other_hosts_narrow_the_range(histories: Histories) -> None:
    database, hosts = histories.copy(send_history, days=2, memory_bytes=(64 * GIB, 128 * GIB, 128 * GIB))
    before = read(database)
    send_stalls_and_benches(database, hosts)
    after = read(database)
    assert (before.points, after.answer) == ((), "range"), "a prediction takes the place of no measurement"
    (point,) = after.points
    assert (point.id, point.source, point.share_on_slow, point.used) == (None, "prediction", 1.0, True)
    # A third of the cycles, at 1.5 times the latency of DRAM more: half as long again.
    assert point.loss == pytest.approx(0.5 / 1.5, rel=0.01)
    rho = next(item.figure for item in after.evidence if item.metric == "rho")
    assert rho.value == pytest.approx(2.5)
    assert any("other hosts" in warning for warning in rho.warnings), "most hosts have no slow memory of their own"
    assert before.posterior is not None
    assert after.posterior is not None
    assert after.posterior.variance < before.posterior.variance
    assert "bench" not in {step.what for step in after.next_steps}
    assert "ab_test" in {step.what for step in after.next_steps}


@long
def test_inventories_are_taken_apart_once_and_new_ones_change_the_answer(histories: Histories) -> None:
    database, hosts = histories.copy(send_history, days=2, memory_bytes=(64 * GIB, 128 * GIB, 128 * GIB))
    memory = KnownMemory()
    first = read(database, memory=memory)
    send_stalls_and_benches(database, hosts)
    taken_apart: list[str] = []

    def hear(_c: object, _cursor: object, statement: str, *_: object) -> None:
        if "jsonb_path_query_first(body" in statement:
            taken_apart.append(statement)

    event.listen(Engine, "before_cursor_execute", hear)
    try:
        second = read(database, memory=memory)
        assert len(taken_apart) == 1, "those that are new"
        assert read(database, memory=memory) == second
        assert len(taken_apart) == 1, "none twice"
        assert read(database) == second
        assert len(taken_apart) == 2, "a process that begins knows none"
    finally:
        event.remove(Engine, "before_cursor_execute", hear)
    assert first.points != second.points


def send_bandwidth(database: Database, hosts: Sequence[Enrolled], *, used: float, device_gb_per_s: float) -> None:
    """Five hours in which this share of 100 GB/s flows at DRAM, and so much at a CXL device of 40 GB/s."""
    minutes = 300
    ends = [this_hour() - (minutes - 1 - minute) * MINUTE_NS for minute in range(minutes)]
    keys = (
        "host|cxl_pmu|read_bytes[cxl_pmu_mem0.0]",
        "host|cxl_pmu|write_bytes[cxl_pmu_mem0.0]",
        "node:0|uncore|read_bytes",
        "node:0|uncore|write_bytes",
    )
    flow = (device_gb_per_s * 60e9, 0.0, used * 60 * 100e9, 0.0)
    for host in hosts:
        batch = batches.make_batch(host_id=host.id, seq=100, sealed_wall_ns=ends[-1])
        rows = [[int(rate * minute) for rate in flow] for minute in range(1, minutes + 1)]
        batches.add_counters(batch, rows, ends_ns=ends, keys=keys)
        batches.add_inventory(batch)
        inventory = batch.inventory
        for node in inventory.nodes:
            inventory.tiers.add(rank=node.id, kernel_number=4 + 50 * node.id, nodes=[node.id])
            inventory.knobs.add(path=f"{INTERLEAVE}/node{node.id}", value="1")
        for number, best, idle_ns in ((0, 100e9, 100.0), (1, 40e9, 250.0)):
            bench = inventory.benches.add(cpu_node=0, memory_node=number, measured_wall_ns=ends[-1])
            bench.figures.add(name="idle_latency", median=idle_ns, p10=idle_ns, p90=idle_ns, repetitions=5)
            bench.figures.add(name="read_bandwidth", median=best, p10=best, p90=best, repetitions=5)
            for share, risen in ((0.1, 1.0), (0.8, 1.8), (1.0, 4.0)):
                bench.loaded.add(bandwidth_bytes_per_s=share * best, latency_ns=risen * idle_ns)
        assert store(database, host, [batch], clocks=Clocks(ends[-1], None, None))
    drain(database, now() + timedelta(hours=2))


@pytest.mark.parametrize(("used", "name"), [(0.9, "bandwidth"), (0.2, "latency")])
def test_ratio_objectives_and_interleave_say_the_same_of_what_limits_memory(
    histories: Histories, used: float, name: str
) -> None:
    database, hosts = histories.copy(send_history, hosts=1, days=1)
    send_bandwidth(database, hosts, used=used, device_gb_per_s=10.0)
    view = read(database)
    context = ReadContext(database, now, Settings(_env_file=None))
    objectives = ObjectiveReads(context).service(service_of(database), from_="-6h", to=None, max_points=10)
    advice = KnobReads(context).host(hosts[0].id, from_=None, to=None)
    service = view.service_class
    assert (service.name, service.grade) == (name, "good")
    assert (objectives.service_class.name, objectives.service_class.grade) == (name, "good")
    given = [piece for piece in advice.advice if piece.rule == "F9"]
    assert bool(given) == (name == "bandwidth")
    figures = {item.metric: item.figure for item in service.figures}
    assert figures["dram_utilisation"].value == pytest.approx(used, rel=0.01)
    assert figures["dram_utilisation"].interval is not None
    slow = figures["slow_utilisation"]
    assert slow.value == pytest.approx(0.25, rel=0.01)
    assert slow.value is not None
    assert slow.interval is not None
    assert slow.interval.lo <= slow.value <= slow.interval.hi
    assert slow.n_intervals
    assert figures["demand_bytes_per_s"].value == pytest.approx(used * 100e9 + 10e9, rel=0.01)
    assert "(uncore)" in service.why
    if given:
        evidence = {item.metric: item.value for item in given[0].evidence}
        assert evidence["DRAM bandwidth in use, 95th percentile"] == pytest.approx(used, rel=0.01)
        assert view.interleave is not None


@pytest.mark.parametrize(
    ("history", "grade", "steps"),
    [
        ({"hosts": 2}, "provisional", {"hosts"}),
        ({"hosts": 1, "days": 1}, "provisional", {"hosts", "time"}),
        pytest.param({"days": 6}, "provisional", {"time"}, marks=long),
        ({"intervals": 12, "hosts": 1, "days": 1}, "early", {"hosts", "time"}),
    ],
)
def test_thin_data_is_graded_and_told_what_would_firm_it_up(
    histories: Histories, history: dict[str, Any], grade: str, steps: set[str]
) -> None:
    database, _ = histories.copy(send_history, **history)
    view = read(database)
    assert (view.answer, view.grade) == ("range", grade)
    graded = {step.what for step in view.next_steps if step.raises_to is not None}
    assert graded == steps
    week = [step for step in view.next_steps if step.raises_to == "established"]
    assert all(step.by is not None for step in week)
    assert view.parts is None or view.parts.established_at is not None
    assert view.scope
    doubts = {doubt.source for doubt in view.uncertainty}
    assert ("hosts" in doubts) == ("hosts" in steps)
    assert ("days" in doubts) == ("time" in steps)


def test_ten_minutes_of_one_host_are_answered_for_this_host(histories: Histories) -> None:
    database, _ = histories.copy(send_history, hosts=1, days=1, intervals=10, interval_ns=MINUTE_NS)
    view = read(database)
    assert (view.answer, view.grade) == ("range", "early")
    assert "for this host" in view.scope
    assert "nights and weekends" in view.scope
    assert view.scope.startswith("10 minutes")


@long
def test_each_kind_of_host_has_its_own_answer(histories: Histories) -> None:
    database, _ = histories.copy(send_history, hosts=5, memory_bytes=(64 * GIB, 128 * GIB))
    view = read(database)
    assert view.answer == "range"
    assert [(kind.n_hosts, kind.headline, kind.answer) for kind in view.kinds] == [
        (3, True, "range"),
        (2, False, "range"),
    ]
    assert [kind.grade for kind in view.kinds] == ["established", "provisional"]
    assert view.kinds[0].dram_bytes != view.kinds[1].dram_bytes
    assert (view.kinds[0].sentence, view.kinds[0].range) == (view.sentence, view.range)


def test_an_own_measurement_on_bounds_narrows_the_range_and_remains_one(histories: Histories) -> None:
    database, _ = histories.copy(send_history)
    before = read(database)
    SlowdownPoints(database).create(
        service_of(database),
        SlowdownPointRequest(0.3, 0.003, 0.0005, "ab_test", None, ""),
        actor="t",
        idempotency_key=None,
    )
    after = read(database)
    assert after.answer == "range", "a static placement gives bounds, not advice"
    assert before.range is not None
    assert after.range is not None
    assert after.range.safe_dram_ratio < before.range.safe_dram_ratio
    assert after.uncertainty[0].source == "placement"
    assert "ab_test" not in {step.what for step in after.next_steps}


def test_too_few_accesses_are_refused_with_the_command_that_changes_that(histories: Histories) -> None:
    database, _ = histories.copy(send_history, days=2, pages=40, per_page=0.01)
    view = read(database)
    assert (view.answer, view.grade, view.range, view.candidates) == ("refused", None, None, ())
    assert "accesses" in view.refused[0]
    assert view.sentence.startswith("No ratio can be given")
    assert [step.command is not None for step in view.next_steps] == [True]


def test_no_data_at_all_is_refused(histories: Histories) -> None:
    database, _ = histories.copy(send_history, hosts=1, days=1)
    with database.write() as transaction:
        for table in ("traces", "heat_live", "heat"):
            transaction.connection.exec_driver_sql(f"DELETE FROM {table}")
    view = read(database)
    assert (view.answer, view.posterior, view.expires_at, view.dram_needed) == ("refused", None, None, None)
    assert view.leading.cold_in_dram_bytes.status == "not_collected"
    assert [step.what for step in view.next_steps] == ["page_samples"]
    assert "agent.toml" in (view.next_steps[0].command or "")
    with pytest.raises(NotFound):
        service_named(database, "demo/none")
