"""The ledger itself: from a block of counter samples to one row per interval."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tierscope.domain.counters import Bools, Cause, Floats, Ints, differences
from tierscope.domain.tier_moves.columns import COLUMN_INDEX, COLUMN_KEYS
from tierscope.domain.tier_moves.plan import Plan


@dataclass(frozen=True, slots=True)
class Ledger:
    """n intervals of the ledger. `values` [n, columns] is 0 where not `present`; `times_s` are interval ends.

    `cause` [n] is the gravest reason of the row (Cause); rows of a gap keep their differences.
    """

    times_s: Floats
    dt_seconds: Floats
    values: Ints
    present: Bools
    cause: npt.NDArray[np.int8]

    def column(self, key: str) -> Floats:
        """One column as float64 [n], NaN where absent."""
        place = COLUMN_INDEX[key]
        return np.where(self.present[:, place], self.values[:, place].astype(np.float64), np.nan)

    def total(self, key: str) -> int | None:
        """Sum over all intervals of the window, None where no interval has the column."""
        place = COLUMN_INDEX[key]
        ok = self.present[:, place]
        return int(self.values[ok, place].sum()) if ok.any() else None

    def seconds(self, key: str) -> float:
        """Observed seconds of the column: the sum of its intervals that are present."""
        return float(self.dt_seconds[self.present[:, COLUMN_INDEX[key]]].sum())


def build_ledger(times_s: Floats, boots: Ints, values: Ints, present: Bools, plan: Plan, *, nominal_s: float) -> Ledger:
    """Build the rows of samples 1..n-1 of a block; sample 0 is only the base of the first difference.

    A column is absent in a row as soon as one counter that it needs is: a sum with a hole in it is not a sum. A column
    that subtracts can be slightly negative in one interval, because the kernel's lines are not read at one instant;
    it stays so, that totals remain last minus first.
    """
    n = max(len(times_s) - 1, 0)
    out = np.zeros((n, len(COLUMN_KEYS)), np.int64)
    have = np.zeros((n, len(COLUMN_KEYS)), bool)
    cause = np.zeros(n, np.int8)
    if n == 0:
        return Ledger(times_s[1:], np.diff(times_s), out, have, cause)
    wanted = sorted({place for column in plan.columns for place in (*column.plus, *column.minus)})
    at = {place: position for position, place in enumerate(wanted)}
    block, mask = values[:, wanted], present[:, wanted]
    flow = differences(times_s, boots, block, mask, nominal_s=nominal_s)
    worst = np.zeros(n, np.int8)
    for place, column in enumerate(plan.columns):
        if not column.plus:
            continue
        plus = [at[p] for p in column.plus]
        if column.column.gauge:
            have[:, place] = mask[1:, plus].all(axis=1)
            unit = plan.page_bytes if column.counters[0].startswith("nr_") else 1
            out[:, place] = block[1:, plus].sum(axis=1) * unit
            continue
        minus = [at[p] for p in column.minus]
        have[:, place] = flow.ok[:, plus].all(axis=1) & flow.ok[:, minus].all(axis=1)
        out[:, place] = flow.delta[:, plus].sum(axis=1) - flow.delta[:, minus].sum(axis=1)
        worst = _gravest(worst, flow.cause[:, plus + minus])
    cause = np.where((worst == Cause.NONE) & flow.gap, np.int8(Cause.GAP), worst).astype(np.int8)
    out[~have] = 0
    return Ledger(times_s[1:], flow.dt_seconds, out, have, cause)


_GRAVITY = np.array([0, 4, 3, 1, 2, 0], np.int8)  # by Cause: reboot over backwards over gap over missing


def _gravest(worst: npt.NDArray[np.int8], causes: npt.NDArray[np.int8]) -> npt.NDArray[np.int8]:
    """The gravest cause of each row, of `worst` [n] and `causes` [n, m]."""
    for column in causes.T:
        worst = np.where(_GRAVITY[column] > _GRAVITY[worst], column, worst)
    return worst


def concatenate(parts: list[Ledger]) -> Ledger:
    """Join ledgers of consecutive stretches."""
    if not parts:
        empty = np.zeros(0)
        shape = (0, len(COLUMN_KEYS))
        return Ledger(empty, empty, np.zeros(shape, np.int64), np.zeros(shape, bool), np.zeros(0, np.int8))
    return Ledger(
        np.concatenate([part.times_s for part in parts]),
        np.concatenate([part.dt_seconds for part in parts]),
        np.concatenate([part.values for part in parts]),
        np.concatenate([part.present for part in parts]),
        np.concatenate([part.cause for part in parts]),
    )
