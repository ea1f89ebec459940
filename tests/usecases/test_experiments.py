"""Experiments from start to frozen answer, on hosts with days of samples."""

from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from sqlalchemy import text

from factories.experiments import Fleet, full_hour, make_fleet
from fixtures.elsewhere import long
from fixtures.histories import Histories
from tierscope.core.database import Database
from tierscope.core.errors import BadRequest, Conflict, NotFound, Unprocessable
from tierscope.storage.fleet.hosts import HostFilter, list_hosts
from tierscope.usecases.experiments.arms import draw_canary
from tierscope.usecases.experiments.reads import ExperimentReads
from tierscope.usecases.experiments.writes import ExperimentWrites, MetricRequest, NewExperiment
from tierscope.usecases.fleet.events import Events

pytestmark = pytest.mark.parametrize("storage_mode", ["native"], indirect=True)
HOURS = 18
AFTER = timedelta(hours=6)


def gain_of_six(number: int, at: datetime) -> float:
    """The first six hosts gain a tenth six hours before the end."""
    return 1.1 if number < 6 and at >= full_hour() - AFTER else 1.0


def drift_of_six(number: int, at: datetime) -> float:
    """They rise by a fifth six hours before the change."""
    return 1.2 if number < 6 and at >= full_hour() - 2 * AFTER else 1.0


def quiet(histories: Histories) -> tuple[Database, Fleet]:
    """Sixteen hosts that nobody changed."""
    return histories.copy(make_fleet, 16, hours=HOURS)


def gaining(histories: Histories) -> tuple[Database, Fleet]:
    """Sixteen hosts, six of which gained."""
    return histories.copy(make_fleet, 16, hours=HOURS, factor=gain_of_six)


def plan(fleet: Fleet, first: int, **changes: object) -> NewExperiment:
    """An experiment over all the data: the first hosts are canaries, the others controls."""
    new = NewExperiment(
        name="numa_balancing 2",
        service_id=fleet.service_id,
        advice_id=None,
        hypothesis="fewer misses on slow memory",
        metrics=(MetricRequest("throughput_per_s", None, 0.03), MetricRequest("latency_p99_ns", None, 0.03)),
        canary=tuple(fleet.ids[:first]),
        control=tuple(fleet.ids[first:]),
        canary_n=None,
        seed=None,
        before_from=fleet.now - timedelta(hours=HOURS),
        change_at=fleet.now - AFTER,
        settling_seconds=1800,
        planned_end=fleet.now,
    )
    return replace(new, **changes)  # type: ignore[arg-type]  # fields of the dataclass


def writes(database: Database, at: datetime) -> ExperimentWrites:
    return ExperimentWrites(database, clock=lambda: at)


def test_a_gain_is_shown_while_it_runs_and_judged_and_frozen_at_the_end(histories: Histories) -> None:
    database, fleet = gaining(histories)
    early = fleet.now - timedelta(hours=4)
    made = writes(database, early).create(plan(fleet, 6), actor="ann")
    running = made.experiment
    assert (running.state, running.verdict, running.metrics[0].verdict) == ("running", None, None)
    assert "Not final" in running.why
    assert running.metrics[0].effect.value == pytest.approx(0.10, abs=0.02)
    assert [(arm.arm, arm.n_with_data) for arm in running.arms] == [("canary", 6), ("control", 10)]
    after = fleet.now + timedelta(minutes=20)
    assert writes(database, after).freeze_due() == 1
    assert writes(database, after).freeze_due() == 0
    shown = ExperimentReads(fleet.context(database, at=after)).show(running.id, max_points=300)
    assert (shown.state, shown.frozen, shown.verdict) == ("ended", True, "improved")
    throughput, latency = shown.metrics
    assert (latency.verdict, latency.direction) == ("improved", "lower_is_better")
    interval = throughput.effect.interval
    assert interval is not None
    assert interval.lo > 0.05
    assert interval.lo <= 0.10 <= interval.hi
    assert throughput.p_adjusted is not None
    assert shown.trends.parallel is True
    assert shown.power.hosts_per_arm_needed is not None
    assert {line.key for line in throughput.series} == {"canary", "control"}
    assert len(throughput.series[0].values) == len(shown.axis.times)


