"""Ledger rows of many hosts at once: each row one difference between two samples of one host.

Hosts whose kernels count alike have the same plan but for where their layouts keep the counters. Their samples are
picked into one array, so that a column is made once for all of them instead of once for each.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tierscope.domain.counters.monotonic import Bools, Floats, Ints, step_differences
from tierscope.domain.ledger.columns import COLUMN_KEYS
from tierscope.domain.ledger.ledger import Ledger, fill_rows
from tierscope.domain.ledger.plan import ColumnPlan


@dataclass(frozen=True, slots=True)
class Pairs:
    """n differences. `before`, `after` [n, k] with what is present of them; `dt_seconds`, `same_boot`, `gap` [n]."""

    times_s: Floats
    dt_seconds: Floats
    same_boot: Bools
    gap: Bools
    before: Ints
    after: Ints
    before_present: Bools
    after_present: Bools


def build_stacked(pairs: Pairs, columns: Sequence[ColumnPlan]) -> Ledger:
    """The rows of `build_ledger` for differences of several hosts under plans of one likeness."""
    flow = step_differences(
        pairs.before,
        pairs.after,
        pairs.before_present & pairs.after_present,
        pairs.same_boot,
        pairs.dt_seconds,
        pairs.gap,
    )
    n = len(pairs.times_s)
    out = np.zeros((n, len(COLUMN_KEYS)), np.int64)
    have = np.zeros((n, len(COLUMN_KEYS)), bool)
    cause = fill_rows(out, have, flow, pairs.after, pairs.after_present, columns)
    return Ledger(pairs.times_s, pairs.dt_seconds, out, have, cause)
