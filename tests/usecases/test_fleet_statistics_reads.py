"""Fleet statistics from samples to answer: groups of peer hosts, outliers, changes beside events, look-alikes."""

from collections.abc import Mapping
from datetime import datetime, timedelta

import numpy as np
import pytest
from sqlalchemy import text

from cli.commands import call
from factories.derived import dump
from factories.experiments import Fleet, full_hour, make_fleet
from tierscope.core.database import Database
from tierscope.core.errors import BadRequest, NotFound
from tierscope.domain.statistics import Quantiles
from tierscope.storage.statistics.rows import SketchRow, ensure_groups, replace_sketches, store_features, try_lock
from tierscope.usecases.fleet.events import EventRequest, Events
from tierscope.usecases.statistics.machines import KnownMachines
from tierscope.usecases.statistics.network import NetworkReads
from tierscope.usecases.statistics.reads import FleetStatisticsReads
from tierscope.usecases.statistics.update import UpdateFleetStatistics, merge_hours

pytestmark = pytest.mark.parametrize("storage_mode", ["native"], indirect=True)
MADE = ("fleet_sketches", "fleet_changes")
ASKED: Mapping[str, str | None] = {"service": None, "metric": None, "from_": "-24h", "to": None}


def update(database: Database, fleet: Fleet) -> None:
    """Make all that is due a quarter of an hour after the end of the data."""
    at = fleet.now + timedelta(minutes=15)
    while UpdateFleetStatistics(database, lambda: at).run().hours:
        pass


def reads(database: Database, fleet: Fleet) -> FleetStatisticsReads:
    return FleetStatisticsReads(fleet.context(database, at=fleet.now + timedelta(minutes=15)))


def test_groups_are_like_for_like_with_quantiles_over_host_hours(database: Database) -> None:
    fleet = make_fleet(database, 12, hours=5, kernels=("6.8.0-41", "6.8.1-2", "6.1.0-9"))
    update(database, fleet)
    found = reads(database, fleet).statistics(**ASKED)
    assert found.missing is None
    assert [(group.key.kernel, group.key.ratio, group.n_hosts) for group in found.groups] == [
        ("6.8", "1:0", 8),
        ("6.1", "1:0", 4),
    ]
    metrics = {metric.metric: metric for metric in found.groups[0].metrics}
    assert set(metrics) == {
        "throughput_per_s",
        "latency_p99_ns",
        "promoted_pages_per_s",
        "demoted_pages_per_s",
        "tier_move_core_ratio",
    }
    promoted = metrics["promoted_pages_per_s"]
    assert (promoted.n, promoted.source, promoted.unit) == (8 * 5, "raw", "pages_per_s")
    assert promoted.quantiles.p50 == pytest.approx(100)
    small = {metric.metric: metric for metric in found.groups[1].metrics}["throughput_per_s"]
    assert small.shrunk is not None
    assert small.shrunk.weight == pytest.approx(4 / 9)
    assert small.shrunk.value == pytest.approx(small.shrunk.own * 4 / 9 + small.shrunk.parent * 5 / 9)
    only = reads(database, fleet).statistics(**{**ASKED, "service": fleet.service_id, "metric": "latency_p99_ns"})
    assert {metric.metric for group in only.groups for metric in group.metrics} == {"latency_p99_ns"}


def test_making_them_again_changes_nothing_and_one_process_makes_them(database: Database) -> None:
    fleet = make_fleet(database, 3, hours=2)
    update(database, fleet)
    before = dump(database, MADE)
    with database.read() as session:
        # Just after midnight a whole day is there as well.
        hours = session.execute(text("SELECT count(*) FROM fleet_sketches WHERE hours = 1")).scalar_one()
    assert hours == 4
    update(database, fleet)
    assert dump(database, MADE) == before
    with database.write() as transaction:
        transaction.execute(text("DELETE FROM fleet_sketches"))
    with database.write() as holder:
        assert try_lock(holder)
        update(database, fleet)
    assert dump(database, MADE)["fleet_sketches"] == []
    update(database, fleet)
    assert dump(database, MADE)["fleet_sketches"] == before["fleet_sketches"]


def test_a_host_that_stays_apart_for_three_hours_is_an_outlier(database: Database) -> None:
    start = full_hour()

    def factor(number: int, at: datetime) -> float:
        slow = number == 4 or (number == 7 and at < start - timedelta(hours=1))
        return 0.3 if slow else 1.0

    fleet = make_fleet(database, 12, hours=4, factor=factor)
    update(database, fleet)
    found = [item for item in reads(database, fleet).statistics(**ASKED).outliers if item.metric == "throughput_per_s"]
    assert [(item.host, item.windows) for item in found] == [("node-004", 3)]
    assert found[0].score < -3.5
    assert found[0].value < found[0].median


