"""Experiments: the worked examples of the method, and what repeated A/A and A/B runs give."""

import numpy as np
import pytest

from tierscope.domain.experiments import (
    Arm,
    Effect,
    adjust_for_many,
    difference_in_differences,
    hosts_per_arm,
    judge,
    measure_effect,
    trends_are_parallel,
)


def arm(hosts: int, *, shift: float, seed: int) -> Arm:
    random = np.random.default_rng(seed)
    level = random.normal(100, 10, hosts)
    before = np.asarray(level + random.normal(0, 1, hosts), np.float64)
    return Arm(before, np.asarray(level + shift + random.normal(0, 1, hosts), np.float64))


def test_the_worked_examples() -> None:
    treated = Arm(np.array([99.0, 101.0]), np.array([102.0, 104.0]))
    control = Arm(np.array([100.0, 100.0]), np.array([101.0, 101.0]))
    assert difference_in_differences(treated, control) == pytest.approx(2)
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
        (-0.5, 1, 2.5, "no_difference", "no_difference"),
    ],
)
def test_verdicts_against_a_margin_of_one(lo: float, value: float, hi: float, higher: str, lower: str) -> None:
    effect = Effect(value, lo, hi, 0.01, "permutation", 5, 5)
    assert judge(effect, 1.0, "higher_is_better") == higher
    assert judge(effect, 1.0, "lower_is_better") == lower


def test_one_host_is_no_arm() -> None:
    with pytest.raises(ValueError, match="at least 2 hosts"):
        Arm(np.array([1.0]), np.array([2.0]))
