"""Experiments from the command line, of a service elsewhere."""

import json
from datetime import timedelta

import pytest
from typer.testing import CliRunner, Result

from factories.experiments import Fleet, make_fleet
from tierscope.cli.main import app
from tierscope.core.database import Database

pytestmark = pytest.mark.parametrize("storage_mode", ["native"], indirect=True)


@pytest.fixture
def fleet(asked: Database) -> Fleet:
    return make_fleet(asked, 10, hours=6)


def run(*words: str) -> Result:
    return CliRunner().invoke(app, ["experiments", *words])


def test_an_experiment_is_planned_started_shown_listed_and_ended(fleet: Fleet) -> None:
    planned = run("plan", "--service", fleet.service_id, "--json")
    assert planned.exit_code == 0, planned.output
    assert json.loads(planned.stdout)["like_hosts"] == 10
    assert "hosts in each arm find 5.0%" in run("plan", "--service", fleet.service_id).stdout
    times = ("--change-at", "-3h", "--before-from", "-6h")
    end_at = (fleet.now + timedelta(hours=2)).isoformat()
    words = ("--metric", "throughput_per_s:0.02", "--metric", "latency_p99_ns", "--canary-n", "5", "--seed", "1")
    started = run(
        "start", "swappiness 10", "--service", fleet.service_id, *words, *times, "--planned-end", end_at, "--json"
    )
    assert started.exit_code == 0, started.output
    made = json.loads(started.stdout)["experiment"]
    assert [(metric["metric"], metric["margin_ratio"]) for metric in made["metrics"]] == [
        ("throughput_per_s", 0.02),
        ("latency_p99_ns", 0.05),
    ]
    assert (made["state"], made["seed"], made["verdict"]) == ("running", 1, None)
    assert "no verdict yet" in run("show", made["id"]).stdout
    assert "swappiness 10" in run("list").stdout
    ended = json.loads(run("end", made["id"], "--json").stdout)
    assert (ended["state"], ended["frozen"]) == ("ended", True)
    assert json.loads(run("show", made["id"], "--json").stdout) == ended
    assert [item["id"] for item in json.loads(run("list", "--state", "ended", "--json").stdout)["items"]] == [
        made["id"]
    ]


def test_what_cannot_be_told_or_read_has_its_exit_status(fleet: Fleet) -> None:
    assert run("plan", "--service", fleet.service_id, "--metric", "cold_in_dram_bytes").exit_code == 3
    wrong = run("start", "x", "--service", fleet.service_id, "--metric", "load:much", "--planned-end", "now")
    assert wrong.exit_code == 2
    assert "There are no experiments." in run("list").stdout
