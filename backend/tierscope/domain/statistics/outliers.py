"""Hosts that differ from their like: robust scores within a group, and only when they persist."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

LIMIT = 3.5
MIN_HOSTS = 8
WINDOWS = 3
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
    """A host beyond the limit in each of the newest windows, with its newest value, the group's median and score."""

    host: str
    value: float
    median: float
    score: float


def flag_hosts(window: Mapping[str, float]) -> tuple[Outlier, ...]:
    """Hosts beyond the limit in one window of one peer group. Fewer than eight hosts have no outliers."""
    if len(window) < MIN_HOSTS:
        return ()
    values = np.array(list(window.values()), np.float64)
    median = float(np.median(values))
    scored = zip(window, values.tolist(), robust_scores(values).tolist(), strict=True)
    return tuple(Outlier(host, value, median, score) for host, value, score in scored if abs(score) > LIMIT)


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
    return persisting([flag_hosts(window) for window in windows[-WINDOWS:]])
