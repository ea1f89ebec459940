"""A small fleet whose truth is known, judged on its heat; and that the judge can say no."""

import copy
import json
import tomllib
from dataclasses import replace
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any, get_args

import pytest

from faults.stage import NotHereError
from tierscope.domain.ledger.verdict import Word
from tierscope.usecases.tco.scenario_documents import ScenarioDocument
from truth import fleet_laws, rows_moves, rows_ratio, rows_saving, rows_settings
from truth.accounts import saving, scenario
from truth.advised import FIRST, TOGETHER, plans_of, with_advice
from truth.drawn import RANGES, draw_laws
from truth.experiments import HOUR_S, NOTHING, plan_experiments
from truth.fleets import JudgedFleet, folder_of, run_fleet
from truth.programs import FleetPlan
from truth.rows_states import NOT_KNOWN, WORDS
from truth.scoring import Goal, collect, holds, interval_of, judge
from truth.table import judge_all, observe, render

pytestmark = pytest.mark.running_clock

HOSTS = ("web-1", "web-3", "queue-1")
MOST_WIDTH_POINTS = 10.0
"""As the goal of the row says."""
PLAN = FleetPlan(fleet_laws.choose_hosts(fleet_laws.read("default"), HOSTS), seed=11, hours=2, panel_every=4)


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> JudgedFleet:
    try:
        return run_fleet(PLAN, tmp_path_factory.mktemp("truth"), asked="heat")
    except NotHereError as reason:
        pytest.skip(str(reason))


@pytest.mark.slow
def test_heat_of_a_fleet_is_told_as_it_is(fleet: JudgedFleet) -> None:
    rows = judge_all(observe(fleet, heat_only=True), heat_only=True)
    error, holding, width = rows
    assert (error.met, holding.met) in ((True, True), (True, None)), render(rows)
    # The median of so few widths is not known to a point: what it may be has to reach the goal.
    assert width.lo is not None, render(rows)
    assert width.lo <= MOST_WIDTH_POINTS, render(rows)
    assert all(row.n >= 15 for row in rows), render(rows)


@pytest.mark.slow
def test_a_wrong_truth_is_noticed(fleet: JudgedFleet) -> None:
    truth = copy.deepcopy(fleet.truth)
    for window in truth["windows"]:
        for kind in window["kinds"].values():
            kind["hot"], kind["warm"], kind["cold"] = kind["cold"], kind["hot"], kind["warm"]
    rows = judge_all(observe(replace(fleet, truth=truth), heat_only=True), heat_only=True)
    assert [row.met for row in rows[:2]] == [False, False], render(rows)
    assert rows[2] == judge_all(observe(fleet, heat_only=True), heat_only=True)[2], "a width asks no truth"


def test_a_fleet_that_was_judged_is_not_run_again(tmp_path: Path) -> None:
    kept = {"truth.json": {"windows": [], "hosts": []}, "answers.json": {"services": {}, "heat": []}}
    folder = folder_of(tmp_path, PLAN)
    folder.mkdir(parents=True)
    for name, document in kept.items():
        (folder / name).write_text(json.dumps(document), encoding="utf-8")
    read = run_fleet(PLAN, folder)
    assert (read.truth, read.answers) == (kept["truth.json"], kept["answers.json"])
    assert folder_of(tmp_path, replace(PLAN, seed=12)) != folder
    assert folder_of(tmp_path, replace(PLAN, hours=3)).parent != folder.parent


@pytest.mark.parametrize(
    ("goal", "values", "met"),
    [
        (Goal("a", "share", 0.93), [1.0] * 40, True),
        (Goal("few speak for nothing", "share", 0.93), [1.0] * 20, None),
        (Goal("few can speak against it", "share", 0.93), [0.0, 1.0, 1.0], False),
        (Goal("near is not there", "share", 0.93), [1.0] * 920 + [0.0] * 80, False),
        (Goal("a", "share", 0.05, at_most=True), [1.0] * 30 + [0.0] * 70, False),
        (Goal("never", "share", 0.0, at_most=True), [0.0] * 100, True),
        (Goal("never", "share", 0.0, at_most=True), [0.0] * 100 + [1.0], False),
        (Goal("a", "median", 0.02), [0.01] * 30 + [0.5] * 5, True),
        (Goal("wide", "median", 0.02), [0.01] * 10 + [0.5] * 9, None),
        (Goal("a", "median", 0.02), [0.03] * 30 + [0.01] * 25, False),
        (Goal("level", "share", 0.8, within=0.03), [1.0] * 820 + [0.0] * 180, True),
        (Goal("level", "share", 0.8, within=0.03), [1.0] * 840 + [0.0] * 160, False),
        (Goal("a", "count", 1.0, at_most=True, exposure=0.5), [0.0], None),
        (Goal("a", "count", 1.0, at_most=True, exposure=0.5), [0.0] * 20, True),
        (Goal("a", "told"), [0.3], None),
        (Goal("a", "share", 0.93), [], None),
    ],
)
def test_a_row_is_met_by_its_estimate_where_that_is_told_to_ten_points(
    goal: Goal,
    values: list[float],
    met: bool | None,  # noqa: FBT001 - the expected value
) -> None:
    assert judge(goal, values).met is met


