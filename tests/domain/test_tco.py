"""Costs of hosts: worked examples, a second computation, and laws that always hold."""

import math
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from factories.scenarios import exact, random_scenario, worked_example
from tierscope.domain.tco.analysis import find_break_evens, rank_inputs, saving_at
from tierscope.domain.tco.costs import wear_of
from tierscope.domain.tco.draws import CORRELATION, as_given, draw_shared, triangular
from tierscope.domain.tco.published import NOTABLE_SAVING, PUBLISHED_SAVINGS, default_price
from tierscope.domain.tco.results import OptionResult, evaluate
from tierscope.domain.tco.scenario import (
    Design,
    Expander,
    Finance,
    LogOdds,
    Range,
    Scenario,
    ScenarioError,
    SharedName,
    Swap,
    Zswap,
)

SEEDS = range(25)


def only_option(scenario: Scenario, *, draws: int = 1) -> OptionResult:
    return evaluate(scenario, draws=draws, seed=1).options[0]


def test_h1_the_cost_of_hosts_and_of_a_unit_of_work() -> None:
    answer = evaluate(worked_example(), draws=1, seed=1)
    base, option = answer.baseline.per_host, answer.options[0].per_host
    assert (round(base.capex, 6), round(base.watts, 6), round(base.annual, 5)) == (17_680.0, 115.2, 3672.23552)
    energy = next(part.annual for part in base.parts if part.name == "energy")
    assert round(energy, 5) == 136.23552
    assert (round(option.capex, 6), round(option.watts, 6), round(option.annual, 5)) == (16_444.0, 135.2, 3448.68752)
    assert round(option.annual_per_work, 6) == 3466.017608
    assert round(answer.options[0].saving_as_given, 6) == 206.217912
    assert round(answer.options[0].saving_ratio, 6) == 0.056156
    assert (answer.options[0].fleet.hosts, answer.options[0].fleet.extra_hosts) == (1006, 6)


def test_h1_break_even_points() -> None:
    found = {item.of: item for item in only_option(worked_example()).break_even}
    assert found["cxl_price"].value is not None
    assert round(found["cxl_price"].value, 6) == 8.007555
    assert found["loss"].value is not None
    assert round(found["loss"].value, 8) == 0.06087518
    assert (found["ddr4_price"].value, found["ddr4_price"].why) == (None, "neither host has such memory")


def test_h2_wear_of_a_swap_drive() -> None:
    price = 10_000.0 / 30_720.0
    inputs = exact({"dram": 10.0, "ssd": price, "waf_ssd": 2.0, "drive_years": 5.0})
    swap = Swap(zoned=False, gb=30_720.0, used_gb=0.0, swap_out_mb_per_s=Range.exactly(20.0), paid="wear")
    scenario = replace(worked_example(), inputs=inputs)
    worn = wear_of(swap, as_given(scenario), np.array([20.0]))
    per_tb = 10_000.0 / float(worn.drive_life_years[0]) / float(worn.written_tb_per_year[0]) / 2.0
    assert round(per_tb, 6) == 0.178368
    assert round(float(worn.drive_writes_per_day[0]), 4) == 0.1125
    option = replace(scenario.options[0], cxl=None, swap=swap)
    parts = {part.name: part for part in only_option(replace(scenario, options=(option,))).per_host.parts}
    assert round(parts["wear"].annual, 2) == 225.00
    assert parts["wear"].capex == 0.0
    assert "swap_drive" not in parts


def test_h3_capital_recovery() -> None:
    assert round(Finance(5.0, 0.08, "crf").factor(5.0), 6) == 0.250456
    assert Finance(5.0, 0.0, "crf").factor(5.0) == Finance(5.0, 0.08, "straight_line").factor(5.0) == 0.2


def test_h4_certain_inputs_give_the_same_in_every_draw() -> None:
    option = only_option(worked_example(), draws=2_000)
    spread = option.distribution
    assert spread.p10 == spread.p50 == spread.p90 == option.saving == option.saving_as_given
    assert (spread.p_positive, spread.bins[0].n, len(spread.bins)) == (1.0, 2_000, 1)
    assert option.tornado == ()


