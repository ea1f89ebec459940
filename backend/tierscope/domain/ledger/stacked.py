"""Ledger rows of many hosts at once: each row one difference between two samples of one host.

Hosts whose kernels count alike have the same plan but for where their layouts keep the counters. Their samples are
picked into one array, so that a column is made once for all of them instead of once for each.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tierscope.domain.counters.monotonic import GAP_INTERVALS, Bools, Floats, Ints, nominal_step, step_differences
from tierscope.domain.counters.packing import Block
from tierscope.domain.ledger.columns import COLUMN_KEYS
from tierscope.domain.ledger.ledger import Ledger, fill_rows
from tierscope.domain.ledger.plan import ColumnPlan, Likeness, PickedPlan


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


def block_ledgers(parts: Sequence[tuple[Block, PickedPlan]], *, after_s: float) -> list[Ledger]:
    """What `block_ledger` makes of each block under its plan; made together where plans are alike."""
    alike: dict[Likeness, list[int]] = {}
    for place, (_, picked) in enumerate(parts):
        alike.setdefault(picked.likeness, []).append(place)
    made: dict[int, Ledger] = {}
    for places in alike.values():
        ledger = build_stacked(_stack([parts[place] for place in places]), parts[places[0]][1].columns)
        at = 0
        for place in places:
            until = at + max(len(parts[place][0]) - 1, 0)
            rows = ledger.rows(slice(at, until))
            made[place] = rows.rows(np.round(rows.times_s, 6) > after_s)
            at = until
    return [made[place] for place in range(len(parts))]


def _stack(parts: Sequence[tuple[Block, PickedPlan]]) -> Pairs:
    times = [block.times_us / 1e6 for block, _ in parts]
    steps = [np.diff(some) for some in times]
    values = [block.values[:, picked.places] for block, picked in parts]
    present = [block.present[:, picked.places] for block, picked in parts]
    return Pairs(
        times_s=np.concatenate([some[1:] for some in times]),
        dt_seconds=np.concatenate(steps),
        same_boot=np.concatenate([block.boots[1:] == block.boots[:-1] for block, _ in parts]),
        gap=np.concatenate(
            [step > GAP_INTERVALS * nominal_step(some) for some, step in zip(times, steps, strict=True)]
        ),
        before=np.concatenate([some[:-1] for some in values]),
        after=np.concatenate([some[1:] for some in values]),
        before_present=np.concatenate([some[:-1] for some in present]),
        after_present=np.concatenate([some[1:] for some in present]),
    )
