"""Functions of ranges: from the samples of one series in a window before each step to one value per step.

A window is (end - range, end]. Rates are extrapolated to the ends of the window as Prometheus does: by at most half the
mean distance of samples where none lies near the end, and never to before a counter was zero.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tierscope.domain.promql.series import Bools, Floats, Ints, Series

NEAR = 1.1
"""So many mean distances from the window's end, samples are taken to reach it."""


@dataclass(frozen=True, slots=True)
class Windows:
    """The samples of a series [n] and, for each of t steps, which of them lie in the window: `first` to before `stop`.

    Times are milliseconds since 1970; `ends_ms`, `first` and `stop` [t].
    """

    times_ms: Ints
    values: Floats
    ends_ms: Ints
    range_ms: int
    first: Ints
    stop: Ints

    @property
    def counts(self) -> Ints:
        """Samples in each window."""
        return self.stop - self.first


def cut(series: Series, ends_ms: Ints, range_ms: int) -> Windows:
    """The windows of a series, without the marks of its ends."""
    known = series.known()
    first = np.searchsorted(known.times_ms, ends_ms - range_ms, side="right")
    stop = np.searchsorted(known.times_ms, ends_ms, side="right")
    return Windows(known.times_ms, known.values, ends_ms, range_ms, first, stop)


Reduced = tuple[Floats, Bools]
"""Values and which of them are there, both [t]."""


def reduce_windows(
    name: str, windows: Windows, parameter: Floats | None, check: Callable[[], None] = lambda: None
) -> Reduced:
    """The value of a function of a range at each step; `parameter` [t] where it takes one.

    `check` is called between windows that are looked at one by one, and may raise.
    """
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        if parameter is not None:
            return _PARAMETRIC[name](windows, parameter, check)
        if name in _SINGLE:
            return _SINGLE[name](windows, check)
        return _PLAIN[name](windows)


def _extrapolated(windows: Windows, *, counter: bool, per_second: bool) -> Reduced:
    present = windows.counts >= 2  # noqa: PLR2004 - a difference needs two samples
    first, last = windows.first[present], windows.stop[present] - 1
    times, values = windows.times_ms, windows.values
    gained = values[last] - values[first]
    if counter:
        lost = _prefix_sums(np.where(values[1:] < values[:-1], values[:-1], 0.0))
        gained = gained + lost[last] - lost[first]
    sampled_s = (times[last] - times[first]) / 1e3
    mean_s = sampled_s / (last - first)
    before_s = (times[first] - (windows.ends_ms[present] - windows.range_ms)) / 1e3
    after_s = (windows.ends_ms[present] - times[last]) / 1e3
    before_s = np.where(before_s >= NEAR * mean_s, mean_s / 2, before_s)
    after_s = np.where(after_s >= NEAR * mean_s, mean_s / 2, after_s)
    if counter:
        from_zero_s = np.where((gained > 0) & (values[first] >= 0), sampled_s * values[first] / gained, np.inf)
        before_s = np.minimum(before_s, from_zero_s)
    found = gained * (sampled_s + before_s + after_s) / sampled_s
    if per_second:
        found = found / (windows.range_ms / 1e3)
    return _spread(found, present)


def _instant(windows: Windows, *, counter: bool, per_second: bool) -> Reduced:
    present = windows.counts >= 2  # noqa: PLR2004 - a difference needs two samples
    last = windows.stop[present] - 1
    newest, older = windows.values[last], windows.values[last - 1]
    gained = np.where(newest < older, newest, newest - older) if counter else newest - older
    if per_second:
        gained = gained / ((windows.times_ms[last] - windows.times_ms[last - 1]) / 1e3)
    return _spread(gained, present)


def _spread(found: Floats, present: Bools) -> Reduced:
    values = np.zeros(len(present))
    values[present] = found
    return values, present


def _prefix_sums(values: Floats) -> Floats:
    return np.concatenate(([0.0], np.cumsum(values)))


def _changes(windows: Windows) -> Reduced:
    values = windows.values
    differ = (values[1:] != values[:-1]) & ~(np.isnan(values[1:]) & np.isnan(values[:-1]))
    return _count_steps(windows, differ)


def _resets(windows: Windows) -> Reduced:
    return _count_steps(windows, windows.values[1:] < windows.values[:-1])


def _count_steps(windows: Windows, marked: Bools) -> Reduced:
    present = windows.counts > 0
    sums = _prefix_sums(marked.astype(np.float64))
    found = sums[windows.stop[present] - 1] - sums[windows.first[present]]
    return _spread(found, present)


def _fold(windows: Windows, fold: np.ufunc) -> Reduced:
    present = windows.counts > 0
    if not present.any():
        return np.zeros(len(present)), present
    ends = np.stack((windows.first[present], windows.stop[present]), axis=1).ravel()
    padded = np.append(windows.values, 0.0)
    return _spread(fold.reduceat(padded, ends)[::2], present)


