"""The BCa bootstrap of a median over hosts, without drawing the hosts again for every figure.

The places of the middle values in a resample of n ordered values depend on n and the seed alone. They are drawn once,
from the stream that `scipy.stats.bootstrap` draws from, so that the interval is the one that it returns; the jackknife
of a median has a closed form (Efron and Tibshirani 1993, chapter 14). Of many values the resamples are not drawn: the
k-th smallest of n uniform numbers is distributed as Beta(k, n - k + 1) (David and Nagaraja 2003, chapter 2), and its
place is where it falls among n equal parts.
"""

from functools import lru_cache

import numpy as np
import numpy.typing as npt
import scipy

Floats = npt.NDArray[np.float64]
Places = npt.NDArray[np.int64]

DRAWS = 2000
_CELLS_AT_ONCE = 4_000_000
_MOST_SORTED = 10_000
"""Values whose resamples are drawn whole; sorting those of more takes seconds."""


def bootstrap_median(ordered: Floats, level: float, *, seed: int) -> tuple[float, float]:
    """The interval (lo, hi) of the median of at least two `ordered` values; NaN where all draws are the same."""
    lower, upper = _middle_places(len(ordered), seed)
    drawn = (ordered[lower] + ordered[upper]) / 2
    n = len(ordered)
    middle = (ordered[(n - 1) // 2] + ordered[n // 2]) / 2
    percentile = (np.count_nonzero(drawn < middle) + np.count_nonzero(drawn <= middle)) / (2 * DRAWS)
    bias = scipy.special.ndtri(percentile)
    away = _jackknife(ordered)
    away = (n - 1) * (away.mean() - away)
    spread = float((away**2).sum() / n**2)
    if spread == 0 or not np.isfinite(bias):
        return float("nan"), float("nan")
    acceleration = float((away**3).sum() / n**3) / (6 * spread**1.5)
    z = float(scipy.special.ndtri((1 - level) / 2))
    ends = [scipy.special.ndtr(bias + (bias + side) / (1 - acceleration * (bias + side))) for side in (z, -z)]
    lo, hi = np.quantile(drawn, ends)
    return float(lo), float(hi)


@lru_cache(maxsize=256)
def _middle_places(n: int, seed: int) -> tuple[Places, Places]:
    """The places of the two middle values (the same one twice where n is odd) of each of the resamples."""
    rng = np.random.default_rng(seed)
    if n > _MOST_SORTED:
        return _places_of_many(n, rng)
    at_once = max(_CELLS_AT_ONCE // n, 1)
    lower, upper = [], []
    for first in range(0, DRAWS, at_once):
        drawn = rng.integers(0, n, (min(at_once, DRAWS - first), n))
        # Small integers sort many times faster.
        ranked = np.sort(drawn.astype(np.uint16 if n <= np.iinfo(np.uint16).max else np.int64), axis=1)
        lower.append(ranked[:, (n - 1) // 2].astype(np.int64))
        upper.append(ranked[:, n // 2].astype(np.int64))
    return np.concatenate(lower), np.concatenate(upper)


def _places_of_many(n: int, rng: np.random.Generator) -> tuple[Places, Places]:
    """The same, distributed alike, from the distribution of the middle values alone."""
    rank = (n + 1) // 2
    low = rng.beta(rank, n - rank + 1, DRAWS)
    high = low if n % 2 else low + (1 - low) * rng.beta(1, n - rank, DRAWS)
    lower, upper = (np.minimum((n * at).astype(np.int64), n - 1) for at in (low, high))
    return lower, upper


def _jackknife(ordered: Floats) -> Floats:
    """The medians [n] of all values but one."""
    n = len(ordered)
    out = np.arange(n)
    left, right = (n - 2) // 2, (n - 1) // 2
    found: Floats = (ordered[left + (out <= left)] + ordered[right + (out <= right)]) / 2
    return found
