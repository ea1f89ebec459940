"""The effect of a change on hosts: difference in differences, or adjusted for the value before; with its interval.

Hosts are the unit. Intervals inside a host are not independent, so each host gives one mean before the change and one
after it (`host_means`); that is what clustering errors by host comes to. From ten hosts in each arm on the interval is
that of least squares with robust errors (HC3); below, it holds all effects that a permutation of hosts over the arms
does not reject, which needs no assumption on the shape of the spread.
"""

import math
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Literal

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

LEVEL = 0.95
ROBUST_MIN_HOSTS = 20
ROBUST_MIN_PER_ARM = 10
PERMUTATIONS = 10_000
MIN_HOSTS_PER_ARM = 2
_CHUNK_CELLS = 4_000_000
_SIDES = 2.0


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
    """An effect in the metric's unit, with its 95 % interval; ends are infinite where so few hosts rule nothing out.

    `adjusted`: the value before is a regressor; else it is the plain difference in differences. `with_covariate`: so is
    a covariate.
    """

    value: float
    lo: float
    hi: float
    p_value: float
    method: Literal["ols_robust", "permutation"]
    n_treated: int
    n_control: int
    adjusted: bool = False
    with_covariate: bool = False
    logarithmic: bool = False


def is_positive(*arms: Arm) -> bool:
    """Whether all means of the arms are above zero, so that a change can be measured as a factor."""
    return all(bool((values > 0).all()) for arm in arms for values in (arm.before, arm.after))


def on_log_scale(arm: Arm) -> Arm:
    """The natural logarithms of means that are above zero."""
    return Arm(np.log(arm.before), np.log(arm.after))


def measure_factor(
    treated: Arm, control: Arm, *, adjusted: bool = False, seed: int = 0, covariate: Floats | None = None
) -> Effect:
    """The effect of a change that multiplies what is above zero, in the metric's unit; arguments of `measure_effect`.

    It is measured on logarithms, on which a factor is a difference and spreads are even, and told against what the
    treated hosts would have had on average: neither it nor its interval takes away more than there was.
    """
    found = measure_effect(
        on_log_scale(treated), on_log_scale(control), adjusted=adjusted, seed=seed, covariate=covariate
    )
    level = float(treated.after.mean()) * math.exp(-found.value)
    value, lo, hi = (level * float(np.expm1(end)) for end in (found.value, found.lo, found.hi))
    bounded = math.isfinite(found.lo) and math.isfinite(found.hi)
    ends = (lo, hi) if bounded else (-math.inf, math.inf)
    return replace(found, value=value, lo=ends[0], hi=ends[1], logarithmic=True)


def no_less_than_nothing(effect: Effect, treated: Arm) -> Effect:
    """An effect on a metric that is never below zero, which some hosts have at zero: all of it is the most to lose."""
    level = float(treated.after.mean()) - effect.value
    return replace(effect, lo=max(effect.lo, -level)) if level > 0 and math.isfinite(effect.lo) else effect


def measure_effect(
    treated: Arm, control: Arm, *, adjusted: bool = False, seed: int = 0, covariate: Floats | None = None
) -> Effect:
    """The effect with its interval: robust least squares where both arms are large, else by permutation of hosts.

    `adjusted` regresses the value after on the value before (analysis of covariance, as CUPED): narrower, and right
    for arms drawn at random. Arms that differ before the change need the plain difference, which regression to the mean
    does not bias. `covariate` [hosts], those of the treated arm first: a regressor too, where it varies and is no sum
    of the arm and the value before.
    """
    before = np.concatenate([treated.before, control.before])
    outcome = np.concatenate([treated.after, control.after]) if adjusted else None
    changes = np.concatenate([treated.changes, control.changes])
    label = np.concatenate([np.ones(len(treated.before)), np.zeros(len(control.before))])
    with_pre = adjusted and bool(np.ptp(before) > 0)
    pre = (before - before.mean())[:, None] if with_pre else None
    regressors = _with_covariate(pre, covariate, label)
    added = regressors is not None and (pre is None or regressors.shape[1] > pre.shape[1])
    measured = changes if outcome is None or not with_pre else outcome
    sizes = len(treated.before), len(control.before)
    if sum(sizes) >= ROBUST_MIN_HOSTS and min(sizes) >= ROBUST_MIN_PER_ARM:
        value, lo, hi, p_value = _robust(measured, label, regressors)
        return Effect(value, lo, hi, p_value, "ols_robust", *sizes, with_pre, added)
    value, lo, hi, p_value = _permuted(measured, label, regressors, seed)
    return Effect(value, lo, hi, p_value, "permutation", *sizes, with_pre, added)


