"""Exponential smoothing with a trend, damped or not, and a weekly season: states, forecasts and their deviations.

The models are those with additive errors (statsmodels' `ETSModel`), which fits the constants. They are run here, so
that one pass over a series gives the forecasts from every one of its days; a test holds both to the same numbers.
"""

import warnings
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

WEEK = 7
MAX_ITERATIONS = 60


@dataclass(frozen=True, slots=True)
class Shape:
    """Which parts a model has beside its level and trend."""

    damped: bool
    weekly: bool


@dataclass(frozen=True, slots=True)
class Fitted:
    """Constants and the states before the first point. `trend` is the constant on errors: alpha times beta of Holt.

    `start_season` begins with the value of the first point; empty without a season.
    """

    level: float
    trend: float
    season: float
    damping: float
    start_level: float
    start_trend: float
    start_season: tuple[float, ...]

    @property
    def n_constants(self) -> int:
        """Degrees of freedom that the fit took, states included."""
        return 4 + (1 + len(self.start_season) if self.start_season else 0) + (self.damping < 1.0)


@dataclass(frozen=True, slots=True)
class States:
    """After each of n points: level, trend [n], the season from the next day on [n, 7]; and the error of the point."""

    level: Floats
    trend: Floats
    season: Floats
    error: Floats


@dataclass(frozen=True, slots=True)
class Ahead:
    """Means and standard deviations of the days that follow [h]."""

    mean: Floats
    sd: Floats


def fit_smoothing(values: Floats, shape: Shape) -> Fitted:
    """Fit the constants by likelihood, from states that the first weeks suggest. Needs two weeks and three points."""
    from statsmodels.tsa.exponential_smoothing.ets import ETSModel  # noqa: PLC0415 - takes seconds to load

    model = ETSModel(
        values,
        error="add",
        trend="add",
        damped_trend=shape.damped,
        seasonal="add" if shape.weekly else None,
        seasonal_periods=WEEK if shape.weekly else None,
        initialization_method="heuristic",
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of fits that stop at the last iteration: the backtest judges what they are
        result = model.fit(disp=False, maxiter=MAX_ITERATIONS)
    constants = dict(zip(result.param_names, np.asarray(result.params, np.float64).tolist(), strict=True))
    season = tuple(float(value) for value in np.atleast_1d(result.initial_seasonal)) if shape.weekly else ()
    return Fitted(
        level=constants["smoothing_level"],
        trend=constants["smoothing_trend"],
        season=constants.get("smoothing_seasonal", 0.0),
        damping=constants.get("damping_trend", 1.0),
        start_level=float(result.initial_level),
        start_trend=float(result.initial_trend),
        start_season=season,
    )


def run_smoothing(values: Floats, fitted: Fitted) -> States:
    """The states after each point of a series that begins where the fit began."""
    n = len(values)
    levels, trends, errors = np.empty(n), np.empty(n), np.empty(n)
    seasons = np.zeros((n, WEEK))
    level, trend = fitted.start_level, fitted.start_trend
    season = list(fitted.start_season) or [0.0] * WEEK
    for t, value in enumerate(values.tolist()):
        carried = fitted.damping * trend
        error = value - (level + carried + season[0])
        level, trend = level + carried + fitted.level * error, carried + fitted.trend * error
        season = [*season[1:], season[0] + fitted.season * error]
        levels[t], trends[t], errors[t] = level, trend, error
        seasons[t] = season
    return States(levels, trends, seasons, errors)


def look_ahead(states: States, fitted: Fitted, at: int, horizon: int) -> Ahead:
    """The days after point `at`, whose deviation rests on the errors up to it."""
    steps = np.arange(1, horizon + 1)
    carried = np.cumsum(fitted.damping**steps)
    mean = states.level[at] + carried * states.trend[at] + states.season[at][(steps - 1) % WEEK]
    seen = states.error[: at + 1]
    variance = float((seen**2).sum()) / max(len(seen) - fitted.n_constants, 1)
    reach = fitted.level + fitted.trend * carried + fitted.season * (steps % WEEK == 0)
    grown = 1.0 + np.concatenate(([0.0], np.cumsum(reach[:-1] ** 2)))
    # The trend was itself found on these days: by steps that move the level, and by the noise about it.
    n = len(seen)
    unsure = carried**2 * (fitted.level**2 / n + 12.0 * (1.0 - fitted.level) ** 2 / n**3)
    return Ahead(mean, np.sqrt(variance * (grown + unsure)))
