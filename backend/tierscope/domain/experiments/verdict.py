"""What an effect says: the verdict, its limit when an experiment ends early, trends before it, many metrics."""

import math
from collections.abc import Mapping, Sequence
from typing import Literal

import scipy

from tierscope.domain.experiments.effect import Arm, Effect, measure_effect
from tierscope.domain.statistics.host_metrics import Direction

Verdict = Literal["improved", "no_difference", "worse", "inconclusive"]

SIGNIFICANCE = 0.05
DRAWN_PLACEBO = 0.01
"""Arms drawn at random part before the change by chance alone: only gross failure counts."""
EARLY_ERROR = 0.01
MIN_CANARY = 5
MIN_CONTROL = 5


def judge(
    effect: Effect,
    margin: float,
    direction: Direction,
    *,
    p_value: float | None = None,
    significance: float = SIGNIFICANCE,
) -> Verdict:
    """What the interval says, with a margin below which a difference does not matter.

    No difference: the whole interval lies within the margins; or it holds zero and rules out a harm of the size of the
    margin. Improved or worse: it leaves zero out, on the good or the bad side, and `p_value` (that of the effect unless
    an adjusted one is given) is at most `significance`. Inconclusive: it holds zero and such a harm, or leaves zero out
    without that significance.

    A found effect need not reach the margin itself: asking that would find an effect of just the margin's size half of
    the time, whatever the number of hosts, and the number of hosts is planned to find it four times in five.

    Raises:
        ValueError: the margin is not above zero.
    """
    if margin <= 0:
        raise ValueError("the margin must be above zero")
    if within_margin(effect, margin):
        return "no_difference"
    sign = 1.0 if direction == "higher_is_better" else -1.0
    lo, hi = sorted((sign * effect.lo, sign * effect.hi))
    if lo > 0 or hi < 0:
        if (effect.p_value if p_value is None else p_value) > significance:
            return "inconclusive"
        return "improved" if lo > 0 else "worse"
    return "inconclusive" if lo < -margin else "no_difference"


def within_margin(effect: Effect, margin: float) -> bool:
    """Whether the interval rules out any difference that matters."""
    return -margin <= effect.lo and effect.hi <= margin


def early_significance(progress: float) -> float:
    """The p value that a verdict needs when an experiment was ended after this share (0..1] of its time.

    An O'Brien-Fleming limit that spends 1 % on all looks before the planned end, however many: who looks all the time
    and ends at will is misled in 1 % of experiments on top of the 5 % at the planned end.
    """
    if progress >= 1:
        return SIGNIFICANCE
    limit = float(scipy.special.ndtri(1 - EARLY_ERROR / 4)) / math.sqrt(max(progress, 1e-6))
    return float(2 * scipy.special.ndtr(-limit))


def trends_are_parallel(treated: Arm, control: Arm, *, drawn: bool = False, seed: int = 0) -> bool:
    """Whether a placebo change between two windows before the real one shows nothing. `drawn`: arms are random."""
    effect = measure_effect(treated, control, adjusted=drawn, seed=seed)
    return effect.p_value >= (DRAWN_PLACEBO if drawn else SIGNIFICANCE)


def adjust_for_many(p_values: Mapping[str, float]) -> dict[str, float]:
    """P values of several metrics, adjusted so that the share of false findings holds (Benjamini-Hochberg)."""
    names: Sequence[str] = list(p_values)
    if not names:
        return {}
    adjusted = scipy.stats.false_discovery_control([p_values[name] for name in names])
    return {name: float(value) for name, value in zip(names, adjusted, strict=True)}