@long
def test_hosts_that_nobody_changed_show_no_difference(histories: Histories) -> None:
    database, fleet = quiet(histories)
    made = writes(database, fleet.now).create(plan(fleet, 8), actor="ann")
    assert made.experiment.state == "ended"
    assert [metric.verdict for metric in made.experiment.metrics] == ["no_difference", "no_difference"]


def test_the_change_and_the_end_are_marked_on_the_charts_of_the_service(histories: Histories) -> None:
    database, fleet = quiet(histories)
    new = plan(fleet, 5, before_from=fleet.now - timedelta(hours=12), change_at=fleet.now - timedelta(hours=4))
    experiment = writes(database, fleet.now - timedelta(hours=1)).create(new, actor="ann").experiment
    ended = writes(database, fleet.now - timedelta(minutes=5)).end(experiment.id, actor="bob")
    again = writes(database, fleet.now).end(experiment.id, actor="bob")
    assert again == ended
    events = (
        Events(database).list(start=None, end=None, service=fleet.service_id, host=None, cursor=None, limit=10).items
    )
    assert [(event.kind, event.author) for event in events] == [("note", "bob"), ("knob", "ann")]
    assert events[1].at == new.change_at
    assert "numa_balancing 2" in events[0].text
    assert any("before its time" in note for note in ended.notes)


def test_too_few_canary_hosts_give_no_verdict(histories: Histories) -> None:
    database, fleet = gaining(histories)
    made = writes(database, fleet.now).create(plan(fleet, 4, control=tuple(fleet.ids[6:14])), actor="ann").experiment
    assert made.verdict == "inconclusive"
    assert "4 canary hosts" in made.why
    assert made.metrics[0].effect.status == "ok"


@long
def test_arms_that_part_before_the_change_give_no_verdict(histories: Histories) -> None:
    database, fleet = histories.copy(make_fleet, 16, hours=HOURS, factor=drift_of_six)
    made = writes(database, fleet.now).create(plan(fleet, 6), actor="ann").experiment
    assert (made.verdict, made.trends.parallel) == ("inconclusive", False)
    assert "parted before the change" in made.why


def test_arms_are_drawn_from_like_hosts_and_the_others_are_named(histories: Histories) -> None:
    kernels = ("6.8.0-41", "6.8.0-45", "6.8.1-3", "6.1.0-9")
    database, fleet = histories.copy(make_fleet, 14, hours=3, kernels=kernels)
    new = plan(
        fleet,
        5,
        canary=(),
        control=(),
        canary_n=5,
        seed=7,
        before_from=fleet.now - timedelta(hours=3),
        change_at=fleet.now - timedelta(hours=1),
    )
    drawn = writes(database, fleet.now).create(new, actor="ann")
    arms = {arm.arm: {host.host_id for host in arm.hosts} for arm in drawn.experiment.arms}
    assert (len(arms["canary"]), len(arms["control"]), drawn.experiment.seed) == (5, 6, 7)
    assert {item.name for item in drawn.excluded} == {"node-003", "node-007", "node-011"}
    assert all("kernel 6.1 instead of 6.8" in item.why for item in drawn.excluded)
    with pytest.raises(Unprocessable, match="it is in the experiment"):
        writes(database, fleet.now).create(new, actor="ann")
    with pytest.raises(Conflict, match="numa_balancing 2"):
        writes(database, fleet.now).create(plan(fleet, 5, change_at=new.change_at), actor="ann")


def test_named_arms_are_drawn_ones_only_with_the_seed_that_draws_them(histories: Histories) -> None:
    database, fleet = quiet(histories)
    with database.read() as session:
        hosts = list_hosts(session, wanted=HostFilter(service=fleet.service_id), after=None, limit=None)
    named = {host.id: host.public_id for host in hosts}
    canary, control = (tuple(named[host] for host in arm) for arm in draw_canary(hosts, 6, 11))
    asked = plan(fleet, 6, canary=canary, control=control)
    other = replace(asked, canary=control[:6], control=(*control[6:], *canary), seed=11)
    with pytest.raises(Unprocessable, match="draws other canary hosts"):
        writes(database, fleet.now).create(other, actor="ann")
    chosen = "The arms were named, not drawn at random"
    told = []
    for seed, hours in ((11, 6), (None, 3)):
        change_at = fleet.now - timedelta(hours=hours)
        ends = change_at + timedelta(hours=2)
        new = replace(asked, seed=seed, change_at=change_at, planned_end=ends)
        made = writes(database, fleet.now).create(new, actor="ann").experiment
        told.append((made.seed, any(note.startswith(chosen) for note in made.notes)))
    assert told == [(11, False), (None, True)]


