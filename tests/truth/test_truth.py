"""A small fleet whose truth is known, judged on its heat; and that the judge can say no."""

from __future__ import annotations

import copy
import json
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest

from faults.programs import shipped_agent
from faults.stage import NotHereError
from tierscope.domain.ledger.verdict import Word
from truth import fleet_laws
from truth.fleets import JudgedFleet, folder_of, run_fleet
from truth.programs import FleetPlan
from truth.rows_states import NOT_KNOWN, WORDS
from truth.scoring import Goal, holds, interval_of, judge
from truth.table import judge_all, observe, render

pytestmark = pytest.mark.running_clock

HOSTS = ("web-1", "web-3", "queue-1")
PLAN = FleetPlan(fleet_laws.choose_hosts(fleet_laws.read("default"), HOSTS), seed=11, hours=2, panel_every=4)


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> JudgedFleet:
    agent = shipped_agent()
    if agent is None:
        pytest.skip("no agent is compiled: make agent")
    try:
        return run_fleet(agent, PLAN, tmp_path_factory.mktemp("truth"), heat_only=True)
    except NotHereError as reason:
        pytest.skip(str(reason))


@pytest.mark.slow
def test_heat_of_a_fleet_is_told_as_it_is(fleet: JudgedFleet) -> None:
    rows = judge_all(observe(fleet, heat_only=True), heat_only=True)
    assert [row.row for row in rows if row.met is not True] == [], render(rows)
    assert all(row.n >= 15 for row in rows), render(rows)


@pytest.mark.slow
def test_a_wrong_truth_is_noticed(fleet: JudgedFleet) -> None:
    truth = copy.deepcopy(fleet.truth)
    for window in truth["windows"]:
        for kind in window["kinds"].values():
            kind["hot"], kind["cold"] = kind["cold"], kind["hot"]
    rows = judge_all(observe(replace(fleet, truth=truth), heat_only=True), heat_only=True)
    assert [row.met for row in rows] == [False, False, True], render(rows)


def test_a_fleet_that_was_judged_is_not_run_again(tmp_path: Path) -> None:
    kept = {"truth.json": {"windows": [], "hosts": []}, "answers.json": {"services": {}, "heat": []}}
    folder = folder_of(tmp_path, PLAN)
    folder.mkdir(parents=True)
    for name, document in kept.items():
        (folder / name).write_text(json.dumps(document), encoding="utf-8")
    read = run_fleet(Path("/nonexistent"), PLAN, folder)
    assert (read.truth, read.answers) == (kept["truth.json"], kept["answers.json"])
    assert folder_of(tmp_path, replace(PLAN, seed=12)) != folder
    assert folder_of(tmp_path, replace(PLAN, hours=3)).parent != folder.parent


@pytest.mark.parametrize(
    ("goal", "values", "met"),
    [
        (Goal("a", "share", 0.93), [1.0] * 20, True),
        (Goal("few speak for nothing", "share", 0.93), [0.0, 1.0, 1.0], True),
        (Goal("a", "share", 0.93), [1.0] * 70 + [0.0] * 30, False),
        (Goal("a", "share", 0.05, at_most=True), [1.0] * 30 + [0.0] * 70, False),
        (Goal("never", "share", 0.0, at_most=True), [0.0] * 100, True),
        (Goal("never", "share", 0.0, at_most=True), [0.0] * 100 + [1.0], False),
        (Goal("a", "median", 0.02), [0.01] * 10 + [0.5] * 9, True),
        (Goal("a", "median", 0.02), [0.03] * 30 + [0.01] * 5, False),
        (Goal("a", "told"), [0.3], None),
        (Goal("a", "share", 0.93), [], None),
    ],
)
def test_a_row_is_not_met_only_where_chance_is_excluded(goal: Goal, values: list[float], met: bool | None) -> None:  # noqa: FBT001 - the expected value
    assert judge(goal, values).met is met


def test_rows_show_what_they_rest_on() -> None:
    line = render([judge(Goal("heat", "share", 0.93), [1.0] * 9 + [0.0])]).splitlines()[-1]
    assert line == "| heat | 90.0 | 59.6 to 98.2 | 10 | at least 93% | yes |"


def test_a_figure_without_an_interval_claims_to_be_exact() -> None:
    assert interval_of({"value": 0.5, "interval": None}) == (0.5, 0.5)
    assert interval_of({"value": None, "interval": None}) is None
    assert interval_of({"value": 0.5, "interval": {"lo": 0.4, "hi": 0.7}}) == (0.4, 0.7)
    assert holds((0.4, 0.7), 0.7) == 1.0
    assert holds((0.4, 0.7), 0.8) == 0.0


def test_each_verdict_of_the_product_has_its_word() -> None:
    assert set(get_args(Word)) == {*WORDS, NOT_KNOWN}


def test_laws_of_chosen_hosts_hold_what_concerns_them() -> None:
    laws = tomllib.loads(PLAN.laws)
    assert {host["name"] for host in laws["host"]} == set(HOSTS)
    assert {service["name"] for service in laws["service"]} == {"web", "queue"}
    assert {incident["change"]["kind"] for incident in laws["incident"]} == {"leak"}


def test_hosts_are_repeated_without_incidents() -> None:
    laws = tomllib.loads(fleet_laws.read("alike"))
    names = {host["name"] for host in laws["host"]}
    assert len(names) == 9
    assert {"web-3-1", "web-3-3"} <= names
    assert {host["rack"] for host in laws["host"]} == {"r1", "r2", "r3"}
    assert "incident" not in laws
    assert len(laws["service"]) == 3
