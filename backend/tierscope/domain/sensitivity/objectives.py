"""Service levels of tiered memory: how much idle memory comes back, and how much is served and held by slow tiers.

Rate of promotions (Google's cold memory): memory accessed again after 120 s of idleness or more, per minute, over the
working set, which is the memory active within 120 s. Were all idle memory on a slower tier, so much would be promoted.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tierscope.domain.base.axis import Grid
from tierscope.domain.curve.bands import LEVEL, draw_hosts
from tierscope.domain.curve.reaccess import LENGTHS, PROMOTION_TARGET_PER_MINUTE
from tierscope.domain.heat.classes import Rule, classify
from tierscope.domain.heat.placement import FAST_TIERS
from tierscope.domain.heat.rows import HeatSeries

Floats = npt.NDArray[np.float64]

IDLE_NS = 120 * 10**9
HOT = 0


def idle_intervals(interval_ns: int) -> int | None:
    """Whole intervals of 120 s of idleness or more; None where histories are too short to hold them."""
    length = max(-(-IDLE_NS // interval_ns), 1)
    return length if length < LENGTHS else None


@dataclass(frozen=True, slots=True)
class Reaccessed:
    """Gaps of one host that ended by access: blocks that ended at `ends_s` [b], of `minutes` [b], `closed` [b, 63]."""

    ends_s: Floats
    minutes: Floats
    closed: Floats


@dataclass(frozen=True, slots=True)
class Ratio:
    """A ratio of sums over hosts with its interval over hosts (None with a single one), and over time [buckets]."""

    value: float
    lo: float | None
    hi: float | None
    level: float | None
    series: Floats
    n_hosts: int


def promotion_rate(
    gaps: Sequence[Reaccessed], heat: Sequence[HeatSeries], idle: int, rule: Rule, grid: Grid
) -> Ratio | None:
    """Per minute, of hosts with gaps and heat (in one order); None where no working set is known."""
    over, under, over_time, under_time = [], [], [], []
    for part, series in zip(gaps, heat, strict=True):
        active = classify(series.folded.sum(axis=1), rule).value[:, HOT]
        working_set = float(active.sum()) / max(int(series.n_intervals.sum()), 1)
        moved = part.closed[:, idle:].sum(axis=1)
        minutes = float(part.minutes.sum())
        if working_set <= 0 or minutes <= 0:
            continue
        over.append(float(moved.sum()) / minutes)
        under.append(working_set)
        place = grid.place(part.ends_s)
        over_time.append(_per(place, moved, part.minutes, len(grid)))
        at = grid.place(series.ends_us / 1e6)
        under_time.append(_per(at, active, series.n_intervals.astype(np.float64), len(grid)))
    return _ratio(over, under, over_time, under_time) if over else None


def slow_residency(heat: Sequence[HeatSeries], grid: Grid) -> tuple[Ratio, float] | None:
    """Bytes on slower tiers of those whose tier is known, and the share that is; None where no tier is known."""
    slow, placed, slow_time, placed_time, total = [], [], [], [], 0.0
    for series in heat:
        resident = series.folded.resident.astype(np.float64)
        n = max(int(series.n_intervals.sum()), 1)
        total += float(resident.sum()) / n
        is_known = np.array([tier != "" for tier in series.tiers], np.bool_)
        is_slow = is_known & ~np.isin(np.array(series.tiers), list(FAST_TIERS))
        known = resident[:, is_known].sum(axis=1)
        if known.sum() <= 0:
            continue
        on_slow = resident[:, is_slow].sum(axis=1)
        slow.append(float(on_slow.sum()) / n)
        placed.append(float(known.sum()) / n)
        at, weights = grid.place(series.ends_us / 1e6), series.n_intervals.astype(np.float64)
        slow_time.append(_per(at, on_slow, weights, len(grid)))
        placed_time.append(_per(at, known, weights, len(grid)))
    if not placed:
        return None
    return _ratio(slow, placed, slow_time, placed_time), sum(placed) / total


@dataclass(frozen=True, slots=True)
class TierLoads:
    """Loads of one host by bucket [b]: on slower tiers, and on all whose tier is known; events, of so many samples."""

    slow: Floats
    known: Floats
    samples: int


def slow_accesses(hosts: Sequence[TierLoads]) -> Ratio | None:
    """Loads served by slower tiers; None without any on a known tier."""
    hosts = [host for host in hosts if host.known.sum() > 0]
    if not hosts:
        return None
    return _ratio(
        [float(host.slow.sum()) for host in hosts],
        [float(host.known.sum()) for host in hosts],
        [host.slow for host in hosts],
        [np.where(host.known > 0, host.known, np.nan) for host in hosts],
    )


def meets_target(rate: Ratio) -> bool | None:
    """Whether the rate of promotions keeps its service level; None where the interval holds the level."""
    lo, hi = rate.lo, rate.hi
    if lo is None or hi is None:
        return rate.value <= PROMOTION_TARGET_PER_MINUTE
    if lo <= PROMOTION_TARGET_PER_MINUTE < hi:
        return None
    return hi <= PROMOTION_TARGET_PER_MINUTE


def _per(place: npt.NDArray[np.int64], values: Floats, weights: Floats, buckets: int) -> Floats:
    """Sums of values over sums of weights by bucket; NaN without weight."""
    over = np.bincount(place, weights=values, minlength=buckets)
    under = np.bincount(place, weights=weights, minlength=buckets)
    return np.asarray(np.divide(over, under, out=np.full(buckets, np.nan), where=under > 0), np.float64)


def _ratio(
    over: Sequence[float], under: Sequence[float], over_time: Sequence[Floats], under_time: Sequence[Floats]
) -> Ratio:
    """Sums over hosts; at each time over the hosts that have both."""
    value = sum(over) / sum(under)
    lo = hi = level = None
    if len(over) > 1:
        points = np.array(over) / np.array(under)
        drawn = draw_hosts(points, points[:, None], np.array(under))
        tail = (1.0 - LEVEL) / 2.0
        ends = np.quantile(drawn, [tail, 1.0 - tail])
        lo, hi, level = max(float(ends[0]), 0.0), float(ends[1]), LEVEL
    up, down = np.array(over_time), np.array(under_time)
    both = np.isfinite(up) & np.isfinite(down)
    whole = np.where(both, down, 0.0).sum(axis=0)
    series = np.divide(np.where(both, up, 0.0).sum(axis=0), whole, out=np.full(up.shape[1], np.nan), where=whole > 0)
    return Ratio(value, lo, hi, level, series, len(over))
