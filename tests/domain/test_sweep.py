"""What a sweep replays, what its results say, and how sure they are."""

import math

import numpy as np
import pytest

from tierscope.domain.simulate import Costs, SettingsError, TraceColumns, workload_columns
from tierscope.domain.simulate.bands import Bands, cut_bands, join_bands
from tierscope.domain.simulate.frontier import Point, Prices, cost_ratio, find_frontier
from tierscope.domain.simulate.knob_search import Tried, find_optimum
from tierscope.domain.simulate.sweep import (
    COST_SETTINGS,
    MACHINE_SETTINGS,
    MAX_RUNS,
    SweepRun,
    expand_sweep,
    full_settings,
    longest_first,
    split_settings,
)


def test_a_sweep_is_every_policy_at_every_share_and_every_combination_of_the_search() -> None:
    runs = expand_sweep(
        ["all-dram", "tpp", "hot_page_selection"],
        [0.5, 0.8],
        {"hot_threshold_ms": 500, "watermark_scale_factor": 20, "tier_move_us": 5},
        {"hot_threshold_ms": [250, 500], "demote_scale_factor": [100, 200, 400]},
    )
    assert [run.number for run in runs] == list(range(len(runs)))
    base = [(run.policy, run.dram_ratio) for run in runs if not run.searched]
    assert base == [
        ("all_dram", 1.0),
        ("tpp", 0.8),
        ("tpp", 0.5),
        ("hot_page_selection", 0.8),
        ("hot_page_selection", 0.5),
    ]
    tpp = [run.settings["demote_scale_factor"] for run in runs if run.policy == "tpp" and run.searched]
    assert tpp == [100, 400, 100, 400], "the default is the run as asked, once"
    hot = [run for run in runs if run.policy == "hot_page_selection" and run.searched]
    assert [run.settings["hot_threshold_ms"] for run in hot] == [250, 250]
    assert all(run.settings["watermark_scale_factor"] == 20 for run in runs if run.policy != "oracle")
    assert "tier_move_us" not in runs[-1].settings, "costs are of all runs"
    machine = hot[0].make_machine(1000, sampled_ratio=0.5)
    assert (machine.dram_pages, machine.watermark_scale_factor, machine.sampled_ratio) == (800, 20, 0.5)
    assert full_settings(hot[0])["hot_threshold_ms"] == 250
    assert full_settings(hot[0])["numa_balancing_promote_rate_limit_MBps"] == 65_536


def test_runs_that_take_longest_begin_first() -> None:
    runs = expand_sweep(["oracle", "tmo", "first_touch", "tpp", "numa_balancing", "swap_ssd"], [0.8, 0.2], {}, {})
    assert [(run.policy, run.dram_ratio) for run in longest_first(runs)] == [
        (policy, share)
        for policy in ("swap_ssd", "tmo", "numa_balancing", "tpp", "first_touch", "oracle")
        for share in (0.2, 0.8)
    ]


def test_watermarks_can_be_searched_under_any_policy_that_has_them() -> None:
    runs = expand_sweep(["first_touch", "all_dram", "oracle"], [0.5], {}, {"watermark_scale_factor": [10, 50]})
    assert [(run.policy, run.searched) for run in runs] == [
        ("first_touch", False),
        ("first_touch", True),
        ("all_dram", False),
        ("oracle", False),
    ]


@pytest.mark.parametrize(
    ("change", "cause"),
    [
        ({"policies": []}, "at least one policy"),
        ({"policies": ["lru"]}, "there is no policy 'lru'"),
        ({"policies": ["tpp", "TPP"]}, "named twice"),
        ({"shares": []}, "at least one DRAM share"),
        ({"shares": [1.5]}, "a DRAM share of 1.5"),
        ({"shares": [0.5, 0.5]}, "share is named twice"),
        ({"settings": {"hot_threshold_ms": 5}}, "nothing asked for has a setting 'hot_threshold_ms'"),
        ({"settings": {"demote_scale_factor": 0}}, "can be 1 to 10000"),
        ({"settings": {"watermark_scale_factor": 2501}}, "can be 0 to 2500"),
        ({"settings": {"exposed_ratio": 2}}, "can be 0 to 1"),
        ({"settings": {"tier_move_us": math.inf}}, "is no number"),
        ({"search": {"reserve_ratio": [0.1]}}, "'reserve_ratio' that can be searched"),
        ({"search": {"demote_scale_factor": []}}, "names no values"),
        ({"search": {"demote_scale_factor": [0]}}, "can be 1 to 10000"),
        ({"search": {"demote_scale_factor": list(range(1, MAX_RUNS + 2))}}, f"{MAX_RUNS} runs are the most"),
        (
            {"shares": [0.5, 0.6], "search": {"demote_scale_factor": list(range(1, MAX_RUNS))}},
            f"{MAX_RUNS} are the most",
        ),
    ],
)
def test_what_cannot_be_swept_is_refused_by_name(change: dict[str, object], cause: str) -> None:
    asked = {"policies": ["tpp"], "shares": [0.5], "settings": {}, "search": {}, **change}
    with pytest.raises(SettingsError, match=cause):
        expand_sweep(asked["policies"], asked["shares"], asked["settings"], asked["search"])  # type: ignore[arg-type]