@pytest.mark.parametrize(("until_h", "right"), [(4, 1.0), (12, 0.0)])
def test_an_alert_that_outlasts_its_state_is_wrong(until_h: int, right: float) -> None:
    """A state of three hours; the alert begins five minutes after it."""
    start_s = 1_764_000_000
    windows = [
        {
            "host": "web-1",
            "service": "web",
            "end_unix_s": start_s + 600 * (n + 1),
            "state": "futile_ping_pong" if n < 18 else "healthy",
        }
        for n in range(72)
    ]
    moments = [datetime.fromtimestamp(start_s + s, UTC).isoformat() for s in (300, until_h * HOUR_S)]
    fired = {"state": "firing", "from": moments[0], "to": moments[1]}
    told = {"kind": "host", "for_s": 180, "keep_s": 180, "coverage": 1.0, "spans": {"web-1": [fired]}}
    answers = {
        "start_s": start_s,
        "end_s": start_s + 12 * HOUR_S,
        "hosts": {},
        "alerts": {"ping-pong-ratio-high": told},
    }
    truth = {"windows": windows, "hosts": [{"host": "web-1"}], "incidents": []}
    observed = rows_moves.observe(JudgedFleet(PLAN, truth, answers, [], [], []))
    assert observed[rows_moves.RIGHT.format("ping-pong-ratio-high")] == [right]


def test_rows_show_what_they_rest_on() -> None:
    line = render([judge(Goal("heat", "share", 0.93), [1.0] * 9 + [0.0])]).splitlines()[-1]
    assert line == "| heat | 90.0 | 59.6 to 98.2 | 10 | at least 93% | **no** |"


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


@pytest.mark.parametrize("seed", range(1, 13))
def test_drawn_laws_lie_within_their_ranges(seed: int) -> None:
    text, ranges = draw_laws(seed, 24), tomllib.loads(RANGES.read_text(encoding="utf-8"))
    laws = tomllib.loads(text)
    assert text == draw_laws(seed, 24) != draw_laws(seed + 100, 24)
    assert len(laws["host"]) == ranges["fleet"]["hosts"]
    for place, name in (("dram", "dram"), ("cxl", "device")):
        for field in ("latency_ns", "bandwidth_gb_per_s"):
            low, high, *_ = ranges[name][field]
            assert low <= laws["memory"][place][field] <= high
    for service in laws["service"]:
        for share in ("memory_share", "access_share"):
            assert sum(population[share] for population in service["population"]) == pytest.approx(1.0)
        assert all(one["active_share"] + one.get("pass_share", 0.0) <= 1.0 for one in service["population"])
    assert {share["service"] for host in laws["host"] for share in host["services"]} == {
        service["name"] for service in laws["service"]
    }
    assert all(host["settings"] in laws["settings"] for host in laws["host"])


def test_advice_is_judged_by_the_bytes_that_it_names_and_by_its_source() -> None:
    def candidate(name: str, dram_gib: float) -> dict[str, object]:
        measured = {"method": "pebs"}
        return {
            "name": name,
            "dram_bytes": dram_gib * rows_ratio.GIB,
            "dram_ratio": dram_gib / 90.0,
            "share_on_slow": measured,
        }

    ratio: dict[str, object] = {
        "answer": "range",
        "chosen": None,
        "range": {"safe": "4:1", "plausible": "1:1"},
        "dram_needed": {"interval": {"lo": 0.7, "hi": 0.81}},
        "candidates": [candidate("8:1", 80.0), candidate("4:1", 72.0), candidate("2:1", 60.0)],
    }
    points = ((0.5, 0.2), (0.7, 0.04), (0.75, 0.0))
    losses = [{"service": "web", "dram_share": share, "loss_ratio": loss} for share, loss in points]
    truth = {"hosts": [{"host": "a", "services": ["web"], "dram_gib": 60, "slow_gib": 40}]}
    answers = {"services": {"web": {"ratio": {"0.02": ratio}}}}
    seen = rows_ratio.observe(JudgedFleet(PLAN, truth, answers, losses, [], []))
    # 72 of 100 GiB lose 2.4 %, and 72.5 would have kept 2 %.
    assert seen[rows_ratio.ABOVE] == [1.0]
    assert seen[rows_ratio.BEYOND_COUNTS] == pytest.approx([-0.005], abs=1e-3)
    assert seen[rows_ratio.BEYOND_BITS] == []
    assert seen[rows_ratio.WIDE] == [1.0], "4:1, 2:1 and 1:1"
    # From 63 to 72.9 of 100 GiB.
    assert [seen[row] for row in (rows_ratio.NEEDED_ABOVE, rows_ratio.NEEDED_HOLDS)] == [[0.0], [1.0]]
    assert seen[rows_ratio.NEEDED_COUNTS] == pytest.approx([0.004], abs=1e-3)
    assert seen[rows_ratio.NEEDED_WIDTH] == pytest.approx([0.099])
    ratio["dram_needed"] = {"interval": {"lo": 0.15, "hi": 0.75}}
    seen = rows_ratio.observe(JudgedFleet(PLAN, truth, answers, losses, [], []))
    assert [seen[row] for row in (rows_ratio.NEEDED_ABOVE, rows_ratio.NEEDED_HOLDS)] == [[1.0], [0.0]]
    assert seen[rows_ratio.NEEDED_WIDTH] == pytest.approx([0.675]), (
        "what is below the least that is judged is not known"
    )
    ratio["range"] = {"safe": None, "plausible": "8:1"}
    assert rows_ratio.observe(JudgedFleet(PLAN, truth, answers, losses, [], []))[rows_ratio.WIDE] == [0.0]


