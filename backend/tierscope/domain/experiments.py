"""Before/after experiments on groups of hosts: size, parallel trends, difference in differences, verdict.

Hosts are the unit. Intervals inside a host are not independent, so each host gives one mean before the change and one
after it; the settling period is left out by the caller.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
import statsmodels.api as sm
from scipy import stats

Floats = npt.NDArray[np.float64]
Verdict = Literal["improved", "no_difference", "worse", "inconclusive"]
Direction = Literal["higher_is_better", "lower_is_better"]

LEVEL = 0.95
SIGNIFICANCE = 0.05
CLUSTER_MIN_HOSTS = 20
PERMUTATIONS = 10_000
MIN_HOSTS_PER_ARM = 2


@dataclass(frozen=True, slots=True)
class Arm:
    """Means of the hosts of one group before and after. Arrays [hosts]."""

    before: Floats
    after: Floats

    def __post_init__(self) -> None:
        """Refuse arms that cannot be compared.

        Raises:
            ValueError: the arrays differ in length, or hold fewer than two hosts.
        """
        if self.before.shape != self.after.shape or len(self.before) < MIN_HOSTS_PER_ARM:
            raise ValueError(f"an arm needs at least {MIN_HOSTS_PER_ARM} hosts, each with a mean before and after")

    @property
    def changes(self) -> Floats:
        """After minus before."""
        return self.after - self.before


@dataclass(frozen=True, slots=True)
class Effect:
    """A difference in differences with its interval. `method` is `ols_robust` or `permutation`."""

    value: float
    lo: float
    hi: float
    p_value: float
    method: Literal["ols_robust", "permutation"]
    n_treated: int
    n_control: int


def hosts_per_arm(sd: float, delta: float, *, correlation: float = 0.0, adjusted: bool = True) -> int:
    """Hosts that each arm needs to find `delta` with power 0.8 at the 5 % level, two-sided.

    `correlation` r of the values before and after shrinks the variance to 1 - r^2 when the value before is a regressor
    (`adjusted`), and to 2 (1 - r) for plain differences.
    """
    if sd <= 0 or delta <= 0:
        raise ValueError("the spread and the difference to find must be above zero")
    z = float(stats.norm.ppf(0.975) + stats.norm.ppf(0.8))
    shrink = 1 - correlation**2 if adjusted else 2 * (1 - correlation)
    return math.ceil(2 * z**2 * (sd / delta) ** 2 * shrink)


def difference_in_differences(treated: Arm, control: Arm) -> float:
    """(T1 - T0) - (C1 - C0), on means over hosts."""
    return float(treated.changes.mean() - control.changes.mean())


def measure_effect(treated: Arm, control: Arm, *, seed: int = 0) -> Effect:
    """The effect with its interval: robust least squares from 20 hosts on, a permutation over hosts below."""
    changes = np.concatenate([treated.changes, control.changes])
    is_treated = np.concatenate([np.ones(len(treated.before)), np.zeros(len(control.before))])
    value = difference_in_differences(treated, control)
    sizes = len(treated.before), len(control.before)
    if sum(sizes) >= CLUSTER_MIN_HOSTS:
        fitted = sm.OLS(changes, sm.add_constant(is_treated)).fit(cov_type="HC3")
        lo, hi = np.asarray(fitted.conf_int(1 - LEVEL), np.float64)[1]
        return Effect(value, float(lo), float(hi), float(fitted.pvalues[1]), "ols_robust", *sizes)
    tested = stats.permutation_test(
        (treated.changes, control.changes),
        lambda first, second, axis: first.mean(axis=axis) - second.mean(axis=axis),
        n_resamples=PERMUTATIONS,
        vectorized=True,
        rng=np.random.default_rng(seed),
    )
    half = _permutation_half_width(treated.changes, control.changes, seed)
    return Effect(value, value - half, value + half, float(tested.pvalue), "permutation", *sizes)


def trends_are_parallel(treated: Arm, control: Arm, *, seed: int = 0) -> bool:
    """Whether a placebo change between two windows before the real one shows nothing."""
    return measure_effect(treated, control, seed=seed).p_value >= SIGNIFICANCE


def judge(effect: Effect, margin: float, direction: Direction) -> Verdict:
    """What the interval says against a margin below which a difference does not matter.

    Improved or worse: the interval lies beyond zero on one side, and the effect is at least the margin. No difference:
    the interval lies within the margins. Everything else is inconclusive.
    """
    if margin <= 0:
        raise ValueError("the margin must be above zero")
    if -margin <= effect.lo and effect.hi <= margin:
        return "no_difference"
    sign = 1.0 if direction == "higher_is_better" else -1.0
    lo, hi = sorted((sign * effect.lo, sign * effect.hi))
    if lo > 0 and sign * effect.value >= margin:
        return "improved"
    if hi < 0 and sign * effect.value <= -margin:
        return "worse"
    return "inconclusive"


def adjust_for_many(p_values: Mapping[str, float]) -> dict[str, float]:
    """P values of several metrics, adjusted so that the share of false findings holds (Benjamini-Hochberg)."""
    names: Sequence[str] = list(p_values)
    if not names:
        return {}
    adjusted = stats.false_discovery_control([p_values[name] for name in names])
    return {name: float(value) for name, value in zip(names, adjusted, strict=True)}


def _permutation_half_width(treated: Floats, control: Floats, seed: int) -> float:
    """Half-width of the interval: the quantile of the difference under shuffled labels, each arm about its own mean."""
    random = np.random.default_rng(seed)
    centred = np.concatenate([treated - treated.mean(), control - control.mean()])
    n = len(treated)
    # Centring takes a degree of freedom from each arm; without the factor small arms would look too certain.
    centred *= math.sqrt(len(centred) / (len(centred) - 2)) if len(centred) > MIN_HOSTS_PER_ARM else 1.0
    shuffled = random.permuted(np.broadcast_to(centred, (PERMUTATIONS, len(centred))), axis=1)
    differences = shuffled[:, :n].mean(axis=1) - shuffled[:, n:].mean(axis=1)
    return float(np.quantile(np.abs(differences), LEVEL))
