"""A small fleet whose truth is known, judged on its heat; and that the judge can say no."""

from __future__ import annotations

import copy
import json
import tomllib
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import get_args

import pytest

from faults.programs import shipped_agent
from faults.stage import NotHereError
from tierscope.domain.ledger.verdict import Word
from tierscope.usecases.tco.scenario_documents import ScenarioDocument
from truth import fleet_laws
from truth.accounts import saving, scenario
from truth.advised import first_change, with_advice
from truth.experiments import HOUR_S, NOTHING, plan_experiments
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
            kind["hot"], kind["warm"], kind["cold"] = kind["cold"], kind["hot"], kind["warm"]
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


def test_faults_are_left_out_of_what_a_ratio_is_judged_by() -> None:
    kept, all_of_them = (
        {one["change"]["kind"] for one in tomllib.loads(text)["incident"]}
        for text in (fleet_laws.without_faults(fleet_laws.read("default")), fleet_laws.read("default"))
    )
    assert all_of_them - kept == fleet_laws.FAULTS
    assert {"ping_pong", "leak", "experiment"} <= kept


def test_experiments_are_those_of_the_laws_and_some_with_nothing_while_hosts_are_quiet() -> None:
    names = [f"host-{number}" for number in range(10)]
    hosts = [
        {"host": name, "rack": f"r{place % 2}", "dram_gib": 8, "slow_gib": 4, "settings": {}, "services": ["web"]}
        for place, name in enumerate(names)
    ]
    change = {
        "name": "a setting",
        "begin_unix_s": 20 * HOUR_S,
        "end_unix_s": 24 * HOUR_S,
        "hosts": names[::2],
        "controls": names[1::2],
        "service": "web",
        "change": {"kind": "experiment"},
    }
    truth = {"start_unix_s": 0, "hosts": hosts, "incidents": [change]}
    assert [what for _, _, what in plan_experiments(truth, 23 * HOUR_S)].count("a setting") == 0, "it is not over"
    (service, first, what), *rest = plan_experiments(truth, 36 * HOUR_S)
    assert (service, what, first.before_unix_s, first.end_unix_s) == ("web", "a setting", 14 * HOUR_S, 24 * HOUR_S)
    assert all(one.end_unix_s <= 14 * HOUR_S or one.before_unix_s >= 28 * HOUR_S for _, one, _ in rest)
    assert {what for _, _, what in rest} == set(NOTHING)
    spans = sorted((one.before_unix_s, one.end_unix_s) for one in (first, *(one for _, one, _ in rest)))
    assert all(end <= begin for (_, end), (begin, _) in pairwise(spans)), "no host is in two at a time"
    by_rack = next(one for _, one, what in rest if what == NOTHING[1])
    assert (len(by_rack.canary), len(by_rack.control)) == (5, 5)


def test_accounts_of_the_judge_are_those_of_the_scenario_that_it_asks_about() -> None:
    assert saving(100.0, 1.0, 0.0) == 0.0
    # 50 GB of CXL memory in place of DRAM: 200 dollars less, a controller of 500 and 15 W more, over five years.
    assert saving(100.0, 0.5, 0.0) == pytest.approx((200.0 - 500.0) / 5.0 - 15.0 * 1.5 * 8.76 * 0.09)
    assert saving(100.0, 0.5, 0.1) < saving(100.0, 0.5, 0.0)
    document = ScenarioDocument.model_validate(scenario("s1", 512.0, 2 / 3))
    option = document.options[0]
    assert option.cxl is not None
    assert option.dram_gb + option.cxl.gb == pytest.approx(document.baseline.dram_gb)


def test_advised_settings_become_experiments_that_the_twin_can_run() -> None:
    demotion = {"path": "/sys/kernel/mm/numa/demotion_enabled", "proposed": "1"}
    balancing = {"path": "/proc/sys/kernel/numa_balancing", "proposed": "2"}
    unknown = {"rule": "F9", "changes": [{"path": "/proc/sys/vm/zone_reclaim_mode", "proposed": "0"}]}
    assert first_change([unknown, {"rule": "limits", "changes": []}]) is None, "it is no setting of the twin's"
    change = first_change([unknown, {"rule": "F1", "changes": [demotion, balancing]}])
    assert change == {"demotion_enabled": "true", "numa_balancing": "2"}
    laws = tomllib.loads(with_advice(PLAN.laws, {"web-3": change}, 24, "advised for "))
    added = laws["incident"][-1]
    assert (added["name"], added["hosts"], added["end_h"]) == ("advised for web-3", ["web-3"], 24.0)
    assert added["change"]["set"] == {"demotion_enabled": True, "numa_balancing": 2}
