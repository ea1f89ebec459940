"""Rules, roll-ups, plans, retention and exports of a fleet on several servers are those of one."""

import json
import os
from contextlib import ExitStack, closing
from dataclasses import replace
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from sqlalchemy import text

from cli.commands import call
from factories import batches
from factories.derived import day_before, drain, marks, send_counters, to_ns
from factories.installations import enrol, store
from factories.node_fleets import gathered, node_away
from factories.populated import populate
from factories.services import running
from factories.watched import Watched, recording
from factories.workers import Worker
from fixtures.elsewhere import long
from fixtures.servers import Template
from tierscope.core.clock import utc_now
from tierscope.core.database import Database
from tierscope.core.settings import Settings
from tierscope.domain.alerts.rules import Rule, Scope
from tierscope.domain.base.jobs import JOBS, OF_THE_FLEET
from tierscope.storage.capacity.rows import days_made, read_days
from tierscope.usecases.alerts.rules import Rules
from tierscope.usecases.base.context import ReadContext
from tierscope.usecases.capacity.reads import CapacityReads
from tierscope.usecases.capacity.update import UpdateCapacity
from tierscope.usecases.knobs.advice_refresh import RefreshAdvice
from tierscope.usecases.nodes.fleet import Nodes
from tierscope.usecases.nodes.watch import NodeWatch
from tierscope.usecases.operate.retention import KeepPartitions
from tierscope.usecases.rebuild.by_node import AWAITED
from tierscope.usecases.rebuild.drain import DrainMarks
from tierscope.usecases.statistics.update import UpdateFleetStatistics

SERVERS = ("n1", "n2")

pytestmark = pytest.mark.parametrize("storage_mode", ["native"], indirect=True)
N_HOSTS = 6
MADE = ("alerts", "capacity_days", "fleet_sketches", "service_features")
"""Tables that workers fill from the whole fleet, compared without what differs from run to run."""
PLAN = {"skus": [{"name": "2s", "dram_slots": 16, "dimm_bytes": [64 << 30]}], "horizon_quarters": 1}
OWN_OF_A_RUN = {"id", "public_id", "made_at", "created_at", "refreshed_at", "recorded_at", "found_at", "group_id"}


def made(database: Database, tables: tuple[str, ...] = MADE) -> dict[str, list[str]]:
    """Rows of tables as text, in order, without numbers and times of the run that made them."""
    with database.read() as session:
        return {
            table: sorted(
                str({name: value for name, value in row.items() if name not in OWN_OF_A_RUN})
                for row in session.execute(text(f"SELECT * FROM {table}")).mappings()
            )
            for table in tables
        }


@long
def test_rules_and_what_workers_make_of_the_fleet_are_the_same(template: Template, fleet: Database) -> None:
    populate(fleet, n_hosts=N_HOSTS)
    watched = Watched(fleet, 40)
    keys, rows = recording("04-pingpong")
    hosts = [watched.enrol(f"busy-{number}") for number in range(N_HOSTS)]
    for rule in (
        Rule("host", "promoted_pages > 10/s", for_seconds=60),
        Rule("service", "promoted_pages > 10/s", scope=Scope("service"), for_seconds=60),
        Rule("fleet", "promoted_pages > 10/s", scope=Scope("fleet"), for_seconds=60),
    ):
        Rules(fleet).create(rule, actor="test")
    watched.evaluate(0.5)
    for number, host in enumerate(hosts):
        watched.send(host, keys, rows[number : number + 30])
    hour_ended = utc_now() + timedelta(hours=1)  # points of capacity come of whole hours
    with ExitStack() as ended:
        name = gathered(template, fleet)
        ended.callback(template.drop_database, name)
        one = ended.enter_context(closing(Database(template.cluster.url(name))))
        both = (watched, replace(watched, database=one))
        for side in both:
            side.start = watched.start
            side.evaluate(45)
            UpdateFleetStatistics(side.database, utc_now).run()
            drain(side.database, hour_ended)
            UpdateCapacity(side.database, lambda: hour_ended).run()
            RefreshAdvice(side.database, utc_now, Settings(_env_file=None)).run()
        several, expected = (side.changes() for side in both)
        assert sorted(map(str, several)) == sorted(map(str, expected))
        assert {change.rule for change in several} >= {"host", "service", "fleet"}
        assert made(fleet) == made(one)
        assert all(made(one).values())


