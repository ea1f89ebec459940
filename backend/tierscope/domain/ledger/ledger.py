"""The ledger itself: from a block of counter samples to one row per interval."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tierscope.domain.counters.monotonic import Bools, Cause, Differences, Floats, Ints, differences, nominal_step
from tierscope.domain.counters.packing import Block
from tierscope.domain.ledger.columns import COLUMN_INDEX, COLUMN_KEYS
from tierscope.domain.ledger.plan import ColumnPlan, Plan, pick

SAME_S = 1e-3
"""Ends of intervals that lie so close are one: they were stored in microseconds."""


@dataclass(frozen=True, slots=True)
class Ledger:
    """n intervals of the ledger. `values` [n, columns] is 0 where not `present`; `times_s` are interval ends.

    `cause` [n] is the most severe reason of the row (Cause); rows of a gap keep their differences.
    """

    times_s: Floats
    dt_seconds: Floats
    values: Ints
    present: Bools
    cause: npt.NDArray[np.int8]

    def __len__(self) -> int:
        return len(self.times_s)

    def rows(self, index: Bools | slice) -> "Ledger":
        """Some of the intervals."""
        return Ledger(
            self.times_s[index], self.dt_seconds[index], self.values[index], self.present[index], self.cause[index]
        )

    def column(self, key: str) -> Floats:
        """One column as float64 [n], NaN where absent."""
        place = COLUMN_INDEX[key]
        return np.where(self.present[:, place], self.values[:, place].astype(np.float64), np.nan)

    def total(self, key: str) -> int | None:
        """Sum over all intervals of the window, None where no interval has the column."""
        place = COLUMN_INDEX[key]
        ok = self.present[:, place]
        return int(self.values[ok, place].sum()) if ok.any() else None

    def during(self, other: "Ledger") -> "Ledger":
        """The rows that end within the time of another ledger, which has rows."""
        start_s = float(other.times_s[0] - other.dt_seconds[0])
        return self.rows((self.times_s > start_s + SAME_S) & (self.times_s <= other.times_s[-1] + SAME_S))

    @property
    def moved_pages(self) -> int:
        """Pages promoted and demoted in all intervals; none where they are not counted."""
        return (self.total("promoted_pages") or 0) + (self.total("demoted_pages") or 0)

    def seconds(self, key: str) -> float:
        """Observed seconds of the column: the sum of its intervals that are present."""
        return float(self.dt_seconds[self.present[:, COLUMN_INDEX[key]]].sum())


def build_ledger(times_s: Floats, boots: Ints, values: Ints, present: Bools, plan: Plan) -> Ledger:
    """Build the rows of samples 1..n-1 of a block; sample 0 is only the base of the first difference.

    A column is absent in a row as soon as one counter that it needs is: a sum with a hole in it is not a sum. A column
    that subtracts can be slightly negative in one interval, because the kernel's lines are not read at one instant;
    it stays so, that totals remain last minus first. A step is a gap by the usual step of these samples.
    """
    n = max(len(times_s) - 1, 0)
    out = np.zeros((n, len(COLUMN_KEYS)), np.int64)
    have = np.zeros((n, len(COLUMN_KEYS)), bool)
    cause = np.zeros(n, np.int8)
    if n == 0:
        return Ledger(times_s[1:], np.diff(times_s), out, have, cause)
    picked = pick(plan)
    block, mask = values[:, picked.places], present[:, picked.places]
    flow = differences(times_s, boots, block, mask, nominal_s=nominal_step(times_s))
    cause = fill_rows(out, have, flow, block[1:], mask[1:], picked.columns)
    return Ledger(times_s[1:], flow.dt_seconds, out, have, cause)


def block_ledger(block: Block, plan: Plan, *, after_s: float | None = None) -> Ledger:
    """Build the rows of a block over whose keys `plan` was made; only those that end after `after_s`, if given."""
    ledger = build_ledger(block.times_us / 1e6, block.boots, block.values, block.present, plan)
    return ledger if after_s is None else ledger.rows(np.round(ledger.times_s, 6) > after_s)


def fill_rows(
    out: Ints,
    have: Bools,
    flow: Differences,
    after: Ints,
    after_present: Bools,
    columns: Sequence[ColumnPlan],
) -> npt.NDArray[np.int8]:
    """Fill `out` and `have` [n, columns] from differences and the samples that end them; returns the causes [n]."""
    worst = np.zeros(len(out), np.int8)
    for place, column in enumerate(columns):
        if not column.plus:
            continue
        plus, minus = list(column.plus), list(column.minus)
        if column.column.gauge:
            have[:, place] = after_present[:, plus].all(axis=1)
            out[:, place] = after[:, plus].sum(axis=1) * column.scale
            continue
        have[:, place] = flow.ok[:, plus].all(axis=1) & flow.ok[:, minus].all(axis=1)
        out[:, place] = flow.delta[:, plus].sum(axis=1) - flow.delta[:, minus].sum(axis=1)
        # What an agent counts since its own start says nothing of the kernel's counters.
        if column.trust != "sampled":
            worst = _gravest(worst, flow.cause[:, plus + minus])
    out[~have] = 0
    return np.where((worst == Cause.NONE) & flow.gap, np.int8(Cause.GAP), worst).astype(np.int8)


_GRAVITY = np.array([0, 4, 3, 1, 2, 0], np.int8)  # by Cause: reboot over backwards over gap over missing


def _gravest(worst: npt.NDArray[np.int8], causes: npt.NDArray[np.int8]) -> npt.NDArray[np.int8]:
    """The most severe cause of each row, of `worst` [n] and `causes` [n, m]."""
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
