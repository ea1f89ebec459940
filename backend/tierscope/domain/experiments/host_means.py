"""From series of hosts to one mean before and one after a change: over the same clock hours, settling left out."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

HOUR_S = 3600
DAY_S = 86_400
HOURS = 24
MIN_COVERAGE = 0.5
"""Share of the hours (or buckets) that count which a host must have."""


@dataclass(frozen=True, slots=True)
class HostSeries:
    """One metric of h hosts over b buckets, named by their ends. `times_s` [b], `values` [h, b]; NaN in gaps."""

    times_s: Floats
    values: Floats


@dataclass(frozen=True, slots=True)
class Design:
    """The windows of an experiment, Unix seconds: before is [start, change), after is [settled, end]."""

    start_s: float
    change_s: float
    settled_s: float
    end_s: float


@dataclass(frozen=True, slots=True)
class HostMeans:
    """Means by host [h], NaN where it has too little data. `hours` clock hours were compared; None = whole windows."""

    before: Floats
    after: Floats
    hours: int | None

    @property
    def known(self) -> Bools:
        """Hosts with both means."""
        return np.asarray(np.isfinite(self.before) & np.isfinite(self.after), np.bool_)


def host_means(series: HostSeries, design: Design) -> HostMeans:
    """Means of each host before and after the change.

    Both are means over the same hours of the day (UTC), each hour with the same weight, where the window before has at
    least half of the hours of the window after; else means over the whole windows. Hours that a host lacks on one side
    are left out of both. A bucket belongs to a window if it lies wholly inside.
    """
    step = float(np.median(np.diff(series.times_s))) if len(series.times_s) > 1 else 0.0
    begins, ends = series.times_s - step, series.times_s
    before = (begins >= design.start_s - 1) & (ends <= design.change_s + 1)
    after = (begins >= design.settled_s - 1) & (ends <= design.end_s + 1)
    hours = ((ends - 1) // HOUR_S % HOURS).astype(np.int64)
    first, second = _by_hour(series.values[:, before], hours[before]), _by_hour(series.values[:, after], hours[after])
    wanted = np.asarray(np.isfinite(second).any(axis=0), np.bool_)
    common = np.asarray(wanted & np.isfinite(first).any(axis=0), np.bool_)
    if common.any() and common.sum() >= MIN_COVERAGE * wanted.sum():
        both = np.isfinite(first) & np.isfinite(second) & common[None, :]
        enough = both.sum(axis=1) >= MIN_COVERAGE * common.sum()
        return HostMeans(_mean(first, both, enough), _mean(second, both, enough), int(common.sum()))
    left, right = series.values[:, before], series.values[:, after]
    return HostMeans(_covered_mean(left), _covered_mean(right), None)


def split_before(series: HostSeries, design: Design) -> Design:
    """The placebo: the window before, from the first value on, cut in two, by whole days where it has two of them."""
    known = series.times_s[np.isfinite(series.values).any(axis=0)]
    step = float(np.median(np.diff(series.times_s))) if len(series.times_s) > 1 else 0.0
    first = max(design.start_s, float(known[0]) - step) if len(known) else design.start_s
    length = max(design.change_s - first, 0.0)
    days = int(length // DAY_S)
    cut = design.change_s - (days // 2 * DAY_S if days > 1 else length / 2)
    start = design.change_s - 2 * (days // 2) * DAY_S if days > 1 else first
    return Design(start, cut, cut, design.change_s)


def _by_hour(values: Floats, hours: npt.NDArray[np.int64]) -> Floats:
    """Means by clock hour [h, 24], NaN where there is none."""
    known = np.isfinite(values)
    sums, counts = np.zeros((HOURS, len(values))), np.zeros((HOURS, len(values)))
    np.add.at(sums, hours, np.where(known, values, 0.0).T)
    np.add.at(counts, hours, known.T.astype(np.float64))
    return np.asarray(np.where(counts > 0, sums / np.maximum(counts, 1), np.nan).T, np.float64)


def _mean(values: Floats, taken: Bools, enough: Bools) -> Floats:
    counts = taken.sum(axis=1)
    sums = np.where(taken, values, 0.0).sum(axis=1)
    return np.asarray(np.where(enough & (counts > 0), sums / np.maximum(counts, 1), np.nan), np.float64)


def _covered_mean(values: Floats) -> Floats:
    known = np.isfinite(values)
    most = int(known.sum(axis=1).max(initial=0))
    return _mean(values, known, known.sum(axis=1) >= MIN_COVERAGE * max(most, 1))
