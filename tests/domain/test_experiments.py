"""Experiments: the worked examples of the method, and what repeated A/A and A/B runs give."""

import math

import numpy as np
import pytest
from scipy import stats

from fixtures.draws import drawn
from tierscope.domain.experiments import (
    Arm,
    Design,
    Effect,
    HostSeries,
    adjust_for_many,
    detectable_effect,
    early_significance,
    host_means,
    hosts_per_arm,
    is_positive,
    judge,
    measure_effect,
    measure_factor,
    no_less_than_nothing,
    planned_hosts_per_arm,
    split_before,
    trends_are_parallel,
)
from tierscope.domain.experiments.confounders import NetworkConfounder, judge_network
from tierscope.domain.fleet.network import HostNetwork, NetworkSide, compare_sides


def arm(hosts: int, *, shift: float, seed: int) -> Arm:
    random = np.random.default_rng(seed)
    level = random.normal(100, 10, hosts)
    before = np.asarray(level + random.normal(0, 1, hosts), np.float64)
    return Arm(before, np.asarray(level + shift + random.normal(0, 1, hosts), np.float64))


def test_the_worked_examples() -> None:
    treated = Arm(np.array([99.0, 101.0]), np.array([102.0, 104.0]))
    control = Arm(np.array([100.0, 100.0]), np.array([101.0, 101.0]))
    assert measure_effect(treated, control).value == pytest.approx(2)
    adjusted = adjust_for_many({"a": 0.001, "b": 0.01, "c": 0.03, "d": 0.2})
    assert list(adjusted.values()) == pytest.approx([0.004, 0.02, 0.04, 0.2])
    assert hosts_per_arm(0.02, 0.01) == 63
    assert hosts_per_arm(0.02, 0.01, correlation=0.8) == 23
    assert adjust_for_many({}) == {}


@pytest.mark.parametrize(("hosts", "method"), [(6, "permutation"), (30, "ols_robust")])
def test_the_interval_holds_the_truth_as_often_as_it_says(hosts: int, method: str) -> None:
    runs, held = 60, 0
    for seed in range(runs):
        effect = measure_effect(arm(hosts, shift=3, seed=seed), arm(hosts, shift=1, seed=1000 + seed), seed=seed)
        assert effect.method == method
        held += effect.lo <= 2 <= effect.hi
    assert held / runs >= 0.88


def test_runs_without_a_change_are_called_no_difference() -> None:
    verdicts = []
    for seed in range(60):
        effect = measure_effect(arm(30, shift=1, seed=seed), arm(30, shift=1, seed=1000 + seed))
        verdicts.append(judge(effect, 2.0, "higher_is_better"))
    assert verdicts.count("no_difference") >= 56
    assert "improved" not in verdicts
    assert "worse" not in verdicts


def test_trends_that_part_before_the_change_are_seen() -> None:
    assert trends_are_parallel(arm(30, shift=1, seed=1), arm(30, shift=1, seed=2))
    assert not trends_are_parallel(arm(30, shift=5, seed=1), arm(30, shift=1, seed=2))


@pytest.mark.parametrize(
    ("lo", "value", "hi", "higher", "lower"),
    [
        (2, 3, 4, "improved", "worse"),
        (-4, -3, -2, "worse", "improved"),
        (-0.5, 0, 0.5, "no_difference", "no_difference"),
        (-3, 1, 5, "inconclusive", "inconclusive"),
        (0.1, 0.5, 3, "improved", "worse"),
        (0.1, 0.2, 0.3, "no_difference", "no_difference"),
        (-0.5, 1, 2.5, "no_difference", "inconclusive"),
        (-2.5, -1, 0.5, "inconclusive", "no_difference"),
    ],
)
def test_verdicts_against_a_margin_of_one(lo: float, value: float, hi: float, higher: str, lower: str) -> None:
    effect = Effect(value, lo, hi, 0.01, "permutation", 5, 5)
    assert judge(effect, 1.0, "higher_is_better") == higher
    assert judge(effect, 1.0, "lower_is_better") == lower