def test_a_change_of_level_is_found_beside_the_deploy_that_made_it(database: Database) -> None:
    change_at = full_hour() - timedelta(hours=7)

    def factor(_number: int, at: datetime) -> float:
        return 1.0 if at < change_at else 0.6

    fleet = make_fleet(database, 4, hours=18, factor=factor)
    events = Events(database, clock=lambda: fleet.now)
    for number, minutes in enumerate((-8, -50)):
        at = change_at + timedelta(minutes=minutes)
        new = EventRequest("deploy", f"release {number}", at, None, fleet.service_id)
        events.create(new, actor="ann", idempotency_key=None)
    update(database, fleet)
    changes = reads(database, fleet).statistics(**{**ASKED, "metric": "latency_p99_ns"}).changes
    assert [(change.direction, change.found_by) for change in changes] == [("rise", "pelt")]
    change = changes[0]
    assert abs(change.at - change_at.timestamp()) <= 600
    assert [event.text for event in change.matched] == ["release 0"]
    assert change.before == pytest.approx(5e6, rel=0.05)
    assert change.after == pytest.approx(5e6 / 0.6, rel=0.05)


def test_many_values_become_sketches_that_merge_over_hours_and_days(database: Database) -> None:
    fleet = make_fleet(database, 1, hours=1)
    random = np.random.default_rng(3)
    day = full_hour().replace(hour=0) - timedelta(days=2)  # its late data have had their time
    with database.write() as transaction:
        service = transaction.execute(text("SELECT id FROM services")).scalar_one()
        group = next(iter(ensure_groups(transaction, [(service, None)]).values()))
        rows = []
        for hour in range(24):
            values = Quantiles.of(random.lognormal(0, 1, 3000)).to_bytes()
            start = day + timedelta(hours=hour)
            rows.append(SketchRow(group, start, 1, 3000, ("hot_ratio",), (values,), (float("nan"),) * 6, {}))
            replace_sketches(transaction, start, 1, rows[-1:])
    merged = Quantiles.from_bytes(merge_hours(rows, day)[0].bodies[0])
    assert (merged.n, merged.is_exact) == (72_000, False)
    assert merged.at(0.5) == pytest.approx(1.0, rel=0.06)
    update(database, fleet)
    with database.read() as session:
        stored = session.execute(text("SELECT bodies[1] FROM fleet_sketches WHERE hours = 24")).scalar_one()
    assert Quantiles.from_bytes(bytes(stored)).n == 72_000


def test_services_that_behave_alike_are_found_among_all(database: Database) -> None:
    fleet = make_fleet(database, 1, hours=1)
    random = np.random.default_rng(5)
    with database.write() as transaction:
        own = transaction.execute(text("SELECT id FROM services")).scalar_one()
        ids = [own]
        for number in range(11):
            statement = text(
                "INSERT INTO services (public_id, namespace, name, origin) VALUES (:id, 'demo', :id, 'live')"
                " RETURNING id"
            )
            ids.append(transaction.execute(statement, {"id": f"s{number}"}).scalar_one())
        rows = {}
        for number, service in enumerate(ids):
            level = 0.2 if number < 6 else 0.8
            features: dict[str, float | None] = {
                "hot_anon_ratio": level + float(random.normal(0, 0.02)),
                "hot_file_ratio": 1 - level + float(random.normal(0, 0.02)),
                "jaccard_10": None if number == 3 else level,
                "bandwidth_share": None,
            }
            rows[service] = (3, features)
        store_features(transaction, fleet.now, rows)
    found = reads(database, fleet).lookalikes(fleet.service_id)
    assert {member.name for member in found.members} == {"demo/s0", "demo/s1", "demo/s3", "demo/s4"}
    assert (found.n_hosts, found.missing) == (15, None)
    assert found.silhouette is not None
    assert found.silhouette > 0.3
    assert [member.distance for member in found.members] == sorted(member.distance for member in found.members)
    medians = {feature.key: feature.cluster_median for feature in found.features}
    assert medians["hot_anon_ratio"] == pytest.approx(0.2, abs=0.05)
    assert medians["bandwidth_share"] is None
    missing = reads(database, fleet).lookalikes("s2")
    assert missing.missing is None
    assert missing.cluster is not None


