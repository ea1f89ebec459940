"""Level shifts in daily points that grow: a step that a line, its curve and its noise do not explain.

PELT (Killick, Fearnhead and Eckley 2012) looks at what is left of the logarithm once its trend is taken out. Each place
that it names is moved to where a step explains most, and counts where that step is large against the noise and the
level. Growth alone is never a shift.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy

from tierscope.domain.statistics import find_changes

Floats = npt.NDArray[np.float64]

MIN_SIZE = 5
"""Days on either side of a shift."""
MIN_DAYS = 14
MIN_T = 5.0
"""The step over its standard error. [A]"""
MIN_STEP = 0.04
"""The step as a share of the level. [A]"""
_NEAR = 6


@dataclass(frozen=True, slots=True)
class Shift:
    """The first point of the new level, and what the level was before and after it there."""

    index: int
    before: float
    after: float


def find_shifts(values: Floats) -> tuple[Shift, ...]:
    """Shifts of a series of positive points without gaps, in order of time."""
    if len(values) < MIN_DAYS or not (values > 0).all():
        return ()
    found: list[int] = []
    _search(np.log(values), 0, found)
    return tuple(_describe(values, index) for index in sorted(found))


def _search(logs: Floats, offset: int, found: list[int]) -> None:
    """The clearest shift of a stretch, then those on either side of it."""
    if len(logs) < max(MIN_DAYS, 2 * MIN_SIZE):
        return
    index = _clearest(logs)
    if index is None:
        return
    found.append(offset + index)
    _search(logs[:index], offset, found)
    _search(logs[index:], offset + index, found)


def _clearest(logs: Floats) -> int | None:
    n = len(logs)
    x = np.arange(n, dtype=np.float64)
    slope, intercept, *_ = scipy.stats.theilslopes(logs, x)
    named = find_changes(logs - intercept - slope * x, min_size=MIN_SIZE)
    places = {
        place
        for name in (*named, _sharpest(logs))
        for place in range(name - _NEAR, name + _NEAR + 1)
        if MIN_SIZE <= place <= n - MIN_SIZE
    }
    judged = [(*_step(logs, place), place) for place in sorted(places)]
    best = max(judged, key=lambda one: abs(one[1]), default=None)
    if best is None:
        return None
    step, t, place = best
    return place if abs(t) >= MIN_T and abs(np.expm1(step)) >= MIN_STEP else None


def _sharpest(logs: Floats) -> int:
    """Where the means of the five points on either side differ most, beside the usual difference."""
    means = np.convolve(logs, np.ones(MIN_SIZE) / MIN_SIZE, mode="valid")
    steps = means[MIN_SIZE:] - means[:-MIN_SIZE]
    return int(np.abs(steps - np.median(steps)).argmax()) + MIN_SIZE


def _step(logs: Floats, place: int) -> tuple[float, float]:
    """A step at `place` beside a trend with a curve, and how many standard errors it is."""
    n = len(logs)
    x = np.linspace(-1.0, 1.0, n)
    design = np.column_stack([np.ones(n), x, x**2, np.arange(n) >= place])
    found, *_ = np.linalg.lstsq(design, logs, rcond=None)
    residual = logs - design @ found
    # Weekdays and slow swings make neighbours alike, so that the noise of the mean is larger than of single days.
    variance = max(float((residual**2).sum()) / (n - 4), 1e-12)
    error = float(np.sqrt(variance * np.linalg.inv(design.T @ design)[3, 3]))
    return float(found[3]), float(found[3]) / error


def _describe(values: Floats, index: int) -> Shift:
    before, after = values[max(index - MIN_SIZE, 0) : index], values[index : index + MIN_SIZE]
    return Shift(index, float(np.median(before)), float(np.median(after)))