def test_a_plan_says_how_many_hosts_an_effect_needs(histories: Histories) -> None:
    database, fleet = quiet(histories)
    reads = ExperimentReads(fleet.context(database))
    asked = {"metric": "throughput_per_s", "from_": "-24h", "to": None}
    found = reads.plan(fleet.service_id, effect_ratio=0.03, **asked)  # type: ignore[arg-type]  # its options
    assert (found.like_hosts, found.missing) == (16, None)
    assert found.spread_ratio.value == pytest.approx(0.08, abs=0.04)
    assert found.correlation is not None
    assert found.correlation > 0.9
    assert found.hosts_per_arm_needed is not None
    assert found.hosts_per_arm_needed <= 12
    small = reads.plan(fleet.service_id, effect_ratio=0.005, **asked)  # type: ignore[arg-type]
    assert small.hosts_per_arm_needed is not None
    assert small.hosts_per_arm_needed > found.hosts_per_arm_needed
    nothing = reads.plan(fleet.service_id, metric="cold_in_dram_bytes", effect_ratio=0.05, from_="-24h", to=None)
    assert (nothing.hosts_per_arm_needed, nothing.baseline.status) == (None, "not_enough_data")
    moves = reads.plan(fleet.service_id, metric="promoted_pages_per_s", effect_ratio=0.05, from_="-24h", to=None)
    assert moves.baseline.value == pytest.approx(100)
    assert moves.spread_ratio.status == "not_enough_data"
    counter = "service|metrics|throughput_total_milli"
    raw = reads.plan(fleet.service_id, metric=counter, effect_ratio=0.05, from_="-24h", to=None)
    assert raw.baseline.value == pytest.approx((found.baseline.value or 0) * 1000)


@pytest.mark.parametrize(
    ("change", "error", "says"),
    [
        ({"service_id": "none"}, NotFound, "no service"),
        ({"advice_id": "none"}, NotFound, "no advice"),
        ({"canary": ("none",)}, NotFound, "never found on host"),
        ({"metrics": (MetricRequest("luck", None, 0.05),)}, BadRequest, "no metric"),
        ({"metrics": (MetricRequest("load", None, 0.05),) * 2}, Unprocessable, "different metrics"),
        ({"settling_seconds": 86_400}, Unprocessable, "settling"),
        ({"control": ()}, Unprocessable, "control hosts"),
        ({"canary": (), "control": ()}, Unprocessable, "either name"),
        ({"canary_n": 3}, Unprocessable, "either name"),
    ],
)
def test_what_makes_no_experiment_is_refused(
    histories: Histories, change: dict[str, object], error: type[Exception], says: str
) -> None:
    database, fleet = quiet(histories)
    with pytest.raises(error, match=says):
        writes(database, fleet.now).create(plan(fleet, 1, **change), actor="ann")


def test_an_experiment_follows_advice_about_its_own_service_alone(histories: Histories) -> None:
    database, fleet = quiet(histories)
    with database.write() as transaction:
        statement = text(
            "WITH other AS (INSERT INTO services (public_id, namespace, name, origin)"
            " VALUES ('sother', 'b', 'other', 'live') RETURNING id)"
            " INSERT INTO advice (public_id, kind, key, service_id, title, body, status, expires_at)"
            " SELECT name, 'ratio', 'ratio', id, 't', '{}', 'open', now() + interval '1 day' FROM ("
            " SELECT 'theirs' AS name, id FROM other UNION ALL"
            " SELECT 'ours', id FROM services WHERE public_id = :service) AS made"
        )
        transaction.execute(statement, {"service": fleet.service_id})
    starts = writes(database, fleet.now)
    with pytest.raises(NotFound, match="no advice 'theirs' about this service"):
        starts.create(plan(fleet, 6, advice_id="theirs"), actor="ann")
    started = starts.create(plan(fleet, 6, advice_id="ours"), actor="ann")
    assert started.experiment.advice_id == "ours"


