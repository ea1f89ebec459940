"""`tierscope doctor` of a fleet on several servers: each is compared with the coordinator."""

import json
import os
from contextlib import closing
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import text

from cli.commands import call
from factories.node_fleets import node_away
from fixtures.elsewhere import long
from fixtures.servers import Template
from tierscope.core.clock import utc_now
from tierscope.core.database import Database
from tierscope.core.settings import Settings
from tierscope.storage.base.schema import downgrade
from tierscope.usecases.base.context import ReadContext
from tierscope.usecases.nodes.changes import NodeChanges
from tierscope.usecases.nodes.fleet import Nodes
from tierscope.usecases.nodes.watch import NodeWatch
from tierscope.usecases.operate.node_checks import check_nodes
from tierscope.usecases.operate.status import StatusReads

pytestmark = [pytest.mark.running_clock, pytest.mark.parametrize("storage_mode", ["native"], indirect=True)]


def found(fleet: Database) -> list[tuple[str, str]]:
    """Results and details of node n1, in order."""
    return [(check.result, check.detail) for check in check_nodes(fleet, utc_now) if check.name == "node n1"]


def test_the_command_names_each_node_and_what_it_runs(fleet: Database, tmp_path: Path) -> None:
    env = {name: value for name, value in os.environ.items() if not name.startswith("TIERSCOPE_")}
    env |= {"TIERSCOPE_DATA_DIR": str(tmp_path), "TIERSCOPE_DATABASE_URL": fleet.url}
    told = json.loads(call("doctor", "--json", env=env).stdout)["checks"]
    nodes = {check["name"]: check for check in told if check["name"].startswith("node ")}
    assert {name: check["result"] for name, check in nodes.items()} == {"node coordinator": "ok", "node n1": "ok"}
    assert "PostgreSQL" in nodes["node n1"]["detail"]
    assert "revision" in nodes["node n1"]["detail"]


def test_a_fleet_on_one_server_is_not_told_of_nodes(database_url: str) -> None:
    with closing(Database(database_url)) as database:
        assert check_nodes(database, utc_now) == []


def test_clocks_are_judged_by_what_the_round_trip_leaves_open(fleet: Database) -> None:
    def told(behind_s: float, trip_s: float) -> set[str]:
        begun: list[datetime] = []

        def clock() -> datetime:
            begun.append(utc_now())
            late = trip_s if len(begun) % 2 == 0 else 0.0
            return utc_now() - timedelta(seconds=behind_s) + timedelta(seconds=late)

        return {check.result for check in check_nodes(fleet, clock)}

    assert told(0, 0) == {"ok"}
    assert told(100, 0) == {"warning"}
    assert told(100, 250) == {"ok"}, "it may be as right as ours"


def test_what_differs_has_its_cause(template: Template, fleet: Database) -> None:
    url = next(node.url for node in Nodes(fleet).listed() if node.number == 1)
    with closing(Database(url)) as node, node.write() as transaction:
        transaction.execute(text("UPDATE installation SET value = 'other' WHERE key = 'node'"))
    assert ("failed", "the database there is other") in found(fleet)
    downgrade(url, "-1")
    assert any(result == "failed" and "this release needs" in detail for result, detail in found(fleet))
    watch = NodeWatch(Nodes(fleet))
    watch.look()
    assert watch.others == ["n1"]
    reads = StatusReads(ReadContext(fleet, utc_now, Settings(_env_file=None)), watch=watch)
    nodes = next(part for part in reads.status().components if part.name == "nodes")
    assert (nodes.status, "not of this release: n1" in nodes.detail) == ("degraded", True)
    with node_away(template, fleet, 1):
        ((result, detail),) = found(fleet)
        assert (result, detail.startswith("it does not answer")) == ("failed", True)
    with fleet.own_rows.write() as transaction:
        transaction.execute(text("DROP USER MAPPING FOR CURRENT_USER SERVER tierscope_node_1"))
    assert any("the coordinator cannot read it: user mapping" in detail for _, detail in found(fleet))


@long
def test_a_database_that_sorts_or_encodes_otherwise_is_named(template: Template, fleet: Database) -> None:
    made = {"n2": "ENCODING 'LATIN1' LOCALE 'C'", "n3": "LOCALE 'C' LOCALE_PROVIDER icu ICU_LOCALE 'en-US'"}
    try:
        for name, options in made.items():
            template.execute(f"CREATE DATABASE {name} TEMPLATE template0 {options}")
            NodeChanges(fleet).add(name, template.cluster.url(name), actor="test", storage="native")
        told = {check.name: (check.result, check.detail.split(":")[0]) for check in check_nodes(fleet, utc_now)}
        assert told["node n1"][0] == "ok"
        assert told["node n2"] == ("failed", "encoding LATIN1")
        assert told["node n3"][1].startswith("it sorts names by en-US")
    finally:
        fleet.close()
        for name in made:
            template.drop_database(name)
