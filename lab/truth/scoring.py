"""Scores: what single answers are worth, and when a row of the table is not met."""

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from scipy.stats import binomtest, chi2, t

LEVEL = 0.95
POINT = 0.01
"""One point: a hundredth of the memory, of the accesses, of the throughput."""
WIDEST = 10.0 * POINT
"""An interval that is wider says too little for a row to be met."""
WIDEST_COUNT = 2.0
"""The same of counts, over their goal."""
_ROUNDED = 1e-6
"""Whole bytes are lost in rounding."""

Kind = Literal["share", "median", "told", "told_share", "mean", "told_mean", "count"]
Observed = dict[str, list[float]]
"""Of each row the observations: 1 or 0 where a share is judged, else the values."""


@dataclass(frozen=True, slots=True)
class Goal:
    """What a row has to reach: a share of at least or at most `goal`, or a median of at most `goal`.

    With `within`, a share or a mean has to be `goal`, give or take so much. A count is one of events, each value those
    of `exposure` service-years, and its goal the events of one. A row that is `told` has no goal: its median is shown,
    or its share or mean. `points`: values are shares, shown in points.
    """

    row: str
    kind: Kind
    goal: float | None = None
    at_most: bool = False
    points: bool = True
    within: float | None = None
    exposure: float = 1.0


@dataclass(frozen=True, slots=True)
class Judged:
    """A row of the table. `met` is None where it is not judged, and `reason` says why, or what to know."""

    row: str
    value: float | None
    lo: float | None
    hi: float | None
    n: int
    goal: str
    met: bool | None
    reason: str = ""
    is_count: bool = False


def interval_of(figure: Mapping[str, Any]) -> tuple[float, float] | None:
    """The interval that a figure states; without one it claims to be exact. None where there is no number."""
    if figure["value"] is None:
        return None
    stated = figure["interval"]
    return (figure["value"], figure["value"]) if stated is None else (stated["lo"], stated["hi"])


def holds(interval: tuple[float, float], truth: float) -> float:
    """1 where an interval holds the truth, else 0."""
    return float(interval[0] - _ROUNDED <= truth <= interval[1] + _ROUNDED)


def collect(parts: Iterable[Observed]) -> Observed:
    """Observations of several fleets together."""
    whole: Observed = {}
    for part in parts:
        for row, values in part.items():
            whole.setdefault(row, []).extend(values)
    return whole


def judge(goal: Goal, values: Sequence[float]) -> Judged:
    """A row: met where its estimate meets the goal and its 95 % interval is narrower than 10 points.

    With a wider one it is left open, and it is not met where the estimate misses. Intervals of shares are Wilson's, of
    "never" Clopper and Pearson's.
    """
    n = len(values)
    if n == 0:
        return Judged(goal.row, None, None, None, 0, _words(goal), None)
    if goal.kind in ("share", "told_share"):
        return _judge_share(goal, values)
    if goal.kind in ("mean", "told_mean"):
        return _judge_mean(goal, values)
    if goal.kind == "count":
        return _judge_count(goal, values)
    middle = statistics.median(values)
    lo, hi = _median_interval(values)
    met, reason = _decide(goal, middle, hi - lo) if goal.kind == "median" else (None, "")
    return Judged(goal.row, middle, lo, hi, n, _words(goal), met, reason)


def _judge_share(goal: Goal, values: Sequence[float]) -> Judged:
    n, hits = len(values), round(sum(values))
    never = goal.goal == 0.0
    lo, hi = _interval(hits, n, exact=never)
    return Judged(goal.row, hits / n, lo, hi, n, _words(goal), *_decide(goal, hits / n, hi - lo))


def _judge_mean(goal: Goal, values: Sequence[float]) -> Judged:
    """A mean with its interval by Student's t."""
    n, mean = len(values), statistics.fmean(values)
    deviation = statistics.stdev(values) if n > 1 else 0.0
    half = float(t.ppf((1.0 + LEVEL) / 2.0, n - 1)) * deviation / math.sqrt(n) if n > 1 else math.inf
    return Judged(goal.row, mean, mean - half, mean + half, n, _words(goal), *_decide(goal, mean, 2.0 * half))


def _judge_count(goal: Goal, values: Sequence[float]) -> Judged:
    """Events a service-year, with the exact interval of a Poisson count (Garwood 1936)."""
    events, years, tail = sum(values), len(values) * goal.exposure, (1.0 - LEVEL) / 2.0
    lo = float(chi2.ppf(tail, 2.0 * events)) / 2.0 / years if events else 0.0
    hi = float(chi2.ppf(1.0 - tail, 2.0 * events + 2.0)) / 2.0 / years
    decided = _decide(goal, events / years, hi - lo)
    return Judged(goal.row, events / years, lo, hi, len(values), _words(goal), *decided, is_count=True)


def _decide(goal: Goal, estimate: float, width: float) -> tuple[bool | None, str]:
    """Whether a row is met by its estimate, with the reason where that cannot be said; None without a goal."""
    if goal.goal is None:
        return None, ""
    off = abs(estimate - goal.goal) if goal.within is not None else estimate - goal.goal
    most = 0.0 if goal.within is None else goal.within
    at_most = goal.at_most or goal.kind == "median" or goal.within is not None
    if (off if at_most else -off) > most:
        return False, ""
    widest = WIDEST_COUNT * goal.goal if goal.kind == "count" else WIDEST
    return (True, "") if width <= widest else (None, "too few to tell")


def _interval(hits: int, n: int, *, exact: bool = False) -> tuple[float, float]:
    found = binomtest(hits, n).proportion_ci(LEVEL, method="exact" if exact else "wilson")
    return float(found.low), float(found.high)


def _median_interval(values: Sequence[float]) -> tuple[float, float]:
    """The values at the ends of the interval of the ranks that the median may have."""
    ordered, n = sorted(values), len(values)
    lo, hi = _interval(n // 2, n)
    return ordered[max(int(lo * n) - 1, 0)], ordered[min(int(hi * n), n - 1)]


def _words(goal: Goal) -> str:
    if goal.goal is None:
        return "-"
    if goal.within is not None:
        return f"{goal.goal / POINT:g} +- {goal.within / POINT:g} points"
    side = "at most" if goal.at_most or goal.kind == "median" else "at least"
    if goal.kind == "count":
        return f"{side} {goal.goal:g}"
    if goal.kind == "median":
        return f"median {side} {goal.goal / POINT:g} points" if goal.points else f"median {side} {goal.goal:g}"
    return "never" if goal.goal == 0.0 else f"{side} {goal.goal:.0%}"
