"""The methods that a backtest weighs: how each looks ahead from any day of a series.

A method works on bytes or on their logarithm, where growth by a share of what is there is a straight line. Deviations
are those of a normal distribution on that scale.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy

from tierscope.domain.capacity.bends import MOST_AUTOCORRELATED, extend_bend, hold_level, worth_of
from tierscope.domain.capacity.linear import Line, fit_line
from tierscope.domain.capacity.smoothing import WEEK, Ahead, Shape, fit_smoothing, look_ahead, run_smoothing

Floats = npt.NDArray[np.float64]
Look = Callable[[int, int], Ahead]
"""The days after point `at`, `horizon` of them."""

Extend = Callable[[Floats, int], Ahead]
"""The days after a series, so many of them."""

NAIVE = "seasonal_naive"
SEASON_P = 0.01
"""Weekdays differ where chance alone would make them so less often than this."""


@dataclass(frozen=True, slots=True)
class Method:
    """A way to forecast; `log` says on which scale."""

    name: str
    log: bool
    damped: bool = False
    weekly: bool = False
    line: bool = False
    drift: bool = False
    bend: bool = False
    level: bool = False

    def scale(self, values: Floats) -> Floats:
        """Values on the method's scale."""
        return np.log(values) if self.log else values

    def unscale(self, values: Floats) -> Floats:
        """Back to bytes: never below zero."""
        return np.exp(values) if self.log else np.maximum(values, 0.0)


def offered(values: Floats) -> tuple[Method, ...]:
    """Methods for a series of daily points without gaps, the plain one first."""
    log = bool((values > 0).all())
    weekly = has_weekly_season(np.log(values) if log else values)
    suffix = "_weekly" if weekly else ""
    own = "_log" if log else ""
    methods = [Method(NAIVE, log), Method(f"damped_holt{suffix}{own}", log, damped=True, weekly=weekly)]
    for scale, tail in ((log, own), (False, "")):
        methods += [
            Method(f"holt{suffix}{tail}", scale, weekly=weekly),
            Method(f"line{suffix}{tail}", scale, weekly=weekly, line=True),
            Method(f"drift{tail}", scale, drift=True),
        ]
    methods += [Method(f"bend{suffix}{own}", log, weekly=weekly, bend=True)]
    methods += [Method(f"level{suffix}{own}", log, weekly=weekly, level=True)]
    return tuple(dict.fromkeys(methods))


def prepare(method: Method, values: Floats, fit_on: int) -> Look:
    """Ready a method for looking ahead from points at or after `fit_on - 1`; constants rest on the first `fit_on`."""
    scaled = method.scale(values)
    if method.name == NAIVE:
        return lambda at, horizon: _repeat_week(scaled[: at + 1], horizon)
    if method.drift:
        return lambda at, horizon: _drift_on(scaled[: at + 1], horizon)
    if method.line:
        return lambda at, horizon: _extend_line(scaled[: at + 1], horizon, weekly=method.weekly)
    if method.bend or method.level:
        extend = extend_bend if method.bend else hold_level
        return lambda at, horizon: _beside_week(extend, scaled[: at + 1], horizon, weekly=method.weekly)
    fitted = fit_smoothing(scaled[:fit_on], Shape(method.damped, method.weekly))
    states = run_smoothing(scaled, fitted)
    return lambda at, horizon: look_ahead(states, fitted, at, horizon)


def has_weekly_season(values: Floats) -> bool:
    """Whether weekdays differ, about the mean of the seven days around each; needs four weeks."""
    if len(values) < 4 * WEEK or np.ptp(values) == 0:
        return False
    around = np.convolve(values, np.ones(WEEK) / WEEK, mode="valid")
    detrended = values[WEEK // 2 : WEEK // 2 + len(around)] - around
    days = [detrended[day::WEEK] for day in range(WEEK)]
    if np.ptp(detrended) == 0:
        return False
    return bool(scipy.stats.kruskal(*days).pvalue < SEASON_P)


def _repeat_week(scaled: Floats, horizon: int) -> Ahead:
    steps = np.arange(horizon)
    mean = scaled[len(scaled) - WEEK + steps % WEEK]
    errors = scaled[WEEK:] - scaled[:-WEEK]
    deviation = float(np.sqrt((errors**2).mean())) if len(errors) else 0.0
    return Ahead(np.asarray(mean), deviation * np.sqrt(steps // WEEK + 1.0))


def _drift_on(scaled: Floats, horizon: int) -> Ahead:
    """A random walk: the last value and the mean step per day, neither of which the noise about a line explains."""
    days = np.diff(scaled)
    steps = np.arange(1, horizon + 1)
    deviation = float(days.std(ddof=1))
    return Ahead(scaled[-1] + steps * float(days.mean()), deviation * np.sqrt(steps * (1.0 + steps / len(days))))


def _beside_week(extend: Extend, scaled: Floats, horizon: int, *, weekly: bool) -> Ahead:
    """What goes on without the course of the week, and that course: mean distances from the seven days around."""
    if not weekly:
        return extend(scaled, horizon)
    n = len(scaled)
    around = np.convolve(scaled, np.ones(WEEK) / WEEK, mode="valid")
    first = WEEK // 2
    distance = scaled[first : first + len(around)] - around
    weekday = (np.arange(len(around)) + first) % WEEK
    course = np.array([distance[weekday == day].mean() for day in range(WEEK)])
    course -= course.mean()
    ahead = extend(scaled - course[np.arange(n) % WEEK], horizon)
    return Ahead(ahead.mean + course[np.arange(n, n + horizon) % WEEK], ahead.sd)


def _extend_line(scaled: Floats, horizon: int, *, weekly: bool) -> Ahead:
    """A line, with the mean of each weekday's distance from it where weekdays differ."""
    n = len(scaled)
    x, ahead = np.arange(n, dtype=np.float64), np.arange(n, n + horizon, dtype=np.float64)
    season = np.zeros(WEEK)
    if weekly:
        residual = scaled - fit_line(x, scaled).at(x)
        season = np.array([residual[day::WEEK].mean() for day in range(WEEK)])
        season -= season.mean()
    flat = scaled - season[np.arange(n) % WEEK]
    line = fit_line(x, flat)
    sd = _line_deviation(line, flat - line.at(x), ahead, lost=WEEK - 1 if weekly else 0)
    return Ahead(line.at(ahead) + season[ahead.astype(np.int64) % WEEK], sd)


def _line_deviation(line: Line, residual: Floats, ahead: Floats, *, lost: int) -> Floats:
    """Deviations about a line whose residuals follow each other: then n points tell less than n of the line.

    `lost`: degrees of freedom that the season took.
    """
    n = line.n
    square, worth = float((residual**2).sum()), worth_of(residual)
    variance = square / max(n - lost - 2.0 * worth, n * (1 - MOST_AUTOCORRELATED))
    return np.asarray(np.sqrt(variance * (1.0 + worth * (1.0 / n + (ahead - line.middle) ** 2 / line.spread))))
