"""How steady a service is: the mix of its memory over time, the end of its warm-up, the overlap of its hot sets.

Definitions follow docs/method/stability.md. Shares and overlaps are ratios in 0..1; a point is 0.01.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
import scipy

Floats = npt.NDArray[np.float64]
HotSetState = Literal["stable", "moving", "volatile"]

LEVEL = 0.95
POINTS = 0.05
"""A share that stays within five points is steady."""
HOURS_PER_DAY = 24.0
HOUR_S = 3600.0
MIN_POINTS = 5
HOT_STABLE, HOT_VOLATILE = 0.7, 0.4
MAX_SLOPE_POINTS = 1000
"""Theil-Sen looks at all pairs; more points than this are thinned evenly."""


@dataclass(frozen=True, slots=True)
class Slope:
    """A slope with its interval, per unit of time given."""

    value: float
    lo: float
    hi: float


@dataclass(frozen=True, slots=True)
class WarmUp:
    """When a share had settled: Unix seconds, or None, and which of the three it is."""

    at_s: float | None
    outcome: Literal["settled", "before", "not_yet", "unknown"]


def theil_sen(times: Floats, values: Floats) -> Slope | None:
    """Median slope over all pairs of points, None with fewer than two times; the interval is Sen's (1968, eq. 2.6).

    One outlier does not turn it. The interval takes points as independent.
    """
    known = np.isfinite(values)
    x, y = times[known], values[known]
    if len(x) > MAX_SLOPE_POINTS:
        picked = np.linspace(0, len(x) - 1, MAX_SLOPE_POINTS).round().astype(np.int64)
        x, y = x[picked], y[picked]
    if not len(x) or x.min() == x.max():
        return None
    later = x[:, None] > x
    slopes = np.sort((y[:, None] - y)[later] / (x[:, None] - x)[later])
    n = len(y)
    # Ties of times or values tell less than they seem to.
    ties = [np.unique(column, return_counts=True)[1] for column in (x, y)]
    repeated = sum(float((k * (k - 1) * (2 * k + 5)).sum()) for k in ties)
    variance = (n * (n - 1) * (2 * n + 5) - repeated) / 18
    value = float(np.median(slopes))
    if variance < 0:
        return Slope(value, value, value)
    half = float(-scipy.special.ndtri((1 - LEVEL) / 2) * np.sqrt(variance))
    low = max(int(np.round((len(slopes) - half) / 2)) - 1, 0)
    high = min(int(np.round((len(slopes) + half) / 2)), len(slopes) - 1)
    return Slope(value, float(slopes[low]), float(slopes[high]))


def interquartile_range(values: Floats) -> float | None:
    """Spread of the middle half, None without values."""
    known = values[np.isfinite(values)]
    return float(np.subtract(*np.percentile(known, [75, 25]))) if len(known) else None


def last_day(times_s: Floats, values: Floats) -> Floats:
    """Values of the last 24 hours before the newest one."""
    known = np.isfinite(values)
    if not known.any():
        return values[:0]
    newest = times_s[known][-1]
    inside: Floats = values[known & (times_s > newest - HOURS_PER_DAY * HOUR_S)]
    return inside


def is_stable(slope_per_hour: float, iqr: float) -> bool:
    """Whether a share is steady: less than five points a day, and a spread below five points."""
    return abs(slope_per_hour) * HOURS_PER_DAY < POINTS and iqr < POINTS


def warm_up_end(times_s: Floats, values: Floats) -> WarmUp:
    """The first time from which on the mean of the hour before stays within five points of the last day's median.

    `before`: it does so from the first full hour on. `unknown`: less than two hours of data.
    """
    known = np.isfinite(values)
    t, v = times_s[known], values[known]
    if len(t) < MIN_POINTS or t[-1] - t[0] < 2 * HOUR_S:
        return WarmUp(None, "unknown")
    first = np.searchsorted(t, t - HOUR_S, side="right")
    sums = np.concatenate(([0.0], np.cumsum(v)))
    index = np.arange(len(t))
    means = (sums[index + 1] - sums[first]) / (index + 1 - first)
    whole = t >= t[0] + HOUR_S
    near = np.abs(means - np.median(last_day(t, v))) <= POINTS
    outside = np.flatnonzero(whole & ~near)
    if not len(outside):
        return WarmUp(None, "before")
    if outside[-1] == len(t) - 1:
        return WarmUp(None, "not_yet")
    return WarmUp(float(t[outside[-1] + 1]), "settled")


def jaccard(intersection_bytes: float, union_bytes: float) -> float | None:
    """Byte-weighted overlap of two hot sets, None where both are empty."""
    return intersection_bytes / union_bytes if union_bytes > 0 else None


def name_overlap(overlap: float) -> HotSetState:
    """Stable from 0.7 on, volatile below 0.4."""
    if overlap >= HOT_STABLE:
        return "stable"
    return "volatile" if overlap < HOT_VOLATILE else "moving"