def test_the_tables_of_shared_settings_are_those_that_are_taken() -> None:
    names = [setting.name for setting in (*MACHINE_SETTINGS, *COST_SETTINGS)]
    assert len(set(names)) == len(names)
    split = split_settings(["tpp"], {setting.name: setting.default for setting in (*MACHINE_SETTINGS, *COST_SETTINGS)})
    assert split.costs == Costs()
    assert all(setting.lowest <= setting.default <= setting.highest for setting in (*MACHINE_SETTINGS, *COST_SETTINGS))


def run_of(policy: str, share: float, **settings: float) -> SweepRun:
    return next(run for run in expand_sweep([policy], [share], settings, {}) if not run.searched)


def test_memory_costs_what_its_parts_cost() -> None:
    prices = Prices(slow_ratio=0.4, swap_ratio=0.05)
    assert cost_ratio(run_of("all_dram", 0.5), prices) == 1.0
    assert cost_ratio(run_of("tpp", 0.5), prices) == pytest.approx(0.5 + 0.5 * 0.4)
    assert cost_ratio(run_of("swap_zns", 0.5), prices) == pytest.approx(0.5 + 0.05)
    assert cost_ratio(run_of("tpp_tmo", 0.8, swap_ratio=2), prices) == pytest.approx(0.8 + 0.2 * 0.4 + 2 * 0.05)


def test_the_frontier_holds_what_nothing_beats() -> None:
    points = [
        Point(0, 1.0, 0.0),
        Point(1, 0.8, 0.02),
        Point(2, 0.8, 0.03),
        Point(3, 0.9, 0.02),  # dearer than 1 and no better
        Point(4, 0.7, None),
        Point(5, 0.6, 0.10),
        Point(6, 0.9, 0.01),
    ]
    assert [point.number for point in find_frontier(points)] == [5, 1, 6, 0]
    assert find_frontier([Point(0, 0.5, None)]) == []


def tried(number: int, threshold: float, loss: float | None, moves: float = 1.0) -> Tried:
    return Tried(number, {"hot_threshold_ms": threshold}, loss, moves)


def test_the_best_setting_loses_least_and_of_equals_moves_least() -> None:
    found = find_optimum(
        [
            tried(0, 100, 0.10),
            tried(1, 500, 0.0200, moves=9.0),
            tried(2, 1000, 0.0201, moves=2.0),
            tried(3, 2000, 0.0215),
            tried(4, 4000, 0.05),
            tried(5, 8000, None),
        ],
        ["hot_threshold_ms"],
    )
    assert found is not None
    assert found.best.number == 2
    assert (found.n_within, found.n) == (3, 5)
    assert found.spans == {"hot_threshold_ms": (500, 2000)}
    assert found.at_edge == ()


def test_an_optimum_at_the_edge_is_told_and_a_flat_one_has_no_edge() -> None:
    edge = find_optimum([tried(0, 100, 0.1), tried(1, 500, 0.05)], ["hot_threshold_ms"])
    assert edge is not None
    assert edge.at_edge == ("hot_threshold_ms",)
    flat = find_optimum([tried(0, 100, 0.05), tried(1, 500, 0.05)], ["hot_threshold_ms"])
    assert flat is not None
    assert (flat.at_edge, flat.spans) == ((), {"hot_threshold_ms": (100, 500)})
    assert find_optimum([tried(0, 100, None)], ["hot_threshold_ms"]) is None


def test_bands_hold_all_accesses_by_kind_and_first_use() -> None:
    columns = workload_columns("growth", seed=1, pages=2000, intervals=50)
    bands = cut_bands(columns, rows=10, most_columns=25)
    assert (bands.accesses.shape, bands.kinds) == ((10, 25), ("anon",) * 10)
    assert sum(bands.pages) == 2000
    assert np.nansum(bands.accesses) == columns.row_accesses.sum()
    assert np.isnan(bands.accesses[-1, 0]), "the newest pages are not there at the beginning"
    assert np.isfinite(bands.accesses[0]).all()
    few = join_bands(bands, rows=5, columns=7)
    assert few.accesses.shape == (5, 7)
    assert (few.intervals, sum(few.pages)) == (tuple(range(0, 50, 8)), 2000)
    assert np.nansum(few.accesses) == columns.row_accesses.sum()


def test_each_kind_has_a_band_of_its_own_and_joining_never_mixes_them() -> None:
    columns = TraceColumns(
        intervals=4,
        kinds=np.array([0] * 97 + [1, 2, 2]),
        units=np.ones(100, np.int64),
        first=np.zeros(100, np.int64),
        last=np.full(100, 3),
        row_interval=np.zeros(100, np.int64),
        row_page=np.arange(100),
        row_accesses=np.ones(100, np.int64),
        row_written=np.zeros(100, np.bool_),
    )
    bands = cut_bands(columns, rows=5)
    assert (bands.kinds[0], bands.kinds[-2:]) == ("anon", ("file", "tmpfs"))
    assert len(bands.kinds) <= 5
    assert bands.accesses[:, 1:].sum() == 0.0, "no access is zero, which is not absent"
    joined: Bands = join_bands(bands, rows=3, columns=1)
    assert joined.kinds == ("anon", "file", "tmpfs")
    assert joined.accesses[:, 0].tolist() == [97, 1, 2]
