"""Ledgers on a time axis: rates per bucket of one host, and their sum over hosts."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from tierscope.domain.base.axis import Grid
from tierscope.domain.counters.monotonic import CAUSE_TEXT, Cause
from tierscope.domain.ledger.columns import COLUMN_INDEX, COLUMN_KEYS, COLUMNS, SHARES
from tierscope.domain.ledger.ledger import Ledger

Floats = npt.NDArray[np.float64]


def rate_series(ledger: Ledger, grid: Grid, key: str) -> Floats:
    """Per bucket [b] the sum of a flow over its observed seconds, or the mean of a gauge; NaN without data."""
    column = ledger.column(key)
    known = np.isfinite(column)
    place = grid.place(ledger.times_s[known])
    sums = np.bincount(place, weights=column[known], minlength=len(grid))
    gauge = COLUMNS[COLUMN_INDEX[key]].gauge
    weights = np.ones(int(known.sum())) if gauge else ledger.dt_seconds[known]
    over = np.bincount(place, weights=weights, minlength=len(grid))
    with np.errstate(invalid="ignore", divide="ignore"):
        out: Floats = np.where(over > 0, sums / over, np.nan)
    return out


def sum_series(parts: Sequence[Floats]) -> Floats:
    """Sum over hosts per bucket; a bucket without any host is NaN."""
    stacked = np.stack(parts)
    known = np.isfinite(stacked).any(axis=0)
    out: Floats = np.where(known, np.nansum(stacked, axis=0), np.nan)
    return out


def join_series(parts: Sequence[Floats], key: str) -> Floats:
    """A column of several hosts per bucket: their sum, of shares their mean; a bucket without any host is NaN."""
    total = sum_series(parts)
    return total / np.maximum(np.isfinite(np.stack(parts)).sum(axis=0), 1) if key in SHARES else total


def list_resets(ledger: Ledger) -> list[tuple[float, str, list[str]]]:
    """What was left out: interval end, cause in words, columns. A flagged gap keeps its differences."""
    used = ledger.present.any(axis=0)
    found = []
    for i in np.flatnonzero(ledger.cause != Cause.NONE).tolist():
        cause = int(ledger.cause[i])
        missing = used & ~ledger.present[i]
        lost = [key for key, gone in zip(COLUMN_KEYS, missing.tolist(), strict=True) if gone]
        if lost or cause == Cause.GAP:
            found.append((float(ledger.times_s[i]), CAUSE_TEXT.get(cause, "unknown cause"), lost))
    return found
