"""Rolling-origin backtests: how methods err on days that they had not seen.

Origins are spread over the second half of a series. A method's constants are fitted on the days before the first
origin and kept; its states run on. Errors are scaled by the mean step from one week to the next before the origin
(MASE, seasonal): 1 is as good as repeating the last week.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tierscope.domain.capacity.methods import NAIVE, Method, prepare
from tierscope.domain.capacity.smoothing import WEEK, Ahead

Floats = npt.NDArray[np.float64]

ORIGINS = 10
SAME = 1e-9
"""Weeks that differ by less than this share of the level repeat exactly."""
FIRST_ORIGIN = 21
"""Days before the first origin at least: three weeks."""


@dataclass(frozen=True, slots=True)
class Score:
    """How a method did: its error, and what it said from each of the origins, on its own scale."""

    method: Method
    mase: float
    origins: tuple[int, ...]
    told: tuple[Ahead, ...]


def choose_origins(n: int, horizon: int) -> tuple[int, ...]:
    """Lengths of the stretches to forecast from: at least three weeks, at most all but a week of the series."""
    first = max(FIRST_ORIGIN, n // 2, n - 2 * horizon)
    last = n - WEEK
    if last < first:
        return ()
    return tuple(int(found) for found in np.unique(np.linspace(first, last, ORIGINS).round().astype(np.int64)))


def backtest(values: Floats, methods: Sequence[Method], horizon: int) -> tuple[Score, ...]:
    """Scores of all methods, the best first; empty where the series is too short for any origin."""
    origins = choose_origins(len(values), horizon)
    if not origins:
        return ()
    scores = [_score(values, method, origins, horizon) for method in methods]
    return tuple(sorted(scores, key=lambda score: score.mase))


def choose(scores: Sequence[Score]) -> Score:
    """The best method; the naive one where none is better than that."""
    return min(scores, key=lambda score: (score.mase, score.method.name != NAIVE))


def _score(values: Floats, method: Method, origins: Sequence[int], horizon: int) -> Score:
    look = prepare(method, values, origins[0])
    errors, told = [], []
    least = SAME * float(np.abs(values).mean()) or 1.0
    for origin in origins:
        days = min(horizon, len(values) - origin)
        ahead = look(origin - 1, days)
        step = float(np.abs(values[WEEK:origin] - values[: origin - WEEK]).mean())
        errors.append(
            float(np.abs(values[origin : origin + days] - method.unscale(ahead.mean)).mean()) / max(step, least)
        )
        told.append(ahead)
    return Score(method, float(np.mean(errors)), tuple(origins), tuple(told))