def recompute(design: Design, scenario: Scenario) -> tuple[float, float, float]:
    """Price, cost per year and cost per unit of work of a host, in plain numbers from the written formulas."""
    p = {name: item.value for name, item in scenario.inputs.items()}
    years, rate = scenario.finance.life_years, scenario.finance.discount_rate

    def yearly(price: float, life: float) -> float:
        if scenario.finance.method == "crf" and rate > 0:
            return price * rate / (1 - math.pow(1 + rate, -life))
        return price / life

    devices, watts = 0, design.sku.watts + design.dram_gb * p["dram_w_per_gb"]
    bought = design.sku.price + design.dram_gb * design.dram_price_ratio * p["dram"] + design.other_capex
    held = design.dram_gb
    if design.cxl:
        devices += design.cxl.devices
        bought += design.cxl.gb * p["cxl_media"]
        watts += design.cxl.gb * p["cxl_w_per_gb"]
        held += design.cxl.gb
    if design.ddr4_reused:
        devices += design.ddr4_reused.devices
        bought += design.ddr4_reused.gb * p["ddr4_reused"]
        watts += design.ddr4_reused.gb * p["ddr4_w_per_gb"]
        held += design.ddr4_reused.gb
    bought += devices * p["cxl_controller"]
    watts += devices * p["controller_w"]
    annual, capex = yearly(bought, years), bought
    if design.swap:
        held += design.swap.used_gb
        watts += design.swap.watts
        drive = design.swap.gb * p["ssd"]
        tb_a_year = design.swap.swap_out_mb_per_s.value * 86_400 * 365 / 1e6
        waf = p["waf_zns"] if design.swap.zoned else p["waf_ssd"]
        rated_tb = p["drive_writes_per_day"] * 365 * p["drive_years"] * design.swap.gb / 1000
        drives_a_year = tb_a_year * waf / p["waf_rated"] / rated_tb
        if design.swap.paid == "wear":
            annual += drive * drives_a_year
        else:
            capex += drive
            annual += yearly(drive, min(years, 1 / drives_a_year))
    annual += watts * 24 * 365 / 1000 * p["pue"] * p["electricity"]
    work = 1.0 - design.loss.value
    if design.zswap:
        held += design.zswap.pool_gb * (design.zswap.compression_ratio - 1)
        work *= 1 - design.zswap.cpu_ratio
    if design.credit == "more" and design is not scenario.baseline:
        work *= held / recomputed_memory(scenario.baseline)
    return capex, annual, annual / work


def recomputed_memory(design: Design) -> float:
    parts = [design.dram_gb, design.cxl.gb if design.cxl else 0.0, design.ddr4_reused.gb if design.ddr4_reused else 0.0]
    parts.append(design.swap.used_gb if design.swap else 0.0)
    if design.zswap:
        parts.append(design.zswap.pool_gb * design.zswap.compression_ratio - design.zswap.pool_gb)
    return sum(parts)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_second_computation_agrees(seed: int) -> None:
    scenario = random_scenario(seed)
    answer = evaluate(scenario, draws=1, seed=1)
    base = recompute(scenario.baseline, scenario)
    host = answer.baseline.per_host
    assert_allclose((host.capex, host.annual, host.annual_per_work), base, rtol=1e-9)
    for design, option in zip(scenario.options, answer.options, strict=True):
        found = recompute(design, scenario)
        host = option.per_host
        assert_allclose((host.capex, host.annual, host.annual_per_work), found, rtol=1e-9)
        assert_allclose(option.saving_as_given, base[2] - found[2], rtol=1e-9, atol=1e-6)
        assert_allclose(host.memory_gb, recomputed_memory(design), rtol=1e-12)
        needed = scenario.fleet.hosts * answer.baseline.per_host.work / host.work
        assert needed <= option.fleet.hosts < needed + 1.0 + 1e-6