@pytest.mark.usefixtures("asked")
def test_rdma_on_one_side_alone_or_come_since_is_warned_of(database: Database) -> None:
    """The service runs on hosts of which half got SMC-R; another one on hosts that never had it."""
    fleet = make_fleet(database, 4, hours=2, devices=lambda number: ((), ("smc",)) if number < 2 else ((), ()))
    with database.write() as transaction:
        statement = text(
            "INSERT INTO services (public_id, namespace, name, origin) VALUES (:id, 'demo', :id, 'live') RETURNING id"
        )
        plain = transaction.execute(statement, {"id": "plain"}).scalar_one()
        own = transaction.execute(text("SELECT id FROM services WHERE name = 'cache'")).scalar_one()
        transaction.execute(
            text(
                "INSERT INTO host_services"
                " SELECT (jsonb_populate_record(s, jsonb_build_object('service_id', :plain))).*"
                " FROM host_services s JOIN hosts h ON h.id = s.host_id"
                " WHERE s.service_id = :own AND h.name IN ('node-002', 'node-003')"
            ),
            {"plain": plain, "own": own},
        )
        rows: dict[int, tuple[int, dict[str, float | None]]] = {}
        others = [transaction.execute(statement, {"id": f"s{number}"}).scalar_one() for number in range(8)]
        for place, service in enumerate([own, plain, *others]):
            share = 0.2 if place < 5 else 0.8
            rows[service] = (3, {"hot_anon_ratio": share, "hot_file_ratio": 1 - share})
        store_features(transaction, fleet.now, rows)
    asked = NetworkReads(fleet.context(database, at=fleet.now))
    window: Mapping[str, str | None] = {"from_": "-1h", "to": None, "other_from": None, "other_to": None}
    found = asked.compare(fleet.service_id, "plain", **window)
    assert found.effect == "sides_differ"
    assert found.side.with_rdma_ratio == 0.5
    assert found.other.with_rdma_ratio == 0.0
    assert "50% of the hosts of demo/cache and 0% of those of demo/plain" in found.warnings[-1]
    earlier = asked.compare(fleet.service_id, None, **{**window, "other_from": "-2h", "other_to": "-1h"})
    assert earlier.effect == "sides_differ"
    assert any("changed on node-000, node-001" in warning for warning in earlier.warnings)
    assert "this time" in earlier.warnings[-1]
    assert asked.compare("plain", None, **window).effect == "none"
    alike = reads(database, fleet).lookalikes(fleet.service_id)
    assert any("Confounder rdma_smc" in note and "demo/plain" in note for note in alike.notes)
    with pytest.raises(NotFound):
        asked.compare(fleet.service_id, "none", **window)
    done = call("network", "demo/cache", "demo/plain")
    assert done.status == 0, done.stderr
    assert "0% of those of demo/plain" in done.stdout
    assert "demo/cache, " in done.stdout


@pytest.mark.usefixtures("asked")
def test_peers_of_which_some_have_smc_are_warned_of(database: Database) -> None:
    """Of four peers one had SMC-R all the time; of four others, with an older kernel, all have it and two got it."""

    def devices(number: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
        if number % 2:
            return (("smc",), ("smc",)) if number > 4 else ((), ("smc",))
        return (("smc",), ("smc",)) if number == 0 else ((), ())

    fleet = make_fleet(database, 8, hours=2, kernels=("6.8.0-41", "6.1.0-9"), devices=devices)
    update(database, fleet)
    found = reads(database, fleet).statistics(**{**ASKED, "from_": "-75m"})
    by_kernel = {group.key.kernel: group.confounders for group in found.groups}
    [odd] = by_kernel["6.8"]
    assert "node-000 have RDMA or SMC-R, unlike the other peers" in odd
    [changed] = by_kernel["6.1"]
    assert "changed on node-001, node-003" in changed
    done = call("network", "demo/cache")
    assert "Peer hosts of demo/cache: Confounder rdma_smc: node-000 have" in done.stdout


def test_inventories_that_are_known_are_not_read_again(database: Database) -> None:
    fleet = make_fleet(database, 2, hours=1, devices=lambda number: ((), ("smc",) if number else ()))
    machines = KnownMachines()

    def devices() -> list[list[frozenset[str] | None]]:
        with database.read() as session:
            at_once = machines.at(session, fleet.now - timedelta(days=1), fleet.now - timedelta(hours=1), fleet.now)
        return [[machine.devices for _, machine in sorted(found.items())] for found in at_once]

    none, smc, rdma = frozenset[str](), frozenset({"smc"}), frozenset({"mlx5_0"})
    assert devices() == [[], [none, none], [none, smc]]
    with database.write() as transaction:
        changed = "UPDATE inventory SET body = body || CAST(:new AS jsonb)"
        transaction.execute(text(changed), {"new": '{"rdma_devices": ["mlx5_0"]}'})
    assert devices() == [[], [none, none], [none, smc]], "what an inventory says does not change"
    with database.write() as transaction:
        transaction.execute(
            text("INSERT INTO inventory SELECT host_id, :at, body FROM inventory WHERE host_id = 1 LIMIT 1"),
            {"at": fleet.now - timedelta(seconds=1)},
        )
    assert devices() == [[], [none, none], [rdma, smc]]


def test_without_statistics_the_answer_says_so(database: Database) -> None:
    fleet = make_fleet(database, 1, hours=1)
    found = reads(database, fleet).statistics(**ASKED)
    assert (found.groups, found.newest_hour) == ((), None)
    assert found.missing is not None
    assert found.missing.status == "not_enough_data"
    alone = reads(database, fleet).lookalikes(fleet.service_id)
    assert alone.missing is not None
    for wrong, error in (({"service": "none"}, NotFound), ({"metric": "luck"}, BadRequest)):
        with pytest.raises(error):
            reads(database, fleet).statistics(**{**ASKED, **wrong})
    with pytest.raises(NotFound):
        reads(database, fleet).lookalikes("none")