def test_a_worker_takes_the_nodes_that_it_is_near_and_all_together_make_the_same(
    fleet: Database, database_url: str, redis_url: str, tmp_path: Path
) -> None:
    with closing(Database(database_url)) as one:
        for database in (fleet, one):
            for number in range(3):
                send_counters(database, enrol(database, name=f"h{number}"), day_before(), range(1, 121))
        worker = Worker(fleet.url, redis_url, tmp_path, TIERSCOPE_WORKER_NODES="[1]")
        try:
            worker.start()
            worker.wake("rebuild.drain")
            worker.until(lambda: 1 not in nodes_with_marks(fleet))
            assert nodes_with_marks(fleet) == {0, 2}
        finally:
            worker.kill()
        drain(fleet)
        assert marks(fleet) == []
        drain(one)
        assert rebuilt(one)["metrics_1d"]
        assert rebuilt(fleet) == rebuilt(one)


def rebuilt(database: Database) -> dict[str, list[str]]:
    """What workers made of counters, by the names of hosts: each server numbers hosts, layouts and trusts by itself."""
    tables = ("tier_moves", "metrics_10m", "metrics_1h", "metrics_1d")
    found = {}
    with database.read() as session:
        for table in tables:
            statement = text(f"SELECT h.name, t.* FROM {table} t JOIN hosts h ON h.id = t.host_id")
            found[table] = sorted(
                str({name: value for name, value in row.items() if not name.endswith(("_id", "built_at"))})
                for row in session.execute(statement).mappings()
            )
    return found


def nodes_with_marks(database: Database) -> set[int]:
    """Numbers of the nodes whose hosts wait for a worker."""
    with database.read() as session:
        rows = session.execute(text("SELECT DISTINCT subject_id >> 40 FROM marks WHERE kind = 'counters'"))
        return {int(node) for node in rows.scalars()}


def test_what_a_node_that_is_away_held_stands_as_it_did(template: Template, fleet: Database) -> None:
    watched = Watched(fleet, 40)
    keys, rows = recording("04-pingpong")
    hosts = [watched.enrol(f"busy-{number}") for number in range(3)]
    rule = Rule("host", "promoted_pages > 10/s", for_seconds=60)
    Rules(fleet).create(rule, actor="test")
    watched.evaluate(0.5)
    for host in hosts:
        watched.send(host, keys, rows[:20])
    watched.evaluate(19)
    before = watched.changes("host")
    assert [change.after for change in before] == ["firing"] * 3
    with node_away(template, fleet, 1):
        assert Nodes(fleet).on_each(lambda own: KeepPartitions(own, utc_now).run().made is not None) == [True, True]
        watched.evaluate(20)
        assert watched.changes("host") == before, "nobody knows what its hosts do"
    watched.evaluate(21)
    assert watched.changes("host") == before, "its states went on where they stood"
    for host in hosts:
        watched.send(host, keys, [rows[19]] * 8, first=20)
    watched.evaluate(30)
    assert [change.after for change in watched.changes("host")[len(before) :]] == ["resolved"] * 3


def test_what_is_made_of_all_hosts_waits_for_a_node_that_is_away(template: Template, fleet: Database) -> None:
    for number in range(3):
        send_counters(fleet, enrol(fleet, name=f"h{number}"), day_before(), range(1, 31))
    with node_away(template, fleet, 1):
        drain(fleet)
        waiting = {kind for kind, _, _ in marks(fleet)}
        assert waiting, "of the fleet"
        assert waiting <= {job.kind for job in OF_THE_FLEET}
        drain(fleet, utc_now() + AWAITED)
        assert marks(fleet) == []
    drain(fleet)
    with fleet.read() as session:
        hosts = session.execute(text("SELECT DISTINCT promoted_known FROM fleet_moves")).scalars().all()
    assert hosts == [3], "its own buckets ask for those of the fleet again"


