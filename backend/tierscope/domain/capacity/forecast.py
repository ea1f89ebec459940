"""A forecast of daily points with intervals: refused below 14 days, a line up to 28, then methods by how they err.

Intervals are as wide as the past warrants: by what the combination of methods missed in the backtest, and by the level
shifts that were seen before.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tierscope.domain.capacity.backtest import backtest, choose, choose_origins
from tierscope.domain.capacity.combining import NO_JUMPS, Jumps, combine
from tierscope.domain.capacity.exhaustion import Exhaustion, find_exhaustion, line_exhaustion
from tierscope.domain.capacity.linear import fit_line
from tierscope.domain.capacity.methods import NAIVE, offered, prepare

Floats = npt.NDArray[np.float64]

MIN_DAYS = 14
LINE_DAYS = 28
MAX_MISSING = 0.2
"""Share of days without a point above which a series is refused; fewer are interpolated."""
LINE, COMBINED = "line", "combined"
_TAILS = (0.10, 0.025, 0.05)


@dataclass(frozen=True, slots=True)
class Forecast:
    """Days ahead [h], bytes. `last` is the value to count from; `growth` the median's mean step per day.

    `chance_above` says with which probability each day lies at or above so many bytes.
    """

    method: str
    median: Floats
    lo80: Floats
    hi80: Floats
    lo95: Floats
    hi95: Floats
    upper95: Floats
    last: float
    growth: float
    scores: tuple[tuple[str, float], ...]
    widened: tuple[float, float] | None
    line_slope: float | None
    worse_than_naive: bool
    chance_above: Callable[[float], Floats]

    def exhaustion(self, threshold: float) -> Exhaustion:
        """When the threshold is reached; a line's median exactly, others by interpolation between days."""
        found = find_exhaustion(self.last, self.median.tolist(), self.upper95.tolist(), threshold)
        if self.line_slope is None:
            return found
        return Exhaustion(line_exhaustion(self.last, self.line_slope, threshold, len(self.median)), found.early_days)

    def false_alarm_ratio(self, threshold: float) -> float:
        """The share of early warnings like this one after which no day ahead gets to the threshold, bytes.

        That of the likeliest single day, so at most a little too large: some day is likelier than each of them.
        """
        return 1.0 - float(self.chance_above(threshold).max())


@dataclass(frozen=True, slots=True)
class Refused:
    """Why there is no forecast, and what is missing."""

    why: str


def forecast_days(values: Sequence[float | None], horizon: int, jumps: Jumps = NO_JUMPS) -> Forecast | Refused:
    """Forecast from daily points up to the last day, None where a day has none; what is excluded is left out before.

    Args:
        values: bytes.
        horizon: days ahead, at least one.
        jumps: level shifts of the past, that may come again.
    """
    series = np.array([np.nan if value is None else value for value in values], np.float64)
    known = np.isfinite(series)
    n = int(known.sum())
    if n < MIN_DAYS:
        left = MIN_DAYS - n
        return Refused(f"{n} usable {_days(n)}: {MIN_DAYS} are needed, {left} more {_days(left)} of data.")
    series, known = series[known.argmax() :], known[known.argmax() :]
    missing = 1.0 - n / len(series)
    if missing > MAX_MISSING:
        return Refused(f"{missing:.0%} of the days have no point: at most {MAX_MISSING:.0%} may be missing.")
    x = np.arange(len(series), dtype=np.float64)
    if n <= LINE_DAYS or not choose_origins(len(series), horizon):
        return _by_line(x[known], series[known], len(series), horizon)
    return _by_backtest(np.interp(x, x[known], series[known]), horizon, jumps)


def _by_line(x: Floats, y: Floats, n: int, horizon: int) -> Forecast:
    line = fit_line(x, y)
    ahead = np.arange(n, n + horizon, dtype=np.float64)
    median = line.at(ahead)
    w80, w95, one = (line.half_width(ahead, tail) for tail in _TAILS)
    return Forecast(
        method=LINE,
        median=np.maximum(median, 0.0),
        lo80=np.maximum(median - w80, 0.0),
        hi80=np.maximum(median + w80, 0.0),
        lo95=np.maximum(median - w95, 0.0),
        hi95=np.maximum(median + w95, 0.0),
        upper95=np.maximum(median + one, 0.0),
        last=float(line.at(np.array([n - 1.0]))[0]),
        growth=line.slope,
        scores=(),
        widened=None,
        line_slope=line.slope,
        worse_than_naive=False,
        chance_above=lambda value: line.chance_above(ahead, value),
    )


def _by_backtest(values: Floats, horizon: int, jumps: Jumps) -> Forecast:
    scores = backtest(values, offered(values), horizon)
    n, log = len(values), bool((values > 0).all())
    ahead = [prepare(score.method, values, n)(n - 1, horizon) for score in scores]
    found = combine(values, scores, ahead, jumps, log=log)

    def unscale(scaled: Floats) -> Floats:
        return np.exp(scaled) if log else np.maximum(scaled, 0.0)

    def chance_above(value: float) -> Floats:
        if log and value <= 0:
            return np.ones(horizon)
        return found.chance_above(math.log(value) if log else value)

    w80, w95, one = (found.half_width(tail) for tail in _TAILS)
    median = unscale(found.mean)
    return Forecast(
        method=COMBINED,
        median=median,
        lo80=unscale(found.mean - w80),
        hi80=unscale(found.mean + w80),
        lo95=unscale(found.mean - w95),
        hi95=unscale(found.mean + w95),
        upper95=unscale(found.mean + one),
        last=float(values[-1]),
        growth=_slope(median),
        scores=tuple((score.method.name, score.mase) for score in scores),
        widened=(found.by_backtest, found.in_all),
        line_slope=None,
        worse_than_naive=choose(scores).method.name == NAIVE,
        chance_above=chance_above,
    )


def _slope(median: Floats) -> float:
    """Bytes a day of the line through the days ahead, which the season does not sway."""
    if len(median) < 3:  # noqa: PLR2004 - a line needs three points
        return float(np.diff(median).mean()) if len(median) > 1 else 0.0
    return fit_line(np.arange(len(median), dtype=np.float64), median).slope


def _days(n: int) -> str:
    return "day" if n == 1 else "days"
