"""The table: all rows with their goals, judged over all fleets, and those that are not judged."""

from __future__ import annotations

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
NOT_JUDGED = {
    "accesses served against DRAM size": "panels of the twin tell active pages from idle ones and count no accesses; "
    "the answer says so and is judged as active intervals",
    "anon-versus-file sensitivity from throughput (elasticities)": "in the twin throughput hardly depends on how much "
    "of a kind is in DRAM from minute to minute; the answer mostly says that it is not enough to tell",
    "alerts on agents (silent, late, outdated, cloned, clock)": "history is sent at once, so that nothing is silent or "
    "late while it is judged; late, cloned and clocks are in the truth alone (twin.md)",
    "alerts on leaks, links and limits": "no shipped rule of a host is about them, or it needs what the fleet does "
    "not send",
    "forecast, change points, outliers": "judged over many series, by `--series`: one fleet has too few of them",
}
_TOLD_AS_SHARE = frozenset({rows_reaccess.AGAIN_BANDED})


def observe(fleet: JudgedFleet, *, heat_only: bool = False) -> Observed:
    """All observations of a fleet."""
    return collect(area.observe(fleet) for area in (HEAT_ALONE if heat_only else AREAS))


def judge_all(observed: Observed, *, heat_only: bool = False) -> list[Judged]:
    """All rows, those that are not judged last."""
    goals = [goal for area in (HEAT_ALONE if heat_only else AREAS) for goal in area.GOALS]
    judged = [judge(_as_shown(goal), observed.get(goal.row, [])) for goal in goals]
    if heat_only:
        return judged
    return judged + [Judged(row, None, None, None, 0, "-", None, reason) for row, reason in NOT_JUDGED.items()]


def judge_series(observed: Observed) -> list[Judged]:
    """The rows of many series."""
    return [judge(goal, observed.get(goal.row, [])) for goal in rows_series.GOALS]


def _as_shown(goal: Goal) -> Goal:
    kind: Kind = "share" if goal.row in _TOLD_AS_SHARE else goal.kind
    return replace(goal, kind=kind)


def render(rows: Sequence[Judged]) -> str:
    """The table in Markdown. Shares are per cent, medians points."""
    head = "| Answer | Score | 95 % interval | n | Goal | Met |\n|---|--:|---|--:|---|---|\n"
    return head + "\n".join(_line(row) for row in rows)


def _line(row: Judged) -> str:
    if row.value is None or row.lo is None or row.hi is None:
        return f"| {row.row} | - | - | {row.n} | {row.goal} | not judged: {row.reason} |"
    unit = 1.0 if row.is_count else POINT
    score, lo, hi = (f"{value / unit:.1f}" for value in (row.value, row.lo, row.hi))
    met = {True: "yes", False: "**no**", None: "-"}[row.met]
    return f"| {row.row} | {score} | {lo} to {hi} | {row.n:,} | {row.goal} | {met} |"