def test_points_of_capacity_that_lack_a_node_say_so_and_are_made_again(template: Template, fleet: Database) -> None:
    day, begun = day_before(), utc_now()
    for number in range(3):
        host = enrol(fleet, name=f"h{number}")
        batch = batches.make_batch(host_id=host.id, sealed_wall_ns=to_ns(day + timedelta(days=1)))
        ends = [to_ns(day + timedelta(minutes=minute)) for minute in range(30, 24 * 60, 30)]
        memory = ("host|meminfo|MemAvailable", "host|meminfo|MemTotal")
        batches.add_counters(batch, [[1 << 30, 4 << 30]] * len(ends), ends_ns=ends, keys=memory)
        batches.add_inventory(batch)
        assert store(fleet, host, [batch])
    with fleet.write() as transaction:
        transaction.execute(text("""UPDATE hosts SET labels = '{"rack": "r1"}'"""))
    drain(fleet)
    reads = CapacityReads(ReadContext(fleet, utc_now, Settings(_env_file=None)))

    def update(seconds: int) -> tuple[int, float | None, str | None, list[str]]:
        """What is known after a run: hosts and bytes of the newest point, whether it is left out, and what is said."""
        UpdateCapacity(fleet, lambda: begun + timedelta(seconds=seconds)).run()
        with fleet.read() as session:
            (point,) = read_days(session, "host_group", "rack=r1", day, utc_now())
        (past,) = reads.forecast("host_group", "rack=r1", "resident", horizon_days=7).history
        notes = [note for note in reads.list("rack").notes if note.startswith("Points of")]
        return point.day.n_hosts, past.value, past.excluded, notes

    NodeWatch(Nodes(fleet)).look()  # counts hosts
    with node_away(template, fleet, 1):
        hosts, value, excluded, notes = update(0)
        assert (hosts, value, excluded, len(notes)) == (2, float(6 << 30), "node_away", 1)
        assert notes[0].startswith(f"Points of {day:%Y-%m-%d} lack the hosts of n1 (1 host, counted {begun:%Y-%m-}")
        assert update(1) == (hosts, value, excluded, notes), "it is not back"
    assert update(2) == (3, float(9 << 30), None, [])
    with fleet.read() as session:
        made_at = days_made(session, day, utc_now())[day]
    update(3)
    with fleet.read() as session:
        assert days_made(session, day, utc_now())[day] == made_at, "what lacks nothing stays"


def test_points_of_capacity_are_made_again_as_late_data_comes_to_any_server(fleet: Database) -> None:
    hosts = [enrol(fleet, name=f"h{number}") for number in range(3)]
    begun = utc_now()
    for number, host in enumerate(hosts):
        moment = begun + timedelta(seconds=number)
        send_counters(fleet, host, day_before(), range(1, 31))
        drain(fleet)
        UpdateCapacity(fleet, partial(lambda at: at, moment)).run()
        with fleet.read() as session:
            made_at = days_made(session, day_before(), utc_now())[day_before()]
        assert made_at == moment, host.identity.name


