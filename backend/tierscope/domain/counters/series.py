"""Counters as series over time: raw samples with their gaps shown, or buckets; reset-safe rates beside the values."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tierscope.domain.base.axis import Grid
from tierscope.domain.counters.monotonic import GAP_INTERVALS, Cause, CounterKind, differences, nominal_step
from tierscope.domain.counters.packing import Block
from tierscope.domain.counters.rollups import OBSERVED_KEY, Rollup

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Lines:
    """k lines over t times: `values` and `per_s` [t, k], NaN in gaps; `resets` [k]. `times_s` are ends of intervals."""

    times_s: Floats
    keys: tuple[str, ...]
    values: Floats
    per_s: Floats
    resets: tuple[int, ...]


def raw_lines(block: Block) -> Lines:
    """Samples as they are. After a gap a rate is the mean over it; the gap itself gets an empty point."""
    times = block.times_us / 1e6
    values = np.where(block.present, block.values.astype(np.float64), np.nan)
    per_s, resets = _rates(block)
    if len(times) > 1:
        nominal = nominal_step(times)
        holes = np.flatnonzero(np.diff(times) > GAP_INTERVALS * nominal) + 1
        empty = times[holes - 1] + nominal
        times = np.insert(times, holes, empty)
        values = np.insert(values, holes, np.nan, axis=0)
        per_s = np.insert(per_s, holes, np.nan, axis=0)
    return Lines(times, block.keys, values, per_s, resets)


def binned_lines(block: Block, grid: Grid, kinds: tuple[CounterKind, ...]) -> Lines:
    """Samples in buckets: the last value of a counter, the mean of a gauge; rates over observed seconds."""
    times = block.times_us / 1e6
    place = grid.place(times)
    per_s, resets = _rates(block)
    seconds = np.concatenate(([0.0], np.diff(times))) if len(times) else times
    values = np.where(block.present, block.values.astype(np.float64), np.nan)
    shape = (len(grid), len(block.keys))
    out, rates = np.full(shape, np.nan), np.full(shape, np.nan)
    for column, kind in enumerate(kinds):
        known = np.isfinite(values[:, column])
        if kind == "counter":
            out[place[known], column] = values[known, column]
        else:
            out[:, column] = _mean(place[known], values[known, column], np.ones(int(known.sum())), len(grid))
        flowing = np.isfinite(per_s[:, column])
        weights = seconds[flowing]
        rates[:, column] = _mean(place[flowing], per_s[flowing, column] * weights, weights, len(grid))
    return Lines(grid.ends_s.astype(np.float64), block.keys, out, rates, resets)


def rollup_lines(rollup: Rollup, width_s: int, grid: Grid, kinds: tuple[CounterKind, ...]) -> Lines:
    """Rolled-up buckets in the buckets of a grid that is no finer. `kinds` are those of the keys but the last.

    The last key must be `OBSERVED_KEY`: rates divide by the seconds that were observed.
    """
    assert rollup.keys[-1] == OBSERVED_KEY
    keys = rollup.keys[:-1]
    place = grid.place(rollup.starts_us / 1e6 + width_s)
    seconds = np.nan_to_num(rollup.sum[:, -1])
    shape = (len(grid), len(keys))
    out, rates = np.full(shape, np.nan), np.full(shape, np.nan)
    resets = []
    for column, kind in enumerate(kinds):
        n = rollup.n[:, column]
        known = np.isfinite(rollup.last[:, column])
        chain = np.stack([rollup.first[known, column], rollup.last[known, column]], axis=1).ravel()
        resets.append(int((np.diff(chain) < 0).sum()) if kind == "counter" else 0)
        if kind == "counter":
            out[place[known], column] = rollup.last[known, column]
            flowing = np.isfinite(rollup.sum[:, column]) & (seconds > 0)
            sums = rollup.sum[flowing, column]
            rates[:, column] = _mean(place[flowing], sums, seconds[flowing], len(grid))
        else:
            summed = np.nan_to_num(rollup.sum[:, column])
            out[:, column] = _mean(place, summed, n.astype(np.float64), len(grid))
    return Lines(grid.ends_s.astype(np.float64), keys, out, rates, tuple(resets))


def _rates(block: Block) -> tuple[Floats, tuple[int, ...]]:
    """Rates per second [n, k], NaN in the first row and where no difference can be had; resets per key."""
    times = block.times_us / 1e6
    out = np.full(block.values.shape, np.nan)
    flow = differences(times, block.boots, block.values, block.present, nominal_s=nominal_step(times))
    if len(times) > 1:
        out[1:] = np.where(flow.ok, flow.delta / flow.dt_seconds[:, None], np.nan)
    reset = (flow.cause == Cause.REBOOT) | (flow.cause == Cause.WENT_BACKWARDS)
    return out, tuple(int(count) for count in reset.sum(axis=0))


def _mean(place: npt.NDArray[np.int64], weighted: Floats, weights: Floats, length: int) -> Floats:
    """Sum of `weighted` over sum of `weights` per bucket, NaN without weight."""
    top = np.bincount(place, weights=weighted, minlength=length)
    under = np.bincount(place, weights=weights, minlength=length)
    with np.errstate(invalid="ignore", divide="ignore"):
        out: Floats = np.where(under > 0, top / under, np.nan)
    return out
