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


def find_outliers(windows: Sequence[Mapping[str, float]]) -> tuple[Outlier, ...]:
    """Hosts of one like-for-like group beyond the limit, on the same side, in the newest three windows.

    `windows` hold the value of each host, oldest first. Groups of fewer than eight hosts have no outliers.
    """
    newest = windows[-WINDOWS:]
    if len(newest) < WINDOWS or any(len(window) < MIN_HOSTS for window in newest):
        return ()
    scored = []
    for window in newest:
        values = np.array(list(window.values()), np.float64)
        scored.append(dict(zip(window, robust_scores(values).tolist(), strict=True)))
    found = []
    last, median = newest[-1], float(np.median(list(newest[-1].values())))
    for host, value in last.items():
        scores = [window.get(host) for window in scored]
        known = [score for score in scores if score is not None and abs(score) > LIMIT]
        if len(known) == WINDOWS and len({score > 0 for score in known}) == 1:
            found.append(Outlier(host, value, median, known[-1]))
    return tuple(sorted(found, key=lambda outlier: -abs(outlier.score)))
