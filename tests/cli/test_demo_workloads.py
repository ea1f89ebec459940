"""Workloads that `up --demo --workload` names: what is kept, refused, and given to the fleet."""

from pathlib import Path

import pytest
import typer

from cli.commands import call
from tierscope.cli.base.exits import BAD_USAGE
from tierscope.cli.base.instance import Instance
from tierscope.cli.instance.fleet import FleetLog, make_fleet
from tierscope.cli.instance.workloads import check_workloads, keep_workloads, kept_workloads
from tierscope.core.embedded.places import find_places
from tierscope.core.settings import Settings


@pytest.fixture
def instance(tmp_path: Path) -> Instance:
    """A demo that has never run."""
    places = find_places(tmp_path, demo=True)
    places.agent_state.mkdir(parents=True)
    return Instance(places=places, demo=True)


def test_names_are_taken_as_people_write_them_and_others_refused() -> None:
    assert check_workloads(["YCSB_A", "ycsb-a", "pmbench"]) == ("ycsb-a", "pmbench")
    for unknown in ("ycsb-z", "web1", ""):
        with pytest.raises(typer.Exit) as ended:
            check_workloads([unknown])
        assert ended.value.exit_code == BAD_USAGE
    refused = call("up", "--workload", "ycsb-a")
    assert (refused.status, "add --demo" in refused.stderr) == (BAD_USAGE, True)


def test_they_hold_for_later_starts_and_go_to_the_fleet(instance: Instance) -> None:
    assert kept_workloads(instance) == []
    keep_workloads(instance, ("ycsb-a", "pmbench"))
    fleet = make_fleet(
        instance, Path("/agent"), "http://127.0.0.1:1", log=FleetLog(instance.log), settings=Settings(_env_file=None)
    )
    words = " ".join(map(str, fleet.command))
    assert words.endswith("--workload ycsb-a --workload pmbench")


def test_a_fleet_that_is_there_keeps_its_workloads(instance: Instance) -> None:
    keep_workloads(instance, ("ycsb-a",))
    (instance.places.agent_state / "fleet.json").write_text("{}")
    keep_workloads(instance, ("ycsb-a",))
    with pytest.raises(typer.Exit):
        keep_workloads(instance, ("pmbench",))
    assert kept_workloads(instance) == ["ycsb-a"]
    (instance.places.agent_state / "workloads.json").write_text("damaged")
    assert kept_workloads(instance) == []
