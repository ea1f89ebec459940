"""A forecast of daily points with intervals: refused below 14 days, a line up to 28, then the method that errs least.

Intervals of the chosen method are widened twice, never narrowed: by how far they missed in the backtest, and by how
far apart the methods lie that did about as well, because which of them is right is not known either.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import special

from tierscope.domain.capacity.backtest import Score, backtest, choose, choose_origins, widening
from tierscope.domain.capacity.exhaustion import Exhaustion, find_exhaustion, line_exhaustion
from tierscope.domain.capacity.linear import fit_line
from tierscope.domain.capacity.methods import NAIVE, Method, offered, prepare

Floats = npt.NDArray[np.float64]

MIN_DAYS = 14
LINE_DAYS = 28
MAX_MISSING = 0.2
"""Share of days without a point above which a series is refused; fewer are interpolated."""
RIVAL = 1.2
"""Methods whose error is at most this factor above the best one's could as well be right. [A]"""
LINE = "line"
_TAILS = (0.10, 0.025, 0.05)


@dataclass(frozen=True, slots=True)
class Forecast:
    """Days ahead [h], bytes. `last` is the value to count from; `growth` the median's mean step per day."""

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

    def exhaustion(self, threshold: float) -> Exhaustion:
        """When the threshold is reached; a line's median exactly, others by interpolation between days."""
        found = find_exhaustion(self.last, self.median.tolist(), self.upper95.tolist(), threshold)
        if self.line_slope is None:
            return found
        return Exhaustion(line_exhaustion(self.last, self.line_slope, threshold, len(self.median)), found.early_days)


@dataclass(frozen=True, slots=True)
class Refused:
    """Why there is no forecast, and what is missing."""

    why: str


def forecast_days(values: Sequence[float | None], horizon: int) -> Forecast | Refused:
    """Forecast from daily points up to the last day, None where a day has none; what is excluded is left out before."""
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
    return _by_backtest(np.interp(x, x[known], series[known]), horizon)


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
    )


def _by_backtest(values: Floats, horizon: int) -> Forecast:
    scores = backtest(values, offered(values), horizon)
    best = choose(scores)
    method, n = best.method, len(values)
    ahead = prepare(method, values, n)(n - 1, horizon)
    stretched = ahead.sd * widening(best.misses)
    sd = np.sqrt(stretched**2 + _disagreement(values, best, scores, ahead.mean))
    uncertain = ahead.sd > 0
    factor = float(np.mean(sd[uncertain] / ahead.sd[uncertain])) if uncertain.any() else 1.0

    def at(tail: float, side: float) -> Floats:
        return method.unscale(ahead.mean + side * float(special.ndtri(1.0 - tail)) * sd)

    t80, t95, one = _TAILS
    median = method.unscale(ahead.mean)
    return Forecast(
        method=method.name,
        median=median,
        lo80=at(t80, -1.0),
        hi80=at(t80, 1.0),
        lo95=at(t95, -1.0),
        hi95=at(t95, 1.0),
        upper95=at(one, 1.0),
        last=float(values[-1]),
        growth=_slope(median),
        scores=tuple((score.method.name, score.mase) for score in scores),
        widened=(widening(best.misses), factor),
        line_slope=None,
        worse_than_naive=method.name == NAIVE,
    )


def _slope(median: Floats) -> float:
    """Bytes a day of the line through the days ahead, which the season does not sway."""
    if len(median) < 3:  # noqa: PLR2004 - a line needs three points
        return float(np.diff(median).mean()) if len(median) > 1 else 0.0
    return fit_line(np.arange(len(median), dtype=np.float64), median).slope


def _disagreement(values: Floats, best: Score, scores: Sequence[Score], mean: Floats) -> Floats:
    """The mean square distance of rivals from the chosen method, on its scale."""
    n, horizon = len(values), len(mean)
    rivals = [score for score in scores if score is not best and score.mase <= RIVAL * best.mase]
    total = np.zeros(horizon)
    for rival in rivals:
        theirs = rival.method.unscale(rival.look(n - 1, horizon).mean)
        total += (best.method.scale(_positive(theirs, best.method)) - mean) ** 2
    return total / (len(rivals) + 1)


def _positive(values: Floats, method: Method) -> Floats:
    return np.maximum(values, 1.0) if method.log else values


def _days(n: int) -> str:
    return "day" if n == 1 else "days"
