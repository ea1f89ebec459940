"""Whether a level moved, in series that follow themselves: moving sums against what they do by chance.

Means of some hours before and after a time differ by chance too, and the more so the longer noise stays. How much is
seen in the series itself (MOSUM; Eichinger and Kirch 2018), so that no model of the noise is needed.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
import scipy

Floats = npt.NDArray[np.float64]

HOUR_S = 3600
DAY, WEEK = 24, 168
"""Hours."""
SPANS = (2, 4, 8, 12, 24)
"""Hours on either side whose means are compared."""
YEARS_A_FALSE_ONE = 40.0
"""By chance a metric's level may seem to move once in so many years: services have some ten metrics. [A]"""
WORST_TAIL = 1.3
"""Beyond the largest differences that the series itself has shown before, by this factor. [A]"""
TAIL = 0.995
MIN_WORTH = 3
"""Differences that do not overlap: from fewer nothing is known of chance."""
LEAST_FREEDOM = 20.0
"""Degrees of freedom of a limit. [A] Of short series the promise on false changes does not hold."""
KNOWN = 0.75
"""Share of hours that a mean needs."""
_YEAR_H = 8766
_MAD_SCALE = 0.6745
_MIN_REFERENCE = 12
_WEEKS_FOR_COURSE = 3
_DAYS_FOR_COURSE = 2


@dataclass(frozen=True, slots=True)
class Scale:
    """The scale on which values are compared: logarithms, where noise grows with the level; near zero a line.

    `asinh` is for counts that are zero at times; `unit` is where it turns from line to logarithm.
    """

    kind: Literal["log", "asinh", "line"]
    unit: float = 1.0

    @classmethod
    def of(cls, values: Floats) -> "Scale":
        """For finite values, at least one."""
        if values.min() > 0:
            return cls("log")
        positive = values[values > 0]
        if values.min() < 0 or not len(positive):
            return cls("line")
        return cls("asinh", float(np.median(positive)))

    def to(self, values: Floats) -> Floats:
        """Values on the scale."""
        if self.kind == "log":
            return np.log(values)
        return np.arcsinh(values / self.unit) if self.kind == "asinh" else values

    def back(self, value: float) -> float:
        """A value of the scale in the unit of the series."""
        if self.kind == "log":
            return float(np.exp(value))
        return float(np.sinh(value) * self.unit) if self.kind == "asinh" else value


@dataclass(frozen=True, slots=True)
class Hours:
    """Medians by the hour without their courses, NaN in gaps; the first hour begins at `start_s`, Unix seconds."""

    start_s: float
    values: Floats


@dataclass(frozen=True, slots=True)
class Spot:
    """Hours [first, last] between which a level moved."""

    first: int
    last: int

    def holds(self, at_s: float, start_s: float) -> bool:
        """Whether a time, Unix seconds, lies in it."""
        return self.first <= (at_s - start_s) / HOUR_S < self.last + 1


