"""Scores: what single answers are worth, and when a row of the table is not met."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from scipy.stats import binomtest

LEVEL = 0.95
POINT = 0.01
"""One point: a hundredth of the memory, of the accesses, of the throughput."""
_ROUNDED = 1e-6
"""Whole bytes are lost in rounding."""

Kind = Literal["share", "median", "told"]
Observed = dict[str, list[float]]
"""Of each row the observations: 1 or 0 where a share is judged, else the values."""


@dataclass(frozen=True, slots=True)
class Goal:
    """What a row has to reach: a share of at least or at most `goal`, or a median of at most `goal`.

    A row that is `told` has no goal. `points`: values are shares, shown in points.
    """

    row: str
    kind: Kind
    goal: float | None = None
    at_most: bool = False
    points: bool = True


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
    """A row. It is not met only where the 95 % interval (Wilson; Clopper-Pearson for "never") excludes the goal."""
    n = len(values)
    if n == 0:
        return Judged(goal.row, None, None, None, 0, _words(goal), None, "nothing of the kind was in these fleets")
    if goal.kind == "share":
        return _judge_share(goal, values)
    middle = statistics.median(values)
    lo, hi = _median_interval(values)
    met = None
    if goal.kind == "median" and goal.goal is not None:
        within = sum(value <= goal.goal for value in values)
        met = _interval(within, n)[1] >= 0.5
    return Judged(goal.row, middle, lo, hi, n, _words(goal), met)


def _judge_share(goal: Goal, values: Sequence[float]) -> Judged:
    n, hits = len(values), round(sum(values))
    never = goal.goal == 0.0
    lo, hi = _interval(hits, n, exact=never)
    met = None if goal.goal is None else (lo <= goal.goal if goal.at_most else hi >= goal.goal)
    return Judged(goal.row, hits / n, lo, hi, n, _words(goal), met)


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
    side = "at most" if goal.at_most or goal.kind == "median" else "at least"
    if goal.kind == "median":
        return f"median {side} {goal.goal / POINT:g} points" if goal.points else f"median {side} {goal.goal:g}"
    return "never" if goal.goal == 0.0 else f"{side} {goal.goal:.0%}"