@pytest.mark.parametrize("seed", SEEDS)
def test_parts_and_steps_add_up_and_nothing_counts_twice(seed: int) -> None:
    answer = evaluate(random_scenario(seed), draws=1, seed=1)
    for option in answer.options:
        host = option.per_host
        assert_allclose(sum(part.annual for part in host.parts), host.annual, rtol=1e-12)
        assert_allclose(sum(part.capex for part in host.parts), host.capex, rtol=1e-12)
        assert_allclose(sum(step.delta for step in option.waterfall), -option.saving_as_given, rtol=1e-9, atol=1e-6)
        names = [part.name for part in host.parts]
        assert len(set(names)) == len(names)
        assert not {"swap_drive", "wear"} <= set(names)
        assert_allclose(sum(year.annual for year in option.fleet.years), option.fleet.total, rtol=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_at_a_break_even_point_the_saving_is_zero(seed: int) -> None:
    scenario = random_scenario(seed)
    names: dict[str, SharedName] = {"cxl_price": "cxl_media", "ddr4_price": "ddr4_reused", "dram_price": "dram"}
    for option in scenario.options:
        for item in find_break_evens(scenario, option):
            if item.value is None:
                assert item.why
                continue
            if item.of == "loss":
                moved = replace(scenario, options=(replace(option, loss=Range.exactly(item.value)),))
                assert abs(only_option(moved).saving_as_given) < 1e-6
                continue
            apart = replace(scenario, linked=scenario.linked and item.of == "dram_price")
            assert abs(saving_at(apart, option, names[item.of], [item.value])[0]) < 1e-6


def test_break_even_points_are_found_in_most_random_scenarios() -> None:
    found = [
        item for seed in SEEDS for item in find_break_evens(random_scenario(seed), random_scenario(seed).options[0])
    ]
    assert sum(item.value is not None for item in found) > len(found) / 4
    assert any(item.why and "none in range" in item.why for item in found)


@pytest.mark.parametrize("seed", SEEDS)
def test_more_loss_and_dearer_parts_never_save_more(seed: int) -> None:
    scenario = random_scenario(seed)
    option = replace(scenario.options[0], cxl=Expander(300.0, 2), loss=Range.exactly(0.02))
    bare = replace(scenario.baseline, cxl=None, ddr4_reused=None)
    scenario = replace(scenario, baseline=bare, options=(option,), linked=False)
    savings = saving_at(scenario, option, "cxl_media", [1.0, 5.0, 30.0])
    assert savings[0] > savings[1] > savings[2]
    savings = saving_at(scenario, option, "cxl_controller", [0.0, 500.0, 5000.0])
    assert savings[0] > savings[1] > savings[2]
    losses = [replace(option, loss=Range.exactly(loss)) for loss in (0.0, 0.1, 0.5)]
    results = evaluate(replace(scenario, options=tuple(losses)), draws=1, seed=1).options
    assert results[0].saving > results[1].saving > results[2].saving
    assert results[0].fleet.hosts <= results[1].fleet.hosts <= results[2].fleet.hosts


@pytest.mark.parametrize("seed", range(10))
def test_another_unit_of_money_changes_no_ratio(seed: int) -> None:
    scenario = random_scenario(seed)
    money = ("dram", "cxl_media", "ddr4_reused", "cxl_controller", "ssd", "electricity")
    inputs = dict(scenario.inputs)
    for name in money:
        item = inputs[name]  # type: ignore[index]
        inputs[name] = Range(item.value * 150.0, item.low * 150.0, item.high * 150.0)  # type: ignore[index]

    def in_yen(design: Design) -> Design:
        sku = replace(design.sku, price=design.sku.price * 150.0)
        return replace(design, sku=sku, other_capex=design.other_capex * 150.0)

    yen = replace(
        scenario,
        currency="JPY",
        inputs=inputs,
        baseline=in_yen(scenario.baseline),
        options=tuple(in_yen(design) for design in scenario.options),
    )
    before, after = evaluate(scenario, draws=1_000, seed=5), evaluate(yen, draws=1_000, seed=5)
    for one, other in zip(before.options, after.options, strict=True):
        assert_allclose(other.saving, 150.0 * one.saving, rtol=1e-9, atol=1e-6)
        assert_allclose(other.saving_ratio, one.saving_ratio, rtol=1e-9, atol=1e-12)
        assert one.distribution is not None
        assert other.distribution is not None
        assert_allclose(other.distribution.p90, 150.0 * one.distribution.p90, rtol=1e-9, atol=1e-6)
        assert other.distribution.p_positive == one.distribution.p_positive


def test_more_memory_is_credited_once_and_only_where_asked() -> None:
    scenario = worked_example()
    option = replace(scenario.options[0], cxl=Expander(640.0, 1), loss=Range.exactly(0.0))
    same = only_option(replace(scenario, options=(option,)))
    more = only_option(replace(scenario, options=(replace(option, credit="more"),)))
    assert same.per_host.work == 1.0
    assert any("not credited" in warning for warning in same.warnings)
    assert more.per_host.work == 1.5
    assert more.fleet.hosts == 667
    assert more.per_host.annual == same.per_host.annual
    assert_allclose(more.per_host.annual_per_work, same.per_host.annual / 1.5)


def test_compression_adds_memory_and_takes_throughput() -> None:
    scenario = worked_example()
    option = replace(
        scenario.options[0], cxl=None, loss=Range.exactly(0.1), dram_gb=512.0, zswap=Zswap(128.0, 3.0, 0.05)
    )
    host = only_option(replace(scenario, options=(option,))).per_host
    assert host.memory_gb == 768.0
    assert_allclose(host.work, 0.9 * 0.95)
    with pytest.raises(ScenarioError, match="pool is part of DRAM"):
        replace(option, dram_gb=64.0)


def test_a_bought_drive_that_wears_out_early_is_bought_again() -> None:
    inputs = exact({"dram": 10.0, "ssd": 0.5, "waf_ssd": 2.0, "drive_years": 5.0})
    swap = Swap(zoned=False, gb=1000.0, used_gb=100.0, swap_out_mb_per_s=Range.exactly(50.0), paid="capex")
    scenario = replace(worked_example(), inputs=inputs)
    option = replace(scenario.options[0], cxl=None, swap=swap)
    result = only_option(replace(scenario, options=(option,)))
    part = next(part for part in result.per_host.parts if part.name == "swap_drive")
    years = 5.0 * 365.0 / (50.0 * 86_400 * 365 / 1e6 * 2.0)
    assert part.capex == 500.0
    assert_allclose(part.annual, 500.0 / years)
    assert any("it lasts 0.6 years" in warning for warning in result.warnings)
    idle = replace(option, swap=replace(swap, swap_out_mb_per_s=Range.exactly(0.0)))
    calm = only_option(replace(scenario, options=(idle,)))
    assert calm.per_host.endurance is not None
    assert calm.per_host.endurance.drive_life_years is None
    assert next(part.annual for part in calm.per_host.parts if part.name == "swap_drive") == 100.0


def test_growth_is_applied_year_by_year_in_whole_hosts() -> None:
    scenario = worked_example()
    grown = replace(scenario, fleet=replace(scenario.fleet, growth_per_year=0.1, years=3))
    years = only_option(grown).fleet.years
    assert [year.hosts for year in years] == [
        math.ceil(1000 / 0.995),
        math.ceil(1100 / 0.995),
        math.ceil(1210 / 0.995),
    ]
    crf = replace(grown, finance=Finance(5.0, 0.08, "crf"))
    fleet = only_option(crf).fleet
    assert fleet.present_value is not None
    assert_allclose(fleet.present_value, sum(year.annual / 1.08**year.year for year in fleet.years))
    assert only_option(grown).fleet.present_value is None


def test_the_tornado_is_sorted_and_leaves_out_what_does_not_matter() -> None:
    scenario = random_scenario(3)
    bars = rank_inputs(scenario, scenario.options[0])
    assert [bar.reach for bar in bars] == sorted((bar.reach for bar in bars), reverse=True)
    for bar in bars:
        if bar.input == "dram":
            ends = saving_at(scenario, scenario.options[0], "dram", [bar.low, bar.high])
            assert (bar.saving_low, bar.saving_high) == (ends[0], ends[1])
    bare = worked_example()
    loose = dict(bare.inputs)
    loose["ssd"] = Range(0.3, 0.1, 0.5)
    assert rank_inputs(replace(bare, inputs=loose), bare.options[0]) == ()


def test_draws_follow_their_distributions_and_their_correlation() -> None:
    scenario = worked_example()
    inputs = dict(scenario.inputs)
    inputs["dram"], inputs["cxl_media"] = Range(10.0, 7.0, 20.0), Range(4.0, 2.0, 9.0)
    cases = draw_shared(replace(scenario, inputs=inputs), draws=40_000, seed=7)
    dram, cxl = cases["dram"], cases["cxl_media"]
    assert_allclose(dram.mean(), (7.0 + 10.0 + 20.0) / 3.0, rtol=0.01)
    assert_allclose(dram.std(), math.sqrt((49 + 100 + 400 - 70 - 140 - 200) / 18.0), rtol=0.02)
    assert 7.0 <= dram.min() < 7.3
    assert 19.5 < dram.max() <= 20.0
    ranks = np.corrcoef(dram.argsort().argsort(), cxl.argsort().argsort())[0, 1]
    assert_allclose(ranks, 6.0 / math.pi * math.asin(CORRELATION / 2.0), atol=0.01)
    again = draw_shared(replace(scenario, inputs=inputs), draws=40_000, seed=7)
    assert np.array_equal(dram, again["dram"])
    linked = draw_shared(replace(scenario, inputs=inputs, linked=True), draws=100, seed=7)
    assert np.array_equal(linked["cxl_media"], linked["dram"])


@pytest.mark.parametrize("item", [Range(1.0, 1.0, 3.0), Range(3.0, 1.0, 3.0), Range(2.0, 1.0, 3.0), Range.exactly(2.0)])
def test_triangular_quantiles_at_every_place_of_the_mode(item: Range) -> None:
    uniform = np.linspace(0.0, 1.0, 1001)
    values = triangular(item, uniform)
    assert (values[0], values[-1]) == (item.low, item.high)
    assert np.all(np.diff(values) >= 0.0)
    if not item.is_certain:
        below = (item.value - item.low) / (item.high - item.low)
        assert_allclose(np.interp(item.value, values, uniform), below, atol=2e-3)


def test_a_loss_of_log_normal_odds_has_its_median_and_bounds() -> None:
    loss = LogOdds(0.02, 2.0, 0.5)
    scenario = replace(worked_example(), options=(replace(worked_example().options[0], loss=loss),))
    option = only_option(scenario, draws=20_000)
    upper = 0.02 / 0.98 * math.exp(1.6448536269514722 * 0.5)
    assert_allclose(loss.high, upper / (1.0 + upper))
    assert_allclose(option.saving, option.saving_as_given, rtol=0.02)
    share_beyond = np.mean(option.distribution.saving < only_option(at_loss(scenario, loss.high)).saving)
    assert_allclose(share_beyond, 0.05, atol=0.006)
    lower = 0.02 / 0.98 * math.exp(-1.6448536269514722 * 2.0)
    assert_allclose(loss.low, lower / (1.0 + lower))
    share_below = np.mean(option.distribution.saving > only_option(at_loss(scenario, loss.low)).saving)
    assert_allclose(share_below, 0.05, atol=0.006)
    assert option.tornado[0].input == "loss"


@pytest.mark.parametrize("median", [0.004, 0.0174, 0.2])
@pytest.mark.parametrize("draws", [999, 1000])
def test_with_one_uncertain_input_the_median_saving_is_plain_arithmetic(median: float, draws: int) -> None:
    """Chance in the draws is no doubt of anybody's: where a saving is near none it would decide the sign."""
    example = worked_example()
    exact = {name: Range.exactly(item.value) for name, item in example.inputs.items()}
    loss = LogOdds(median, 2.5, 0.9)
    scenario = replace(example, inputs=exact, options=(replace(example.options[0], loss=loss),))
    option = only_option(scenario, draws=draws)
    assert option.saving == pytest.approx(option.saving_as_given, rel=1e-9)
    assert len(np.unique(option.distribution.saving)) >= draws - 1, "the draws are as many as before"


def test_the_saving_of_an_option_is_the_median_of_its_draws() -> None:
    """A lop-sided loss moves the median away from the saving at its value; parts stay about the latter."""
    scenario = replace(worked_example(), options=(replace(worked_example().options[0], loss=Range(0.005, 0.0, 0.3)),))
    option = only_option(scenario, draws=4_001)
    ordered = np.sort(option.distribution.saving)
    assert option.saving == option.distribution.p50 == ordered[2_000]
    assert option.saving < 0.0 < option.saving_as_given
    assert_allclose(option.saving_ratio, option.saving / 3672.23552)
    assert_allclose(sum(step.delta for step in option.waterfall), -option.saving_as_given)


def test_the_saving_of_a_fleet_is_that_of_its_work() -> None:
    """Part of a machine is used by others too: a little lost work buys no whole host, and host and fleet agree."""
    small = replace(worked_example().fleet, hosts=33)
    option = replace(worked_example().options[0], loss=Range(0.001, 0.0005, 0.0015))
    found = only_option(replace(worked_example(), fleet=small, options=(option,)), draws=301)
    per_host = found.saving_as_given
    assert found.fleet.hosts == 34, "whole machines, for an order"
    assert_allclose(found.fleet.saving_as_given, 33 * per_host)
    assert abs(found.fleet.saving - 33 * found.saving) < 1e-6 * abs(33 * found.saving)
    assert (found.fleet.saving > 0) == (found.saving > 0)
    assert_allclose(found.fleet.annual, 33 * found.per_host.annual / found.per_host.work)
    wide = replace(option, loss=Range(0.0, 0.0, 0.5))
    spread = only_option(replace(worked_example(), fleet=small, options=(wide,)), draws=301)
    assert spread.fleet.saving_p10 < spread.fleet.saving < spread.fleet.saving_p90
    assert_allclose(spread.distribution.fleet.saving, 33 * np.asarray(spread.distribution.saving))


def at_loss(scenario: Scenario, loss: float) -> Scenario:
    return replace(scenario, options=(replace(scenario.options[0], loss=Range.exactly(loss)),))


def test_a_large_saving_stands_beside_published_ones_with_their_years() -> None:
    cheap = exact({"dram": 100.0, "cxl_media": 1.0, "cxl_controller": 1.0})
    result = only_option(replace(worked_example(), inputs=cheap))
    assert result.saving_ratio > NOTABLE_SAVING
    (said,) = (warning for warning in result.warnings if "Published" in warning)
    assert all(str(known.year) in said and known.source in said for known in PUBLISHED_SAVINGS)
    assert "usually wrong" not in said, "a price that somebody stands for is not called wrong"
    assert not any("Published" in warning for warning in only_option(worked_example()).warnings)


def test_memory_in_dearer_modules_costs_what_they_cost() -> None:
    example = worked_example()
    dear = replace(example.options[0], dram_price_ratio=1.5, dram_module_gb=128.0)
    plain, priced = only_option(example), only_option(replace(example, options=(dear,)))
    price = example.inputs["dram"].value
    assert priced.per_host.capex - plain.per_host.capex == pytest.approx(0.5 * dear.dram_gb * price)
    assert (priced.per_host.dram_price_per_gb, priced.per_host.dram_module_gb) == (1.5 * price, 128.0)
    root = next(one.value for one in priced.break_even if one.of == "dram_price")
    if root is not None:
        moved = {**example.inputs, "dram": Range.exactly(root)}
        assert only_option(replace(example, options=(dear,), inputs=moved)).saving_as_given == pytest.approx(
            0.0, abs=1e-6
        )


def test_less_memory_than_today_is_pointed_out() -> None:
    option = replace(worked_example().options[0], cxl=Expander(128.0, 1))
    result = only_option(replace(worked_example(), options=(option,)))
    assert any("memory that is missing" in warning for warning in result.warnings)


def test_dram_has_no_default_price() -> None:
    assert default_price("dram") is None
    assert default_price("cxl_media") is None
    assert default_price("electricity") is not None


@pytest.mark.parametrize("name", ["pue", "dram", "waf_rated"])
def test_what_is_divided_by_cannot_be_zero(name: SharedName) -> None:
    inputs = {**worked_example().inputs, name: Range.exactly(0.0)}
    with pytest.raises(ScenarioError, match=f"inputs.{name}"):
        replace(worked_example(), inputs=inputs)


def test_a_range_out_of_order_is_refused() -> None:
    with pytest.raises(ValueError, match="low <= value <= high"):
        Range(1.0, 2.0, 3.0)
