"""What an LRU would serve, from reuse gaps: the curve of `L_interval`, which counts touches of pages per interval."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tierscope.domain.curve.bands import LEVEL, draw_hosts
from tierscope.domain.curve.hit_ratio import SLACK, lru_interval_curve
from tierscope.domain.curve.reaccess import reaccess_curve
from tierscope.domain.heat.rows import HeatSeries, Method
from tierscope.storage.curve.reuse_intervals import GapBlock
from tierscope.usecases.curve.reuse_intervals import choose_gaps, gaps_by_host

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class LruCurve:
    """Share of page touches that an LRU serves, by share of DRAM.

    Where gaps do not tell, `served` is NaN, and `lo` and `hi` are what it serves at least and at most. Elsewhere they
    are NaN with a single host.
    """

    method: Method
    served: Floats
    lo: Floats
    hi: Floats
    level: float | None
    n_hosts: int
    n_intervals: int


def lru_curve(
    blocks: Sequence[GapBlock],
    heat: Mapping[Method, Mapping[int, HeatSeries]],
    shares: Floats,
    *,
    kind: str | None = None,
    method: str | None = None,
) -> LruCurve | None:
    """The curve by average eviction time; None without gaps and heat of one method that tells pages apart.

    Hosts are taken with their own gaps, touched bytes per interval and resident bytes; the service's curve is their
    mean by touched bytes.
    """
    blocks = [block for block in blocks if not block.method.is_sampler and block.method in heat]
    chosen = choose_gaps(blocks, method)
    if chosen is None:
        return None
    of_host = gaps_by_host([block for block in blocks if block.method == chosen], kind or "all")
    ends, weights = [], []
    for host, gaps in of_host.items():
        touched, resident = _mean_bytes(heat[chosen].get(host), kind)
        if touched <= 0 or not (gaps.closed.sum() + gaps.at_risk_only.sum()) > 0:
            continue
        ends.append(lru_interval_curve(1.0 - reaccess_curve(gaps).share, touched, resident, shares))
        weights.append(touched)
    if not ends:
        return None
    n_intervals = sum(block.intervals for block in blocks if block.method == chosen) // max(len(of_host), 1)
    return _join(chosen, np.array(ends), np.array(weights), n_intervals)


def _join(method: Method, ends: Floats, weights: Floats, n_intervals: int) -> LruCurve:
    """Hosts with what an LRU serves at least and at most, `ends` [n, 2, shares]."""
    least, most = np.average(ends, axis=0, weights=weights)
    known = np.isclose(least, most, rtol=0.0, atol=SLACK)
    if len(ends) > 1:
        drawn = draw_hosts(ends, ends[:, None], weights)
        tail = (1.0 - LEVEL) / 2.0
        lo, hi = np.quantile(drawn[:, 0], tail, axis=0), np.quantile(drawn[:, 1], 1.0 - tail, axis=0)
        lo, hi = np.clip(np.minimum(lo, least), 0.0, 1.0), np.clip(np.maximum(hi, most), 0.0, 1.0)
    else:
        lo, hi = np.where(known, np.nan, least), np.where(known, np.nan, most)
    return LruCurve(
        method=method,
        served=np.where(known, least, np.nan),
        lo=lo,
        hi=hi,
        level=LEVEL if len(ends) > 1 else None,
        n_hosts=len(ends),
        n_intervals=n_intervals,
    )


def _mean_bytes(heat: HeatSeries | None, kind: str | None) -> tuple[float, float]:
    """Bytes touched per interval and resident bytes, means over the window."""
    if heat is None:
        return 0.0, 0.0
    chosen = np.array([kind in (None, name) for name in heat.kinds], np.bool_)
    n = max(int(heat.n_intervals.sum()), 1)
    touched = heat.folded.age[:, chosen, 0].sum() / n
    return float(touched), float(heat.folded.resident[:, chosen].sum() / n)
