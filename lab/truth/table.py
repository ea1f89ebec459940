"""The table: all rows with their goals, judged over all fleets."""

from collections.abc import Sequence
from dataclasses import replace

from truth import (
    rows_experiments,
    rows_heat,
    rows_moves,
    rows_ratio,
    rows_reaccess,
    rows_saving,
    rows_sensitivity,
    rows_series,
    rows_settings,
    rows_states,
)
from truth.fleets import JudgedFleet
from truth.scoring import POINT, Goal, Judged, Kind, Observed, collect, judge

AREAS = (
    rows_heat,
    rows_reaccess,
    rows_states,
    rows_ratio,
    rows_moves,
    rows_sensitivity,
    rows_experiments,
    rows_saving,
    rows_settings,
)
HEAT_ALONE = (rows_heat,)
_TOLD_AS_SHARE = frozenset({rows_reaccess.AGAIN_BANDED})


def observe(fleet: JudgedFleet, *, heat_only: bool = False) -> Observed:
    return collect(area.observe(fleet) for area in (HEAT_ALONE if heat_only else AREAS))


def judge_all(observed: Observed, *, heat_only: bool = False) -> list[Judged]:
    goals = [goal for area in (HEAT_ALONE if heat_only else AREAS) for goal in area.GOALS]
    return [judge(_as_shown(goal), observed.get(goal.row, [])) for goal in goals]


def judge_series(observed: Observed) -> list[Judged]:
    return [judge(goal, observed.get(goal.row, [])) for goal in rows_series.GOALS]


def _as_shown(goal: Goal) -> Goal:
    kind: Kind = "share" if goal.row in _TOLD_AS_SHARE else goal.kind
    return replace(goal, kind=kind)


def render(rows: Sequence[Judged]) -> str:
    """The table in Markdown, and which rows had nothing to judge. Shares are per cent, medians points."""
    head = "| Answer | Score | 95 % interval | n | Goal | Met |\n|---|--:|---|--:|---|---|\n"
    table = head + "\n".join(_line(row) for row in rows if row.n)
    empty = "; ".join(row.row for row in rows if not row.n)
    return f"{table}\n\nNothing of the kind was there: {empty}." if empty else table


def _line(row: Judged) -> str:
    assert row.value is not None
    assert row.lo is not None
    assert row.hi is not None
    unit = 1.0 if row.is_count else POINT
    score, lo, hi = (f"{value / unit:.1f}" for value in (row.value, row.lo, row.hi))
    met = {True: "yes", False: "**no**", None: row.reason or "-"}[row.met]
    return f"| {row.row} | {score} | {lo} to {hi} | {row.n:,} | {row.goal} | {met} |"