def without_courses(times_s: Floats, values: Floats) -> tuple[Floats, Hours]:
    """Values less the courses of day and week, and their medians by the hour.

    The course of the day needs two days, that of the week three weeks. That of each week is what the other weeks did,
    so that it follows no week's own noise: else what comes would look odder than what was.

    Args:
        times_s: ends of buckets, ascending, Unix seconds.
        values: finite.
    """
    index = np.floor((times_s - 1) / HOUR_S).astype(np.int64)
    start = int(index[0])
    index -= start
    hourly = _by_hour(index, values)
    course = np.zeros(len(hourly))
    if len(hourly) >= _DAYS_FOR_COURSE * DAY:
        of_day = (np.arange(len(hourly)) + start) % DAY
        course += _course_of_day(hourly, of_day, (np.arange(len(hourly)) + start) // DAY)
    if len(hourly) >= _WEEKS_FOR_COURSE * WEEK:
        course += _course_of_week(hourly - course)
    return np.asarray(values - course[index], np.float64), Hours(float(start * HOUR_S), hourly - course)


def moved_hours(hourly: Floats, *, watched: int) -> tuple[Spot, ...]:
    """Where in the newest `watched` hours a level moved by more than chance would have it.

    Differences count against those of the whole series, by their median size, so that a few true moves do not hide
    others; and against the largest of those before, because noise may be skewed.
    """
    spots = []
    for span in SPANS:
        differences = difference_means(hourly, span)
        sizes = np.abs(differences[np.isfinite(differences)])
        worth = len(sizes) / (2.0 * span)
        if worth < MIN_WORTH:
            continue
        usual = float(np.median(sizes)) / _MAD_SCALE
        limit = usual * _limit(span, worth)
        before = np.abs(differences[: max(len(hourly) - watched - span, 0)])
        before = before[np.isfinite(before)]
        if len(before) >= _MIN_REFERENCE:
            limit = max(limit, WORST_TAIL * float(np.quantile(before, TAIL)))
        if limit <= 0.0:
            continue
        beyond = np.nan_to_num(np.abs(differences)) > limit
        beyond[: max(len(hourly) - watched, 0)] = False
        spots += [Spot(int(place) - 1, int(place)) for place in np.flatnonzero(beyond)]
    return tuple(spots)


def difference_means(hourly: Floats, span: int) -> Floats:
    """At each hour the mean of it and those after less that of those before, `span` hours each; NaN where unknown."""
    means = _means_from(hourly, span)
    found = np.full(len(hourly), np.nan)
    found[span : len(means)] = means[span:] - means[: max(len(means) - span, 0)]
    return found


def _means_from(hourly: Floats, span: int) -> Floats:
    """The mean of `span` hours from each place on that has so many; NaN where too few of them are known."""
    known = np.isfinite(hourly)
    sums = np.concatenate(([0.0], np.cumsum(np.where(known, hourly, 0.0))))
    counts = np.concatenate(([0], np.cumsum(known)))
    n = counts[span:] - counts[:-span]
    return np.where(n >= KNOWN * span, (sums[span:] - sums[:-span]) / np.maximum(n, 1), np.nan)


def _limit(span: int, worth: float) -> float:
    """Deviations beyond which means of `span` hours differ by chance once in `YEARS_A_FALSE_ONE` years.

    `worth`: differences that do not overlap, from which the deviation is known; a median knows it as 0.37 of them.
    """
    looks = 2.0 * _YEAR_H / span * YEARS_A_FALSE_ONE * len(SPANS)
    return float(scipy.special.stdtrit(max(0.37 * worth, LEAST_FREEDOM), 1.0 - 0.5 / looks))


def _by_hour(index: npt.NDArray[np.int64], values: Floats) -> Floats:
    """Medians of values by ascending hour [hours], NaN where an hour has none."""
    place = np.arange(len(index)) - np.searchsorted(index, index)
    table = np.full((int(index[-1]) + 1, int(place.max()) + 1), np.nan)
    table[index, place] = values
    return _medians(table, axis=1)


def _course_of_day(hourly: Floats, of_day: npt.NDArray[np.int64], days: npt.NDArray[np.int64]) -> Floats:
    """Medians of hours of the day, each day's own median set aside, so that a step between days stays a step."""
    table = np.full((int(days[-1] - days[0]) + 1, DAY), np.nan)
    table[days - days[0], of_day] = hourly
    table -= _medians(table, axis=1)[:, None]
    return np.nan_to_num(_medians(table, axis=0))[of_day]


def _course_of_week(hourly: Floats) -> Floats:
    """For each week, counted from the end, the median of the other weeks' distances from the mean of the days around.

    Means over seven days have no course of the week, and move with the level.
    """
    around = _mean_around(hourly)
    weeks = -(-len(hourly) // WEEK)
    pad = np.full(weeks * WEEK - len(hourly), np.nan)
    table = np.concatenate((pad, hourly - around)).reshape(weeks, WEEK)
    others = [_medians(np.delete(table, week, axis=0), axis=0) for week in range(weeks)]
    return np.nan_to_num(np.concatenate(others))[len(pad) :]


def _mean_around(hourly: Floats) -> Floats:
    """The mean of the seven days around each hour; NaN near the ends, and where too little is known."""
    means = _means_from(hourly, WEEK)
    found = np.full(len(hourly), np.nan)
    found[WEEK // 2 : WEEK // 2 + len(means)] = means
    return found


def _medians(table: Floats, *, axis: Literal[0, 1]) -> Floats:
    """Medians of what is known along an axis; NaN where nothing is."""
    ordered = np.sort(table if axis == 1 else table.T, axis=1)
    n = np.isfinite(ordered).sum(axis=1)
    rows = np.arange(len(ordered))
    low, high = ordered[rows, np.maximum((n - 1) // 2, 0)], ordered[rows, np.minimum(n // 2, ordered.shape[1] - 1)]
    return np.asarray(np.where(n > 0, (low + high) / 2.0, np.nan), np.float64)