def test_drawn_fleets_are_of_all_kinds() -> None:
    fleets = [tomllib.loads(draw_laws(seed, 24)) for seed in range(1, 31)]
    kinds = {service["executable"] for laws in fleets for service in laws["service"]}
    assert kinds >= {"key_value", "skewed_cache", "jvm", "time_series", "oltp", "inference_cache"}
    own = {service["executable"] for service in tomllib.loads(fleet_laws.read("default"))["service"]}
    assert kinds & own, "services of the repository's laws are among them"
    assert {host["heat"]["source"] for laws in fleets for host in laws["host"]} == {"damon_pages", "abit_walk", "pebs"}
    assert {incident["change"]["kind"] for laws in fleets for incident in laws.get("incident", ())} >= fleet_laws.FAULTS


@pytest.mark.slow
def test_drawn_fleets_are_asked_about_sizes(tmp_path: Path) -> None:
    fleets = []
    for seed in (1, 2):
        plan = FleetPlan(draw_laws(seed, 3), seed, hours=3, panel_every=4)
        try:
            fleets.append(run_fleet(plan, tmp_path / str(seed), asked="sizes"))
        except NotHereError as reason:
            pytest.skip(str(reason))
    rows = {row.row: row for row in judge_all(collect(observe(fleet) for fleet in fleets))}
    assert rows[rows_ratio.ABOVE].n >= 9, render(list(rows.values()))
    assert rows[rows_saving.SUMS].value == 0.0, render(list(rows.values()))


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
    assert plans_of([unknown, {"rule": "limits", "changes": []}]) == [], "it is no setting of the twin's"
    ((what, change),) = plans_of([unknown, {"rule": "F1", "changes": [demotion, balancing]}])
    assert (what, change) == (FIRST, {"demotion_enabled": "true", "numa_balancing": "2"})
    laws = tomllib.loads(with_advice(PLAN.laws, {"web-3": change}, 24, "advised for "))
    added = laws["incident"][-1]
    assert (added["name"], added["hosts"], added["end_h"]) == ("advised for web-3", ["web-3"], 24.0)
    assert added["change"]["set"] == {"demotion_enabled": True, "numa_balancing": 2}


def test_each_pair_of_cards_and_the_whole_plan_are_tried_beside_the_first_card() -> None:
    paths = ("/proc/sys/kernel/numa_balancing", "/proc/sys/vm/watermark_scale_factor", "/proc/sys/vm/swappiness")
    cards = [{"rule": "F", "changes": [{"path": path, "proposed": "2"}]} for path in paths]
    assert [(what, len(sets)) for what, sets in plans_of(cards)] == [(FIRST, 1), *[(TOGETHER, 2)] * 3, (TOGETHER, 3)]
    assert [what for what, _ in plans_of(cards[:2])] == [FIRST, TOGETHER]


def test_settings_are_judged_by_what_they_cost_and_by_the_effect_that_was_stated() -> None:
    definition = "knobs.effect.share_of_hot_memory_served_from_DRAM/1"
    figure = {"definition": definition, "value": 0.8, "interval": {"lo": 0.7, "hi": 0.9}}
    change = {"path": "/proc/sys/kernel/numa_balancing", "proposed": "2"}
    told = {"advice": [{"rule": "F1", "changes": [change], "effect_figure": figure}]}

    def effect(plan: str, capacity: float, tail: float, hot: float) -> dict[str, Any]:
        changes = {"capacity_change_ratio": capacity, "p99_change_ratio": tail, "hot_in_dram": hot}
        return {"host": "h", "plan": plan, **changes}

    effects = [effect(FIRST, 0.05, -0.1, 0.85), effect(FIRST, -0.02, 0.06, 0.95), effect(TOGETHER, 0.0, 0.06, 0.8)]
    fleet = JudgedFleet(PLAN, {}, {"hosts": {"h": told}}, [], [], effects)
    seen = rows_settings.observe(fleet)
    assert seen[rows_settings.HARMS] == seen[rows_settings.HARMS_TAIL] == [0.0, 1.0]
    assert seen[rows_settings.GAINS] == seen[rows_settings.HOLDS] == [1.0, 0.0]
    assert seen[rows_settings.TOGETHER_HARMS] == [1.0]
