"""How often experiments are wrong, and how often they find what is there: hundreds of simulated ones.

Hosts have levels of their own, a course over the day that scales with them, noise that follows itself, and a slow
drift. The truth is in the simulation alone.
"""

from collections import Counter
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pytest

from fixtures.draws import drawn
from tierscope.domain.experiments import (
    Arm,
    Design,
    Effect,
    HostSeries,
    Verdict,
    correlate,
    early_significance,
    host_means,
    judge,
    measure_effect,
    planned_hosts_per_arm,
    split_before,
    trends_are_parallel,
    within_margin,
)

pytestmark = pytest.mark.rates
Floats = npt.NDArray[np.float64]
RUNS = drawn(400)
# The rate that a fair test of 5 % exceeds in so many runs once in a thousand times.
MOST_WRONG = 0.05 + 3.1 * (0.05 * 0.95 / RUNS) ** 0.5
MARGIN = 0.05
DAY, HOUR = 86_400, 3600
START = 20_000 * DAY
CHANGE, END = START + 2 * DAY, START + 3 * DAY
DESIGN = Design(START, CHANGE, CHANGE + 1800, END)
TIMES = np.arange(START + HOUR, END + 1, HOUR).astype(np.float64)


@dataclass(frozen=True, slots=True)
class Run:
    treated: Arm
    control: Arm
    effect: Effect
    margin: float
    verdict: Verdict


def simulate(seed: int, canary: int, control: int, effect: float, *, spread: float = 0.1) -> HostSeries:
    """Hourly throughput of hosts; the first `canary` gain `effect` at the change. `spread` of levels, relative."""
    random = np.random.default_rng([seed, canary, control])
    hosts, buckets = canary + control, len(TIMES)
    level = 100 * (1 + spread * random.standard_normal(hosts))
    noise, state = np.zeros((hosts, buckets)), random.standard_normal(hosts)
    for bucket in range(buckets):
        state = 0.9 * state + np.sqrt(1 - 0.9**2) * random.standard_normal(hosts)
        noise[:, bucket] = state
    drift = 0.002 * np.cumsum(random.standard_normal((hosts, buckets)), axis=1)
    course = 1 + 0.3 * np.sin(2 * np.pi * TIMES / DAY)
    values = level[:, None] * (course[None, :] + 0.05 * noise + drift)
    values[:canary, TIMES > CHANGE] *= 1 + effect
    return HostSeries(TIMES, np.asarray(values, np.float64))


def run(
    seed: int, canary: int, control: int, effect: float, *, adjusted: bool = True, margin_ratio: float = MARGIN
) -> Run:
    series = simulate(seed, canary, control, effect)
    means = host_means(series, DESIGN)
    arms = (
        Arm(means.before[:canary], means.after[:canary]),
        Arm(means.before[canary:], means.after[canary:]),
    )
    found = measure_effect(*arms, adjusted=adjusted, seed=seed)
    margin = margin_ratio * abs(float(arms[0].after.mean()) - found.value)
    return Run(*arms, found, margin, judge(found, margin, "higher_is_better"))


@pytest.mark.parametrize(
    ("canary", "control", "adjusted", "method"),
    [
        (6, 12, True, "permutation"),
        (8, 8, False, "permutation"),
        (5, 40, True, "permutation"),
        (30, 30, True, "ols_robust"),
        (12, 60, False, "ols_robust"),
    ],
)
def test_experiments_on_nothing_are_called_improved_or_worse_at_the_stated_rate(
    *, canary: int, control: int, adjusted: bool, method: str
) -> None:
    runs = [run(seed, canary, control, 0.0, adjusted=adjusted) for seed in range(RUNS)]
    verdicts = Counter(found.verdict for found in runs)
    assert {found.effect.method for found in runs} == {method}
    assert (verdicts["improved"] + verdicts["worse"]) / RUNS <= MOST_WRONG
    assert sum(found.effect.lo <= 0 <= found.effect.hi for found in runs) / RUNS >= 1 - MOST_WRONG


def needed(correlated: HostSeries, effect: float) -> int:
    """Hosts per arm as the plan counts them, from the two halves of the window before."""
    halves = host_means(correlated, split_before(correlated, DESIGN))
    sd, level = float(halves.after.std(ddof=1)), float(halves.after.mean())
    return planned_hosts_per_arm(sd, effect * level, correlation=correlate(halves.before, halves.after) or 0.0)


@pytest.mark.parametrize(("effect", "method"), [(0.1, "permutation"), (0.03, "ols_robust")])
def test_an_effect_of_the_planned_size_is_found_four_times_in_five(effect: float, method: str) -> None:
    arm = needed(simulate(999, 200, 200, 0.0), effect)
    runs = [run(seed, arm, arm, effect, margin_ratio=effect) for seed in range(RUNS)]
    assert {found.effect.method for found in runs} == {method}
    found = Counter(each.verdict for each in runs)
    assert found["improved"] / RUNS >= 0.8 - 2.4 * (0.8 * 0.2 / RUNS) ** 0.5
    assert found["worse"] == 0


def test_enough_hosts_show_no_difference_at_the_rate_that_their_number_says() -> None:
    arm = needed(simulate(999, 200, 200, 0.0), MARGIN)
    runs = [run(seed, 3 * arm, 3 * arm, 0.0) for seed in range(RUNS)]
    assert Counter(found.verdict for found in runs)["no_difference"] / RUNS >= 1 - MOST_WRONG
    # With three times the hosts half an interval is 0.4 margins: it stays within them in 97 % of runs.
    assert sum(within_margin(found.effect, found.margin) for found in runs) / RUNS >= 0.9


def test_a_placebo_is_significant_as_often_as_it_says_for_drawn_arms() -> None:
    parted = 0
    for seed in range(RUNS):
        series = simulate(seed, 10, 10, 0.0)
        halves = host_means(series, split_before(series, DESIGN))
        arms = Arm(halves.before[:10], halves.after[:10]), Arm(halves.before[10:], halves.after[10:])
        parted += not trends_are_parallel(*arms, drawn=True, seed=seed)
    assert parted / RUNS <= 0.01 + 3.1 * (0.01 * 0.99 / RUNS) ** 0.5


def test_who_looks_every_other_hour_and_stops_on_a_good_one_is_misled_in_few_experiments() -> None:
    misled, runs = 0, drawn(150)
    for seed in range(runs):
        series = simulate(seed, 15, 15, 0.0)
        for hours in range(3, 24, 2):
            means = host_means(series, Design(START, CHANGE, CHANGE + 1800, CHANGE + hours * HOUR))
            arms = Arm(means.before[:15], means.after[:15]), Arm(means.before[15:], means.after[15:])
            if measure_effect(*arms, adjusted=True).p_value <= early_significance(hours / 24):
                misled += 1
                break
    assert misled / runs <= 0.01 + 3.1 * (0.01 * 0.99 / runs) ** 0.5
