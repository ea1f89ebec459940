"""Hosts that differ from their like: robust scores within a group, beyond chance, and only when they persist.

Chance is that of a group of its size, on the scale of the values and on their logarithm: what is skewed has far hosts
on one of the two alone. Hosts that are many are not odd: they are a kind of their own.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy

from tierscope.domain.statistics.levels import Scale

Floats = npt.NDArray[np.float64]

LIMIT = 3.5
MIN_HOSTS = 8
WINDOWS = 3
FALSE_RATIO = 0.002
"""Share of groups without an odd host in which one window of one metric shows one. [A]"""
MOST_ODD = 10
"""At most one host in so many is odd, and a part of so many counts whole."""
MAD_SCALE = 0.6745
IQR_SCALE = 1.349


def robust_scores(values: Floats) -> Floats:
    """Distance from the median in robust standard deviations; zeros where the group does not spread at all.

    By the median absolute deviation, or by the interquartile range where more than half of the values are equal.
    """
    centred = values - np.median(values)
    mad = float(np.median(np.abs(centred)))
    if mad > 0:
        return np.asarray(MAD_SCALE * centred / mad, np.float64)
    low, high = np.quantile(values, [0.25, 0.75])
    spread = float(high - low) / IQR_SCALE
    return np.asarray(centred / spread, np.float64) if spread > 0 else np.zeros_like(values)


@dataclass(frozen=True, slots=True)
class Outlier:
    """A host's value beside the median of its group, and its robust score there."""

    host: str
    value: float
    median: float
    score: float


def find_odd(values: Floats, *, false_ratio: float = FALSE_RATIO) -> npt.NDArray[np.bool_]:
    """Which values are beyond what a normal group of this size does by chance, others that are odd set aside.

    The generalised extreme Studentised deviate test (Rosner 1983). It knows the size of the group, whose own spread is
    unsure where hosts are few, and does not let some odd hosts hide each other.

    Args:
        values: of at least three hosts.
        false_ratio: share of normal groups in which any is found.
    """
    n = len(values)
    left, out = np.arange(n), np.zeros(n, bool)
    order: list[int] = []
    found = 0
    for taken in range(-(-n // MOST_ODD)):
        some = values[left]
        spread = float(some.std(ddof=1))
        if spread <= 0:
            break
        distances = np.abs(some - some.mean())
        furthest = int(distances.argmax())
        order.append(int(left[furthest]))
        freedom = n - taken - 2
        quantile = float(scipy.special.stdtrit(freedom, 1.0 - false_ratio / (2.0 * (n - taken))))
        limit = (n - taken - 1) * quantile / np.sqrt((freedom + quantile**2) * (n - taken))
        if distances[furthest] / spread > limit:
            found = taken + 1
        left = np.delete(left, furthest)
    out[order[:found]] = True
    return out


def score_hosts(window: Mapping[str, float]) -> tuple[Outlier, ...]:
    """All hosts of one window of one peer group with their scores. Fewer than eight hosts are no peers."""
    if len(window) < MIN_HOSTS:
        return ()
    values = np.array(list(window.values()), np.float64)
    median = float(np.median(values))
    told = zip(window, values.tolist(), robust_scores(values).tolist(), strict=True)
    return tuple(Outlier(host, value, median, score) for host, value, score in told)


def flag_hosts(scored: Sequence[Outlier]) -> tuple[Outlier, ...]:
    """Hosts beyond the limit, of those of one window of one peer group.

    A host is beyond it by its robust score, and beyond chance both as it is and on the logarithm.
    """
    odd = np.array([abs(host.score) > LIMIT for host in scored], bool)
    if not odd.any():
        return ()
    values = np.array([host.value for host in scored], np.float64)
    odd &= find_odd(values) & find_odd(Scale.of(values).to(values))
    return tuple(host for host, is_odd in zip(scored, odd.tolist(), strict=True) if is_odd)


def persisting(flagged: Sequence[Sequence[Outlier]]) -> tuple[Outlier, ...]:
    """Of hosts flagged per window, oldest first, those flagged on the same side in each of the newest three."""
    newest = [{outlier.host: outlier for outlier in window} for window in flagged[-WINDOWS:]]
    if len(newest) < WINDOWS:
        return ()
    found = []
    for host, outlier in newest[-1].items():
        seen = [window.get(host) for window in newest]
        if all(other is not None and (other.score > 0) == (outlier.score > 0) for other in seen):
            found.append(outlier)
    return tuple(sorted(found, key=lambda outlier: -abs(outlier.score)))


def find_outliers(windows: Sequence[Mapping[str, float]]) -> tuple[Outlier, ...]:
    """Hosts of one peer group beyond the limit, on the same side, in the newest three windows.

    `windows` hold the value of each host, oldest first. Groups of fewer than eight hosts have no outliers.
    """
    return persisting([flag_hosts(score_hosts(window)) for window in windows[-WINDOWS:]])