def test_who_works_for_the_fleet_leaves_open_buckets_to_the_servers_of_their_hosts(fleet: Database) -> None:
    hosts = [enrol(fleet, name=f"h{number}") for number in range(3)]
    for host in hosts:
        send_counters(fleet, host, day_before(), range(1, 31))
    of_hosts = tuple(job for job in JOBS if job not in OF_THE_FLEET)
    Nodes(fleet).on_each(lambda own: DrainMarks(own, utc_now, jobs=of_hosts).run())
    for host in hosts:
        send_counters(fleet, host, utc_now() - timedelta(minutes=3), (1, 2), seq=1)
    waiting = {kind for kind, _, _ in marks(fleet)}
    assert waiting >= {"counters", "fleet_moves"}
    done = DrainMarks(fleet, utc_now, jobs=OF_THE_FLEET).run()
    assert done.failures == {}
    assert done.buckets.keys() <= {job.kind for job in OF_THE_FLEET}
    assert done.buckets["fleet_moves"] > 0
    assert "counters" in {kind for kind, _, _ in marks(fleet)}


@long
def test_exports_and_plans_of_several_servers_are_those_of_one(
    template: Template, fleet: Database, tmp_path: Path
) -> None:
    token = populate(fleet, n_hosts=3).token
    # Points of capacity come of whole hours: the one that runs ends, whatever minute it is.
    hour_ended = utc_now() + timedelta(hours=1)
    drain(fleet, hour_ended)
    UpdateCapacity(fleet, lambda: hour_ended).run()
    with ExitStack() as ended:
        name = gathered(template, fleet)
        ended.callback(template.drop_database, name)
        tables, plans = [], []
        for number, url in enumerate((fleet.url, template.cluster.url(name))):
            chosen = {"database_url": url, "rate_limits": {"enabled": False}}
            _, client = ended.enter_context(running(Settings.model_validate(chosen)))
            folder = tmp_path / str(number)
            words = ("--from", str((utc_now() - timedelta(days=1)).date()), "--url", str(client.base_url), "--json")
            done = call("export", folder, *words, env={**os.environ, "TIERSCOPE_TOKEN": token})
            assert done.status == 0, done.stderr
            client.headers["Authorization"] = f"Bearer {token}"
            plans.append(client.post("/v1/capacity/plan", json=PLAN))
            files = sorted(json.loads((folder / "manifest.json").read_text(encoding="utf-8"))["files"])
            tables.append({file: pd.read_parquet(folder / file) for file in files})
        assert [plan.status_code for plan in plans] == [200, 200], plans[0].text
        assert plans[0].json() == plans[1].json()
        several, one = tables
        assert several.keys() == one.keys()
        assert len(one["lists/hosts.parquet"]) == 3
        for file, expected in one.items():
            pd.testing.assert_frame_equal(several[file], expected)


def test_an_export_without_a_node_says_so_and_is_not_complete(
    template: Template, fleet: Database, tmp_path: Path
) -> None:
    made = populate(fleet, n_hosts=2)
    # Complete at any hour, which yesterday is not in the first hours of a day.
    earlier = str((utc_now() - timedelta(days=2)).date())
    words = ("--from", earlier, "--to", earlier, "--json")
    env = {**os.environ, "TIERSCOPE_TOKEN": made.token}

    def export(*addressed: str) -> tuple[dict[str, Any], set[tuple[str, bool]], str]:
        done = call("export", tmp_path, *words, *addressed, env=env)
        assert done.status == 0, done.stderr
        files = json.loads((tmp_path / "manifest.json").read_text(encoding="utf-8"))["files"]
        days = {(file.split("/")[1].split("-")[0], told["complete"]) for file, told in files.items() if told["day"]}
        return json.loads(done.stdout), days, done.stderr

    settings = Settings.model_validate({"database_url": fleet.url, "rate_limits": {"enabled": False}})
    with running(settings) as (app, client):
        at = ("--url", str(client.base_url))
        watch = app.state.use_cases.node_watch
        with node_away(template, fleet, 1):
            watch.look()
            told, days, said = export(*at)
            assert (told["away"], "away are left out: n1" in said) == (["n1"], True)
            assert days == {("services", False), ("hosts", True)}, "what lacks hosts is asked again"
        watch.look()
        told, days, said = export(*at)
        assert (told["away"], told["kept"] > 0, said) == ([], True, "")
        assert days == {("services", True), ("hosts", True)}
