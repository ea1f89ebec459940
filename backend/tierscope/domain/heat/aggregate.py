"""From intervals to hosts, services and the fleet: medians, intervals over hosts, grades and minimum data.

Intervals of one host are not independent, so that confidence comes from hosts alone: order statistics with fewer than
eight hosts, a seeded BCa bootstrap from eight on.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt
import scipy

from tierscope.domain.base.figures import Grade
from tierscope.domain.heat.resampling import bootstrap_median

Floats = npt.NDArray[np.float64]

LEVEL = 0.95
BOOTSTRAP_MIN_HOSTS = 8
SEED = 20_240_501
MIN_HOSTS = 3
MIN_INTERVALS = 60
MIN_VALIDITY = 0.90
COVERAGE_GOOD = 0.80
COVERAGE_PARTIAL = 0.50


@dataclass(frozen=True, slots=True)
class Estimate:
    """A median over hosts with its interval. `level` is the confidence reached, None without an interval."""

    value: float
    lo: float | None
    hi: float | None
    level: float | None


@dataclass(frozen=True, slots=True)
class Enough:
    """What the data supports: a grade, or None with what is missing."""

    grade: Grade | None
    warnings: tuple[str, ...]


def order_statistic_interval(n: int, level: float = LEVEL) -> tuple[int, float]:
    """Return (r, level reached) of the interval from the r-th smallest to the r-th largest of n, r from 1.

    The innermost one that covers the median with at least `level`; [min, max] where none does.
    """
    if n < 1:
        raise ValueError("an interval needs at least one value")

    ranks = np.arange(1, n // 2 + 1)
    # The r-th smallest of n is above the median where fewer than r of them fall below it, of n tosses of a coin.
    levels = 1.0 - 2.0 * scipy.special.bdtr(ranks - 1, n, 0.5)
    enough = np.flatnonzero(levels >= level)
    if not len(ranks):
        return 1, 0.0
    best = int(enough[-1]) if len(enough) else 0
    return best + 1, float(levels[best])


def estimate_median(values: Sequence[float], *, seed: int = SEED) -> Estimate:
    """Median over hosts with an interval over hosts."""
    return _estimate(tuple(sorted(values)), seed)


@lru_cache(maxsize=4096)
def _estimate(ordered: tuple[float, ...], seed: int) -> Estimate:
    n = len(ordered)
    if n == 0:
        raise ValueError("no host has a value")
    middle = float(np.median(ordered))
    if n == 1:
        return Estimate(middle, None, None, None)
    if n < BOOTSTRAP_MIN_HOSTS:
        r, reached = order_statistic_interval(n)
        return Estimate(middle, ordered[r - 1], ordered[n - r], reached)
    if ordered[0] == ordered[-1]:
        return Estimate(middle, middle, middle, LEVEL)
    lo, hi = bootstrap_median(np.array(ordered), LEVEL, seed=seed)
    if not (math.isfinite(lo) and math.isfinite(hi)):
        r, reached = order_statistic_interval(n)
        return Estimate(middle, ordered[r - 1], ordered[n - r], reached)
    return Estimate(middle, lo, hi, LEVEL)


def wilson_bounds(shares: Floats, checks: Floats, level: float = LEVEL) -> tuple[Floats, Floats]:
    """Wilson score intervals of shares that were seen in `checks` (of a broadcasting shape, at least 1 each)."""
    z = float(scipy.special.ndtri(0.5 + level / 2))
    scale = 1 + z * z / checks
    middle = (shares + z * z / (2 * checks)) / scale
    half = z * np.sqrt(shares * (1 - shares) / checks + z * z / (4 * checks * checks)) / scale
    return middle - half, middle + half


def capacity_weighted(parts: Sequence[float], wholes: Sequence[float]) -> float | None:
    """The fleet's ratio: sum of parts over sum of wholes, None where there is nothing."""
    whole = float(sum(wholes))
    return float(sum(parts)) / whole if whole > 0 else None


def judge_enough(*, n_hosts: int, n_intervals: int, coverage: float, history: int, needed_history: int) -> Enough:
    """Grade what was measured. None where the history is shorter than the scheme needs, or too little was observed."""
    if n_hosts == 0 or n_intervals == 0:
        return Enough(None, ("no heat was measured in the window",))
    if history < needed_history:
        return Enough(None, (f"needs {needed_history} valid intervals in a row, has {history}",))
    if coverage < COVERAGE_PARTIAL:
        return Enough(None, (f"only {coverage:.0%} of the intervals were observed; {COVERAGE_PARTIAL:.0%} are needed",))
    warnings = []
    if n_hosts < MIN_HOSTS:
        plural = "s" if n_hosts > 1 else ""
        warnings.append(f"raw figures of {n_hosts} host{plural}: a claim about the service needs {MIN_HOSTS}")
    if n_intervals < MIN_INTERVALS:
        warnings.append(f"{n_intervals} intervals: {MIN_INTERVALS} are needed for a claim")
    if warnings:
        return Enough("early", tuple(warnings))
    if coverage < COVERAGE_GOOD:
        return Enough("partial", (f"{coverage:.0%} of the intervals were observed: a lower bound",))
    if coverage < MIN_VALIDITY:
        return Enough("partial", (f"{coverage:.0%} of the intervals were valid; {MIN_VALIDITY:.0%} make a full claim",))
    return Enough("good", ())