def test_one_host_is_no_arm() -> None:
    with pytest.raises(ValueError, match="at least 2 hosts"):
        Arm(np.array([1.0]), np.array([2.0]))


def test_the_permutation_is_that_of_scipy_and_its_interval_inverts_it() -> None:
    treated, control = arm(6, shift=2.5, seed=3), arm(6, shift=1, seed=4)
    effect = measure_effect(treated, control)
    tested = stats.permutation_test(
        (treated.changes, control.changes), lambda a, b, axis: a.mean(axis) - b.mean(axis), vectorized=True
    )
    assert effect.p_value == pytest.approx(float(tested.pvalue))
    for limit, inside in ((effect.lo, -1e-6), (effect.hi, 1e-6)):
        beyond = Arm(treated.before, treated.after - limit - inside)
        assert measure_effect(beyond, control).p_value <= 0.05
        assert measure_effect(Arm(treated.before, treated.after - limit + inside), control).p_value > 0.05


def test_the_value_before_as_a_regressor_narrows_the_interval() -> None:
    random = np.random.default_rng(8)
    before = random.normal(100, 10, (2, 40))
    after = 50 + 0.5 * before + random.normal(0, 1, (2, 40))
    arms = Arm(before[0], after[0] + 2), Arm(before[1], after[1])
    plain, adjusted = measure_effect(*arms), measure_effect(*arms, adjusted=True)
    assert adjusted.adjusted
    assert adjusted.hi - adjusted.lo < (plain.hi - plain.lo) / 3
    assert adjusted.lo <= 2 <= adjusted.hi
    flat = np.full(40, 7.0)
    assert not measure_effect(Arm(flat, after[0]), Arm(flat, after[1]), adjusted=True).adjusted


def test_hosts_that_are_all_alike_have_an_effect_without_width() -> None:
    flat = np.full(12, 5.0)
    same = measure_effect(Arm(flat, flat), Arm(flat, flat))
    assert (same.value, same.lo, same.hi, same.p_value) == (0, 0, 0, 1)
    few = measure_effect(Arm(flat[:2], flat[:2] + 1), Arm(flat[:2], flat[:2]))
    assert (few.lo, few.hi) == (-math.inf, math.inf)


def test_the_smallest_effect_that_hosts_find_is_the_one_their_number_is_planned_for() -> None:
    found = detectable_effect(0.02, 63, 63)
    assert found == pytest.approx(0.01, rel=0.01)
    assert hosts_per_arm(0.02, found) == 63
    assert planned_hosts_per_arm(0.02, 0.01) == 63
    assert planned_hosts_per_arm(0.02, 0.02) == 18
    assert planned_hosts_per_arm(0.02, 1.0) == 5
    with pytest.raises(ValueError, match="above zero"):
        hosts_per_arm(0, 0.1)


@pytest.mark.parametrize(("progress", "limit"), [(1.0, 0.05), (0.5, 7.18e-5), (0.25, 1.97e-8)])
def test_an_early_end_asks_for_more(progress: float, limit: float) -> None:
    assert early_significance(progress) == pytest.approx(limit, rel=0.02)
    strong = Effect(3, 2, 4, 0.001, "ols_robust", 20, 20)
    verdict = judge(strong, 1.0, "higher_is_better", significance=early_significance(progress))
    assert verdict == ("improved" if progress == 1 else "inconclusive")


HOUR, DAY = 3600.0, 86_400.0


def hourly(days: float, *, course: float = 10.0, step: float = 0.0, at: float = 0.0) -> HostSeries:
    times = np.arange(HOUR, days * DAY + 1, HOUR)
    values = 100 + course * np.sin(2 * np.pi * times / DAY) + step * (times > at)
    return HostSeries(times, values[None, :])


def test_both_windows_are_compared_over_the_same_hours_of_the_day() -> None:
    series = hourly(2.25, step=5, at=2 * DAY)
    means = host_means(series, Design(0, 2 * DAY, 2 * DAY, 2.25 * DAY))
    assert means.hours == 6
    assert float(means.after[0] - means.before[0]) == pytest.approx(5)