def _sum(windows: Windows) -> Reduced:
    return _fold(windows, np.add)


def _average(windows: Windows) -> Reduced:
    sums, present = _sum(windows)
    return sums / np.maximum(windows.counts, 1), present


def _count(windows: Windows) -> Reduced:
    return windows.counts.astype(np.float64), windows.counts > 0


def _last(windows: Windows) -> Reduced:
    present = windows.counts > 0
    return _spread(windows.values[windows.stop[present] - 1], present)


def _ones(windows: Windows) -> Reduced:
    return np.ones(len(windows.counts)), windows.counts > 0


def _each(
    windows: Windows, value_of: Callable[[int], float], check: Callable[[], None], *, at_least: int = 1
) -> Reduced:
    """A value of each window that has enough samples."""
    present = windows.counts >= at_least
    values = np.zeros(len(present))
    for at in np.flatnonzero(present).tolist():
        check()
        values[at] = value_of(at)
    return values, present


def _within(windows: Windows, at: int) -> slice:
    return slice(int(windows.first[at]), int(windows.stop[at]))


def _variance(windows: Windows, check: Callable[[], None]) -> Reduced:
    return _each(windows, lambda at: float(np.var(windows.values[_within(windows, at)])), check)


def _deviation(windows: Windows, check: Callable[[], None]) -> Reduced:
    values, present = _variance(windows, check)
    return np.sqrt(values), present


def _line(windows: Windows, at: int, origin_ms: int) -> tuple[float, float]:
    """Slope per second and height at `origin_ms` of the line of least squares."""
    within = _within(windows, at)
    values = windows.values[within]
    seconds = (windows.times_ms[within] - origin_ms) / 1e3
    if (values == values[0]).all():
        return (0.0, float(values[0])) if np.isfinite(values[0]) else (np.nan, np.nan)
    middle_s, middle = seconds.mean(), values.mean()
    away = seconds - middle_s
    slope = float((away * (values - middle)).sum() / (away * away).sum())
    return slope, float(middle - slope * middle_s)


def _slope(windows: Windows, check: Callable[[], None]) -> Reduced:
    def value_of(at: int) -> float:
        return _line(windows, at, int(windows.times_ms[windows.first[at]]))[0]

    return _each(windows, value_of, check, at_least=2)


def _predicted(windows: Windows, ahead_s: Floats, check: Callable[[], None]) -> Reduced:
    def value_of(at: int) -> float:
        slope, height = _line(windows, at, int(windows.ends_ms[at]))
        return slope * float(ahead_s[at]) + height

    return _each(windows, value_of, check, at_least=2)


def quantile(values: Floats, share: float) -> float:
    """The quantile of values [n > 0]: in a line between neighbours, infinite for shares outside 0 to 1."""
    if np.isnan(share):
        return float("nan")
    if not 0 <= share <= 1:
        return float("-inf") if share < 0 else float("inf")
    ordered = np.sort(values)
    if np.isnan(ordered[-1]):  # nothing is smaller than no number
        n_numbers = int((~np.isnan(ordered)).sum())
        ordered = np.concatenate((ordered[n_numbers:], ordered[:n_numbers]))
    rank = share * (len(ordered) - 1)
    low = int(np.floor(rank))
    high = min(low + 1, len(ordered) - 1)
    weight = rank - low
    return float(ordered[low] * (1 - weight) + ordered[high] * weight)


def _quantile(windows: Windows, shares: Floats, check: Callable[[], None]) -> Reduced:
    return _each(windows, lambda at: quantile(windows.values[_within(windows, at)], float(shares[at])), check)


_PLAIN: dict[str, Callable[[Windows], Reduced]] = {
    "rate": lambda windows: _extrapolated(windows, counter=True, per_second=True),
    "increase": lambda windows: _extrapolated(windows, counter=True, per_second=False),
    "delta": lambda windows: _extrapolated(windows, counter=False, per_second=False),
    "irate": lambda windows: _instant(windows, counter=True, per_second=True),
    "idelta": lambda windows: _instant(windows, counter=False, per_second=False),
    "changes": _changes,
    "resets": _resets,
    "avg_over_time": _average,
    "min_over_time": lambda windows: _fold(windows, np.fmin),
    "max_over_time": lambda windows: _fold(windows, np.fmax),
    "sum_over_time": _sum,
    "count_over_time": _count,
    "last_over_time": _last,
    "present_over_time": _ones,
}
_SINGLE: dict[str, Callable[[Windows, Callable[[], None]], Reduced]] = {
    "deriv": _slope,
    "stddev_over_time": _deviation,
    "stdvar_over_time": _variance,
}
_PARAMETRIC: dict[str, Callable[[Windows, Floats, Callable[[], None]], Reduced]] = {
    "predict_linear": _predicted,
    "quantile_over_time": _quantile,
}
KEEPS_NAME = frozenset({"last_over_time"})
"""Functions whose value is that of the metric itself."""
