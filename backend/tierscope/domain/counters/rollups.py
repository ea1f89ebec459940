"""Rollups of counters: per bucket and key first, last, min, max, sum and n, never averages.

For a monotonic counter `sum` is the reset-safe sum of differences that end in the bucket, so that sums of fine buckets
are the sum of the coarse one; for a gauge it is the sum of samples. Rates divide by `OBSERVED_KEY`, the seconds that
were observed. Values that are missing are NaN, with n = 0.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tierscope.domain.base.buckets import bucket_start, segments
from tierscope.domain.counters.monotonic import differences
from tierscope.domain.counters.packing import Block

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

OBSERVED_KEY = "host|tierscope|observed_seconds"
"""A key that the service adds: its `sum` is the seconds between samples of one boot, `n` how many."""


@dataclass(frozen=True, slots=True)
class Rollup:
    """m buckets over k keys. `starts_us` [m]; floats [m, k], NaN where missing; `n` [m, k]."""

    starts_us: Ints
    keys: tuple[str, ...]
    first: Floats
    last: Floats
    min: Floats
    max: Floats
    sum: Floats
    n: Ints

    def __len__(self) -> int:
        return len(self.starts_us)

    def rows(self, index: Ints | npt.NDArray[np.bool_]) -> "Rollup":
        """Some of the buckets."""
        columns = {name: getattr(self, name)[index] for name in STATISTICS}
        return Rollup(starts_us=self.starts_us[index], keys=self.keys, n=self.n[index], **columns)


STATISTICS = ("first", "last", "min", "max", "sum")
"""What a rollup holds beside n."""


def roll_up(block: Block, counter_keys: frozenset[str], *, base_us: int, width_us: int, nominal_s: float) -> Rollup:
    """Roll a block up over its keys. Samples at or before `base_us` only serve as the base of differences."""
    times_s = block.times_us / 1e6
    flow = differences(times_s, block.boots, block.values, block.present, nominal_s=nominal_s)
    keep = block.times_us > base_us
    values = np.where(block.present, block.values.astype(np.float64), np.nan)[keep]
    starts, at = segments(bucket_start(block.times_us[keep], width_us))
    monotonic = np.array([key in counter_keys for key in block.keys], bool)
    delta = np.full(block.values.shape, np.nan)
    delta[1:] = np.where(flow.ok, flow.delta, np.nan)
    added = np.where(monotonic[None, :], delta[keep], values)
    same_boot = np.concatenate(([False], block.boots[1:] == block.boots[:-1])) if len(block) else np.zeros(0, bool)
    seconds = np.where(same_boot, np.concatenate(([0.0], np.diff(times_s))) if len(block) else times_s, np.nan)[keep]
    values = np.column_stack([values, seconds])
    added = np.column_stack([added, seconds])
    known, counted = np.isfinite(values), np.isfinite(added)
    if len(starts) == 0:
        none = np.zeros((0, len(block.keys) + 1))
        return Rollup(starts, (*block.keys, OBSERVED_KEY), none, none, none, none, none, none.astype(np.int64))
    n = np.add.reduceat(counted.astype(np.int64), at, axis=0)
    return Rollup(
        starts_us=starts,
        keys=(*block.keys, OBSERVED_KEY),
        first=_edge(values, known, at, first=True),
        last=_edge(values, known, at, first=False),
        min=_finite(np.minimum.reduceat(np.where(known, values, np.inf), at, axis=0)),
        max=_finite(np.maximum.reduceat(np.where(known, values, -np.inf), at, axis=0)),
        sum=np.where(n > 0, np.add.reduceat(np.where(counted, added, 0.0), at, axis=0), np.nan),
        n=n,
    )


def merge_rollups(parts: Rollup, width_us: int) -> Rollup:
    """Merge fine buckets, in order of time, to buckets of `width_us`."""
    starts, at = segments(parts.starts_us // width_us * width_us)
    if len(starts) == 0:
        return parts
    n = np.add.reduceat(parts.n, at, axis=0)
    return Rollup(
        starts_us=starts,
        keys=parts.keys,
        first=_edge(parts.first, np.isfinite(parts.first), at, first=True),
        last=_edge(parts.last, np.isfinite(parts.last), at, first=False),
        min=_finite(np.minimum.reduceat(np.nan_to_num(parts.min, nan=np.inf), at, axis=0)),
        max=_finite(np.maximum.reduceat(np.nan_to_num(parts.max, nan=-np.inf), at, axis=0)),
        sum=np.where(n > 0, np.add.reduceat(np.nan_to_num(parts.sum), at, axis=0), np.nan),
        n=n,
    )


def widen(parts: Sequence[Rollup]) -> Rollup:
    """Join rollups over the union of their keys, in order of time. Of buckets with one start the last given counts."""
    keys = tuple(sorted({key for part in parts for key in part.keys}))
    place = {key: i for i, key in enumerate(keys)}
    m = sum(len(part) for part in parts)
    starts = np.concatenate([part.starts_us for part in parts]) if parts else np.zeros(0, np.int64)
    columns = {name: np.full((m, len(keys)), np.nan) for name in STATISTICS}
    n = np.zeros((m, len(keys)), np.int64)
    at = 0
    for part in parts:
        where = [place[key] for key in part.keys]
        for name, column in columns.items():
            column[at : at + len(part), where] = getattr(part, name)
        n[at : at + len(part), where] = part.n
        at += len(part)
    order = np.argsort(starts, kind="stable")
    newest = np.ones(m, bool)
    newest[:-1] = np.diff(starts[order]) > 0
    order = order[newest]
    return Rollup(
        starts_us=starts[order],
        keys=keys,
        first=columns["first"][order],
        last=columns["last"][order],
        min=columns["min"][order],
        max=columns["max"][order],
        sum=columns["sum"][order],
        n=n[order],
    )


def _edge(values: Floats, known: npt.NDArray[np.bool_], at: Ints, *, first: bool) -> Floats:
    """First or last known value of each run, NaN without one."""
    n = len(values)
    index = np.arange(n)[:, None]
    if first:
        found = np.minimum.reduceat(np.where(known, index, n), at, axis=0)
        missing = found == n
    else:
        found = np.maximum.reduceat(np.where(known, index, -1), at, axis=0)
        missing = found == -1
    picked = np.take_along_axis(values, np.where(missing, 0, found), axis=0)
    out: Floats = np.where(missing, np.nan, picked)
    return out


def _finite(values: Floats) -> Floats:
    out: Floats = np.where(np.isfinite(values), values, np.nan)
    return out