def test_the_list_is_by_state_and_newest_first(histories: Histories) -> None:
    database, fleet = quiet(histories)
    for number, ahead in enumerate((timedelta(hours=-1), timedelta(hours=1))):
        new = plan(
            fleet,
            1,
            name=f"e{number}",
            canary=(fleet.ids[2 * number],),
            control=(fleet.ids[2 * number + 1],),
            change_at=fleet.now + ahead,
            planned_end=fleet.now + timedelta(hours=3),
        )
        writes(database, fleet.now).create(new, actor="ann")
    reads = ExperimentReads(fleet.context(database))
    first = reads.list(service=None, state=None, limit=1, cursor=None)
    assert [item.name for item in first.items] == ["e1"]
    rest = reads.list(service=fleet.service_id, state=None, limit=5, cursor=first.next_cursor)
    assert [(item.name, item.state, item.n_canary) for item in rest.items] == [("e0", "running", 1)]
    assert [item.name for item in reads.list(service=None, state="planned", limit=9, cursor=None).items] == ["e1"]
    with pytest.raises(BadRequest):
        reads.list(service=None, state=None, limit=1, cursor="x")
    with pytest.raises(NotFound):
        reads.show("none", max_points=10)


def label_racks(database: Database, fleet: Fleet, racks: list[str]) -> None:
    with database.write() as transaction:
        for host, rack in zip(fleet.hosts, racks, strict=True):
            transaction.connection.exec_driver_sql(
                "UPDATE hosts SET labels = jsonb_build_object('rack', %s::text) WHERE public_id = %s", (rack, host.id)
            )


def test_arms_that_are_whole_racks_get_no_verdict(histories: Histories) -> None:
    database, fleet = quiet(histories)
    label_racks(database, fleet, ["r1"] * 8 + ["r2"] * 8)
    made = writes(database, fleet.now).create(plan(fleet, 8), actor="ann")
    assert {metric.verdict for metric in made.experiment.metrics} == {"inconclusive"}
    assert "whole racks" in (made.experiment.why or "")
    label_racks(database, fleet, ["r1", "r2"] * 8)
    mixed = ExperimentReads(fleet.context(database)).show(made.experiment.id, max_points=10)
    assert "whole racks" not in (mixed.why or "")


def test_drawn_arms_are_spread_over_racks(histories: Histories) -> None:
    database, fleet = quiet(histories)
    label_racks(database, fleet, ["r1"] * 8 + ["r2"] * 8)
    before = {"before_from": fleet.now - timedelta(hours=12), "change_at": fleet.now - timedelta(hours=4)}
    for seed in range(5):
        asked = plan(fleet, 0, canary=(), control=(), canary_n=6, seed=seed, name=f"seed {seed}", **before)
        made = writes(database, fleet.now).create(asked, actor="ann").experiment
        names = [host.name for arm in made.arms if arm.arm == "canary" for host in arm.hosts]
        assert sum(name < "node-008" for name in names) == 3
        with database.write() as transaction:
            transaction.connection.exec_driver_sql("DELETE FROM experiment_hosts")


def gain_beside_smc(number: int, at: datetime) -> float:
    """At the change canaries gain a twentieth, and hosts that get SMC two fifths."""
    if at < full_hour() - AFTER:
        return 1.0
    return (1.05 if number < 8 else 1.0) * (1.4 if gets_smc(number) else 1.0)


def gets_smc(number: int) -> bool:
    """Every third host."""
    return number % 3 == 0


def devices_of(number: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """RDMA devices at the begin and at the end."""
    return (("mlx5_0",), ("mlx5_0", "smc")) if gets_smc(number) else ((), ())


@long
def test_smc_that_came_to_some_hosts_is_a_named_confounder_and_a_covariate(histories: Histories) -> None:
    database, fleet = histories.copy(make_fleet, 18, hours=HOURS, factor=gain_beside_smc, devices=devices_of)
    shown = writes(database, fleet.now).create(plan(fleet, 8), actor="ann").experiment
    [warning] = [note for note in shown.notes if note.startswith("Confounder rdma_smc") and "changed" in note]
    assert "changed on 6 hosts, such as node-000" in warning
    assert "covariate" in warning
    assert any("38% of the canary hosts and 30% of the control hosts" in note for note in shown.notes)
    effect = shown.metrics[0].effect
    assert effect.value == pytest.approx(0.05, abs=0.03)
    assert effect.interval is not None
    # Left to itself the 40 % of six hosts would hide a change of 5 %.
    assert effect.interval.hi - effect.interval.lo < 0.1