def _with_covariate(pre: Floats | None, covariate: Floats | None, label: Floats) -> Floats | None:
    """Regressors [hosts, k], centred: the value before and the covariate; None without any."""
    if covariate is None:
        return pre
    centred = (covariate - covariate.mean())[:, None]
    both = centred if pre is None else np.column_stack([pre, centred])
    design = np.column_stack([np.ones(len(label)), label, both])
    sound = np.linalg.matrix_rank(design) == design.shape[1] and len(label) > design.shape[1]
    return both if sound else pre


def _robust(measured: Floats, label: Floats, pre: Floats | None) -> tuple[float, float, float, float]:
    """Effect, interval and p value of the arm in least squares with HC3 errors and the t distribution."""
    import statsmodels.api as sm  # noqa: PLC0415 - takes seconds to load, and few reads need it

    design = np.column_stack([np.ones(len(label)), label] + ([] if pre is None else [pre]))
    fitted = sm.OLS(measured, design).fit(cov_type="HC3", use_t=True)
    value = float(fitted.params[1])
    if not float(fitted.bse[1]) > 0:
        return value, value, value, 1.0 if value == 0 else 0.0
    lo, hi = np.asarray(fitted.conf_int(1 - LEVEL), np.float64)[1]
    return value, float(lo), float(hi), float(fitted.pvalues[1])


def _permuted(measured: Floats, label: Floats, pre: Floats | None, seed: int) -> tuple[float, float, float, float]:
    """Effect, interval and p value by permuting hosts over the arms.

    An effect d is rejected when the difference of measured - d label between the arms is extreme among permutations.
    That difference is linear in d, so that each permutation crosses over at one d: the limits are order statistics of
    those. With a regressor, both measured and label are replaced by what the regressor leaves of them.
    """
    left, arm = (_residual(measured, pre), _residual(label, pre))
    treated = int(label.sum())
    picks = _permutations(len(label), treated, seed)
    shuffled, arm_shuffled = _differences(left, picks), _differences(arm, picks)
    first = np.arange(treated, dtype=np.int64)[None, :]
    seen, arm_seen = float(_differences(left, first)[0]), float(_differences(arm, first)[0])
    value = seen / arm_seen
    total = len(picks) + 1
    tolerance = 1e-9 * max(float(np.abs(left).max()), 1e-300)
    greater = (1 + int((shuffled >= seen - tolerance).sum())) / total
    smaller = (1 + int((shuffled <= seen + tolerance).sum())) / total
    p_value = min(1.0, _SIDES * min(greater, smaller))
    step = arm_seen - arm_shuffled
    sound = step > 1e-12 * abs(arm_seen)
    crossings = np.where(sound, (seen - shuffled) / np.where(sound, step, 1.0), np.nan)
    rank = math.floor((1 - LEVEL) / _SIDES * total + 1e-9)
    lows = np.sort(np.where(sound, crossings, -np.inf))
    highs = np.sort(np.where(sound, crossings, np.inf))
    if rank < 1:
        return value, -math.inf, math.inf, p_value
    return value, min(float(lows[rank - 1]), value), max(float(highs[-rank]), value), p_value


def _residual(values: Floats, pre: Floats | None) -> Floats:
    centred = np.asarray(values - values.mean(), np.float64)
    if pre is None:
        return centred
    weights = np.linalg.lstsq(pre, centred, rcond=None)[0]
    return np.asarray(centred - pre @ weights, np.float64)


def _permutations(hosts: int, treated: int, seed: int) -> Ints:
    """Hosts of the treated arm in each permutation but the real one: all of them where they are few, else drawn."""
    if math.comb(hosts, treated) <= PERMUTATIONS:
        every = np.array(list(combinations(range(hosts), treated)), np.int64)
        return every[1:]  # the first one is the real arm
    random = np.random.default_rng(seed)
    rows = max(1, _CHUNK_CELLS // hosts)
    parts = []
    for start in range(0, PERMUTATIONS, rows):
        keys = random.random((min(rows, PERMUTATIONS - start), hosts))
        parts.append(np.argpartition(keys, treated - 1, axis=1)[:, :treated])
    return np.concatenate(parts).astype(np.int64)


def _differences(values: Floats, picks: Ints) -> Floats:
    """Mean of the picked hosts less the mean of all others, per permutation."""
    inside = values[picks].sum(axis=1)
    treated = picks.shape[1]
    return np.asarray(inside / treated - (values.sum() - inside) / (len(values) - treated), np.float64)
