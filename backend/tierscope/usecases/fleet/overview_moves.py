"""Tier moves and memory pressure of the whole fleet over a window, as series."""

from collections.abc import Sequence
from datetime import UTC, datetime

import numpy as np
import numpy.typing as npt

from tierscope.core.database import ReadSession
from tierscope.domain.base.axis import Grid
from tierscope.domain.base.figures import Series, gaps_to_none
from tierscope.domain.ledger import Ledger
from tierscope.domain.ledger.flows import rate_series, sum_series
from tierscope.storage.ledger.fleet import FleetMinutes, join_minutes, read_fleet_moves, sum_minutes

Floats = npt.NDArray[np.float64]

_MOVES = (("promoted", "Promoted", "promoted_pages"), ("demoted", "Demoted", "demoted_pages"))
_PRESSURE = 2


def read_fleet_minutes(session: ReadSession, grid: Grid) -> FleetMinutes:
    """What all hosts moved in the grid's window: stored minutes, and from the ledger what no worker has summed yet."""
    start, end = grid.window.start, grid.window.end
    stored = read_fleet_moves(session, start, end)
    covered = datetime.fromtimestamp(float(stored.ends_s[-1]), UTC) if len(stored.ends_s) else start
    if covered >= end:
        return stored
    return join_minutes(stored, sum_minutes(session, covered, end))


def move_series(
    minutes: FleetMinutes, ledgers: Sequence[Ledger], grid: Grid
) -> tuple[tuple[Series, ...], tuple[Series, ...]]:
    """Rates over all hosts, and pressure as their mean; from these newest ledgers alone where there are no minutes."""
    if len(minutes.ends_s):
        totals = [_mean_rate(minutes, place, grid, over_hosts=True) for place in range(len(_MOVES))]
        pressure = _mean_rate(minutes, _PRESSURE, grid, over_hosts=False)
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


def _mean_rate(minutes: FleetMinutes, place: int, grid: Grid, *, over_hosts: bool) -> Floats:
    """The mean rate of a host by bucket; times the hosts that count it, for a sum over them."""
    at = grid.place(minutes.ends_s)
    hosts = np.bincount(at, weights=minutes.hosts[place], minlength=len(grid))
    rates = np.bincount(at, weights=minutes.per_s[place], minlength=len(grid))
    known = np.ones(len(grid))
    if over_hosts:
        known = np.zeros(len(grid))
        np.maximum.at(known, at, minutes.known[place])
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(hosts > 0, rates / hosts * known, np.nan)


def _sum_parts(parts: Sequence[Floats], grid: Grid) -> Floats:
    return sum_series(parts) if parts else np.full(len(grid), np.nan)
