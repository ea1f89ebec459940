"""Tier moves and memory pressure of the whole fleet over a window, as series."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np
import numpy.typing as npt

from tierscope.core.database import ReadSession
from tierscope.domain.base.axis import Grid
from tierscope.domain.base.figures import Series, gaps_to_none
from tierscope.domain.base.jobs import COUNTERS, COUNTERS_CLOSED
from tierscope.domain.base.words import counted
from tierscope.domain.ledger import Ledger
from tierscope.domain.ledger.flows import rate_series, sum_series
from tierscope.storage.base.dirty_buckets import count_waiting
from tierscope.storage.ledger.fleet import (
    MINUTES,
    TEN_MINUTES,
    FleetMinutes,
    join_minutes,
    read_fleet_moves,
    sum_minutes,
)

Floats = npt.NDArray[np.float64]

_MOVES = (("promoted", "Promoted", "promoted_pages"), ("demoted", "Demoted", "demoted_pages"))
_PRESSURE = 2
_LEAST_SUMMED_RATIO = 0.95
"""Share of the hosts that sent something from which a total is told [A]."""
_MOST_MARKS = 200_000
"""More are not counted: reading them would hold up the page."""


@dataclass(frozen=True, slots=True)
class FleetCourse:
    """Moves and pressure over a window; `missing`: why they lack steps for which counters arrived."""

    moves: tuple[Series, ...]
    psi: tuple[Series, ...]
    missing: str | None


def read_course(session: ReadSession, grid: Grid, ledgers: Sequence[Ledger], *, now: datetime) -> FleetCourse:
    """The course of all hosts; from these newest `ledgers` alone where no minutes are known."""
    # Marks before minutes: what a worker stores in between is then only taken for missing.
    waiting = read_waiting(session, grid, now=now)
    minutes = read_fleet_minutes(session, grid)
    return FleetCourse(*move_series(minutes, ledgers, grid, waiting), tell_missing(minutes, waiting, grid))


def read_fleet_minutes(session: ReadSession, grid: Grid) -> FleetMinutes:
    """What all hosts moved in the grid's window: stored minutes, and from the ledger what no worker has summed yet."""
    start, end = grid.window.start, grid.window.end
    stored = read_fleet_moves(session, start, end)
    covered = datetime.fromtimestamp(float(stored.ends_s[-1]), UTC) if len(stored.ends_s) else start
    if covered >= end:
        return stored
    return join_minutes(stored, sum_minutes(session, covered, end))


def read_waiting(session: ReadSession, grid: Grid, *, now: datetime) -> Floats:
    """By bucket [b] how many hosts sent counters of which no worker has made the ledger yet, though it is due.

    After an outage of the workers, or of agents that send what they held back, workers go from host to host. Infinite
    where too many wait to be counted.
    """
    start, end = grid.window.start, grid.window.end
    before = min(end, COUNTERS_CLOSED.due_before(now))
    found = count_waiting(session, COUNTERS.kind, since=start - TEN_MINUTES, before=before, most=_MOST_MARKS)
    if found is None:
        return np.where(grid.ends_s <= before.timestamp(), np.inf, 0.0)
    ends = np.array([[bucket.timestamp() + 60 * minute for minute in range(1, MINUTES + 1)] for bucket in found])
    hosts = np.repeat(np.array(list(found.values()), np.float64), MINUTES)
    inside = (ends.ravel() > start.timestamp()) & (ends.ravel() <= end.timestamp())
    waiting = np.zeros(len(grid))
    np.maximum.at(waiting, grid.place(ends.ravel()[inside]), hosts[inside])
    return waiting


def tell_missing(minutes: FleetMinutes, waiting: Floats, grid: Grid) -> str | None:
    """Why the series lack buckets for which counters arrived; None where they lack none."""
    lacking = int(_is_short(_known(minutes, 0, grid), waiting).sum())
    if not lacking:
        return None
    most = waiting.max()
    hosts = "many hosts" if np.isinf(most) else counted(int(most), "host")
    return (
        f"{lacking} of {len(grid)} steps are not shown yet: workers still sum up what {hosts} sent, and a total without"
        " them would be too low."
    )


def move_series(
    minutes: FleetMinutes, ledgers: Sequence[Ledger], grid: Grid, waiting: Floats
) -> tuple[tuple[Series, ...], tuple[Series, ...]]:
    """Rates over all hosts, and pressure as their mean; from these newest ledgers alone where there are no minutes.

    A bucket for which too many hosts are `waiting` [b] to be summed has no value: a total of the others is too low.
    """
    if len(minutes.ends_s):
        totals = [_mean_rate(minutes, place, grid, waiting, over_hosts=True) for place in range(len(_MOVES))]
        pressure = _mean_rate(minutes, _PRESSURE, grid, waiting, over_hosts=False)
    else:
        start, end = grid.window.start.timestamp(), grid.window.end.timestamp()
        inside = [part for part in ledgers if len(part.times_s) and start < part.times_s[0] and part.times_s[-1] <= end]
        totals = [_sum_parts([rate_series(part, grid, key) for part in inside], grid) for _, _, key in _MOVES]
        shares = [rate_series(part, grid, "psi_some_us") for part in inside]
        measured = np.sum([np.isfinite(share) for share in shares], axis=0) if shares else np.zeros(len(grid))
        with np.errstate(invalid="ignore", divide="ignore"):
            pressure = _sum_parts(shares, grid) / measured * 1e-6
    moves = tuple(
        Series(name, label, "pages_per_s", gaps_to_none(total))
        for (name, label, _), total in zip(_MOVES, totals, strict=True)
    )
    return moves, (Series("memory_some", "memory, some", "ratio", gaps_to_none(pressure)),)


def _mean_rate(minutes: FleetMinutes, place: int, grid: Grid, waiting: Floats, *, over_hosts: bool) -> Floats:
    """The mean rate of a host by bucket; times the hosts that count it, for a sum over them."""
    at = grid.place(minutes.ends_s)
    hosts = np.bincount(at, weights=minutes.hosts[place], minlength=len(grid))
    rates = np.bincount(at, weights=minutes.per_s[place], minlength=len(grid))
    known = _known(minutes, place, grid)
    there = (hosts > 0) & ~_is_short(known, waiting)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(there, rates / hosts * (known if over_hosts else 1.0), np.nan)


def _known(minutes: FleetMinutes, place: int, grid: Grid) -> Floats:
    """The most hosts that count it in any ten minutes of a bucket [b]."""
    known = np.zeros(len(grid))
    np.maximum.at(known, grid.place(minutes.ends_s), minutes.known[place])
    return known


def _is_short(known: Floats, waiting: Floats) -> npt.NDArray[np.bool_]:
    """Whether too few of the hosts that sent something are summed, by bucket."""
    return np.asarray((waiting > 0) & (known < _LEAST_SUMMED_RATIO * (known + waiting)), np.bool_)


def _sum_parts(parts: Sequence[Floats], grid: Grid) -> Floats:
    return sum_series(parts) if parts else np.full(len(grid), np.nan)