def test_settling_is_left_out_and_buckets_that_straddle_a_limit_too() -> None:
    series = hourly(2, course=0, step=5, at=DAY + 2 * HOUR)
    means = host_means(series, Design(0, DAY, DAY + 1.5 * HOUR, 2 * DAY))
    assert float(means.after[0]) == pytest.approx(105)
    assert float(means.before[0]) == pytest.approx(100)


def test_windows_without_hours_in_common_are_compared_whole() -> None:
    series = hourly(1, course=0, step=5, at=0.5 * DAY)
    means = host_means(series, Design(0, 0.5 * DAY, 0.5 * DAY, DAY))
    assert means.hours is None
    assert float(means.after[0] - means.before[0]) == pytest.approx(5)


def test_a_host_with_less_than_half_of_the_hours_has_no_means() -> None:
    whole, holes = hourly(2).values[0], hourly(2).values[0].copy()
    holes[24:40] = np.nan
    means = host_means(HostSeries(hourly(2).times_s, np.stack([whole, holes])), Design(0, DAY, DAY, 2 * DAY))
    assert means.known.tolist() == [True, False]


def test_the_placebo_cuts_the_window_before_by_whole_days_from_the_first_value_on() -> None:
    design = Design(0, 5 * DAY, 5 * DAY, 6 * DAY)
    assert split_before(hourly(6), design) == Design(DAY, 3 * DAY, 3 * DAY, 5 * DAY)
    late = hourly(6)
    late.values[:, : 24 * 4 + 12] = np.nan
    assert split_before(late, design) == Design(4.5 * DAY, 4.75 * DAY, 4.75 * DAY, 5 * DAY)


def uneven(hosts: int, *, factor: float, seed: int, noise: float = 0.8) -> Arm:
    """Latencies of hosts that differ by factors, each changed by one and by what a day does to it."""
    random = np.random.default_rng(seed)
    before = 1e6 * np.exp(random.normal(0.0, 1.0, hosts))
    return Arm(before, before * factor * np.exp(random.normal(0.0, noise, hosts)))


@pytest.mark.parametrize("hosts", [4, 8, 15])
def test_no_relative_effect_takes_away_more_than_there_was(hosts: int) -> None:
    for seed in range(20):
        treated, control = uneven(hosts, factor=0.6, seed=seed), uneven(hosts, factor=1.0, seed=1000 + seed)
        found = measure_factor(treated, control, seed=seed)
        level = float(treated.after.mean()) - found.value
        assert level > 0
        if math.isfinite(found.lo):
            assert -level <= found.lo <= found.value <= found.hi
        plain = no_less_than_nothing(measure_effect(treated, control, seed=seed), treated)
        level = float(treated.after.mean()) - plain.value
        assert level <= 0 or not math.isfinite(plain.lo) or plain.lo >= -level


@pytest.mark.rates
def test_interval_of_a_factor_holds_it_as_often_as_it_says() -> None:
    held = runs = 0
    for seed in range(drawn(300)):
        treated, control = (
            uneven(12, factor=0.7, seed=seed, noise=0.3),
            uneven(12, factor=1.0, seed=9000 + seed, noise=0.3),
        )
        found = measure_factor(treated, control, seed=seed)
        level = float(treated.after.mean()) - found.value
        held += found.lo / level <= -0.3 <= found.hi / level
        runs += 1
    assert held >= 0.88 * runs


def test_hosts_at_zero_are_no_factor() -> None:
    one, other = uneven(5, factor=1.0, seed=1), Arm(np.zeros(5), np.ones(5))
    assert is_positive(one)
    assert not is_positive(one, other)


def test_a_covariate_that_varies_within_the_arms_takes_away_what_it_explains() -> None:
    random = np.random.default_rng(7)
    for hosts in (6, 12):
        # Half of the hosts of each arm get faster by 20 for a reason of their own; the change adds 5.
        steps = np.tile([0.0, 1.0], hosts)
        before = random.normal(100, 1, 2 * hosts)
        after = before + 20 * steps + np.repeat([5.0, 0.0], hosts) + random.normal(0, 0.5, 2 * hosts)
        arms = Arm(before[:hosts], after[:hosts]), Arm(before[hosts:], after[hosts:])
        plain, told = measure_effect(*arms), measure_effect(*arms, covariate=steps)
        assert (plain.with_covariate, told.with_covariate) == (False, True)
        assert told.value == pytest.approx(5, abs=1)
        assert told.lo <= 5 <= told.hi
        assert told.hi - told.lo < 0.3 * (plain.hi - plain.lo)


def test_a_covariate_that_is_the_arm_itself_is_left_out() -> None:
    arms = arm(8, shift=5, seed=1), arm(8, shift=0, seed=2)
    follows = np.repeat([1.0, 0.0], 8)
    assert measure_effect(*arms, covariate=follows) == measure_effect(*arms)


def network(*hosts: tuple[bool, set[str] | None, set[str] | None]) -> tuple[NetworkConfounder, str]:
    """Hosts as (canary, before, after): the confounder, and its warnings."""
    seen = [
        HostNetwork(
            f"h{number}",
            None if before is None else frozenset(before),
            None if after is None else frozenset(after),
        )
        for number, (_, before, after) in enumerate(hosts)
    ]
    found = judge_network(seen, np.array([canary for canary, _, _ in hosts], bool))
    return found, " ".join(found.warnings)


def test_rdma_and_smc_are_named_where_they_differ_or_change() -> None:
    none: set[str] = set()
    both = {"mlx5_0", "smc"}
    found, text = network((True, both, both), (True, both, both), (False, both, both), (False, both, both))
    assert (found.effect, found.covariate, text) == ("none", None, "")
    found, text = network((True, none, both), (True, none, none), (False, none, none), (False, none, none))
    assert found.effect == "changed"
    assert found.covariate is not None
    assert found.covariate.tolist() == [1, 0, 0, 0]
    assert "changed on h0 in the window. It is a covariate" in text
    found, text = network((True, none, both), (True, none, both), (False, none, none), (False, none, none))
    assert (found.effect, found.covariate) == ("follows_the_change", None)
    assert "cannot be told from the change" in text
    found, text = network((True, both, none), (True, both, none), (False, both, none), (False, both, none))
    assert (found.effect, found.covariate) == ("changed", None)
    found, text = network((True, both, both), (True, none, none), (False, none, none), (False, none, none))
    assert found.effect == "arms_differ"
    assert "50% of the canary hosts and 0% of the control hosts" in text
    found, text = network((True, none, both), (True, none, none), (False, None, None), (False, none, none))
    assert found.covariate is None
    assert "not known of h2" in text


def test_two_sides_are_told_apart_by_their_network() -> None:
    def side(name: str, **hosts: tuple[set[str] | None, set[str] | None]) -> NetworkSide:
        seen = [
            HostNetwork(host, *(None if devices is None else frozenset(devices) for devices in states))
            for host, states in hosts.items()
        ]
        return NetworkSide(name, tuple(seen))

    smc: set[str] = {"smc"}
    none: set[str] = set()
    with_it, without = side("a", n1=(smc, smc), n2=(smc, smc)), side("b", n3=(none, none), n4=(none, none))
    assert compare_sides(with_it, with_it) == ("none", ())
    effect, (warning,) = compare_sides(with_it, without)
    assert effect == "sides_differ"
    assert "100% of the hosts of a and 0% of those of b" in warning
    effect, (warning,) = compare_sides(side("a", n1=(none, smc)), side("b", n2=(smc, smc)))
    assert (effect, "changed on n1" in warning) == ("changed", True)
    effect, (warning,) = compare_sides(
        side("a", n1=(smc, smc), n2=(none, none)), side("b", n1=(none, none), n2=(smc, smc))
    )
    assert (effect, "changed on n1, n2" in warning) == ("changed", True), "as many, on other hosts"
    effect, (warning,) = compare_sides(with_it, side("b", n3=(None, None)))
    assert (effect, "not known of 1 of 1 hosts of b" in warning) == ("not_known", True)
    assert compare_sides(with_it, side("b"))[0] == "not_known"
