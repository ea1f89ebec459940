"""Accesses served by DRAM against its size: best static placement by density, and LRU by reuse times.

`L_top(x)`: share of accesses on the densest x of the bytes, the best that a static placement can do. `1 - mr(c)`: what
an LRU of c pages serves, from reuse times. Real policies lie between the two.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

SLACK = 1e-9
"""Comparisons of sums of probabilities with a capacity."""
DRAM_SHARES: Floats = np.round(np.arange(1, 21) * 0.05, 2)
"""Shares of DRAM at which a curve is given unless others are asked for."""


@dataclass(frozen=True, slots=True)
class Pages:
    """Pages with their accesses: `counts` [pages, intervals] and `sizes_bytes` [pages]. Order breaks ties."""

    counts: Floats
    sizes_bytes: Floats

    def __post_init__(self) -> None:
        """Refuse shapes and values that make no curve.

        Raises:
            ValueError: the shapes do not fit, a count is negative, or a size is not positive.
        """
        if self.counts.ndim != 2 or self.sizes_bytes.shape != self.counts.shape[:1]:  # noqa: PLR2004 - pages, intervals
            raise ValueError("counts must be [pages, intervals], with one size for each page")
        if (self.counts < 0).any() or (self.sizes_bytes <= 0).any():
            raise ValueError("counts must not be negative, and sizes must be positive")


def density_curve(pages: Pages, shares: Floats, *, resident_bytes: float | None = None) -> Floats:
    """Share of accesses on the densest `shares` of the bytes, ranked and scored on the same accesses.

    Exact for a trace in which every access is counted; optimistic for samples, which `cross_fitted_curve` is for.
    `resident_bytes` counts memory without any page listed; NaN without accesses.
    """
    totals = pages.counts.sum(axis=1)
    return _served(totals, totals, pages.sizes_bytes, shares, resident_bytes)


def cross_fitted_curve(pages: Pages, shares: Floats, *, resident_bytes: float | None = None) -> Floats:
    """The same, ranked on even intervals and scored on odd ones, and the other way round.

    The two are averaged by the samples that they were scored on. NaN without samples in either half.
    """
    even, odd = pages.counts[:, ::2].sum(axis=1), pages.counts[:, 1::2].sum(axis=1)
    weights = np.array([odd.sum(), even.sum()])
    if not weights.all():
        return np.full(len(shares), np.nan)
    first = _served(even, odd, pages.sizes_bytes, shares, resident_bytes)
    second = _served(odd, even, pages.sizes_bytes, shares, resident_bytes)
    return np.asarray((first * weights[0] + second * weights[1]) / weights.sum(), np.float64)


def lower_for_unseen(served: Floats, unseen_ratio: float) -> Floats:
    """Lower bound where a share of the traffic was on pages never sampled: none of it need be in DRAM."""
    if not 0.0 <= unseen_ratio <= 1.0:
        raise ValueError("the unseen share must be in 0..1")
    return (1.0 - unseen_ratio) * served


def lru_interval_curve(
    survival: Floats, touched_bytes: float, resident_bytes: float, shares: Floats
) -> tuple[Floats, Floats]:
    """What an LRU of shares of the resident bytes serves of page touches per interval, at least and at most.

    `survival` P: share of memory still idle after 1, 2, ... intervals, NaN from where nothing was watched.
    `touched_bytes` m per interval in the mean. An LRU that keeps memory for A intervals holds m (P(0) + ... + P(A - 1))
    bytes and misses P(A) of the touches; sizes between lie on the line between. Both ends are equal where it is known.
    An LRU that holds less than is touched in an interval is not: gaps do not tell what happens within one. Neither is
    one that keeps memory longer than any gap that was watched.
    """
    known = survival[np.cumprod(np.isfinite(survival)).astype(np.bool_)]
    exceeding = np.clip(np.concatenate([[1.0], known]), 0.0, 1.0)
    filled = np.concatenate([[0.0], np.cumsum(exceeding[:-1]) * touched_bytes])
    room = shares * resident_bytes
    served = 1.0 - np.interp(room, filled, exceeding)
    within = room < touched_bytes - SLACK
    beyond = room > filled[-1] + SLACK
    first = 1.0 - exceeding[1] if len(known) else 1.0
    return np.where(within, 0.0, served), np.where(within, first, np.where(beyond, 1.0, served))


def _served(ranking: Floats, scores: Floats, sizes: Floats, shares: Floats, resident_bytes: float | None) -> Floats:
    """Share of `scores` on the pages that come first by density of `ranking`; a page on the edge counts pro rata."""
    total = float(scores.sum())
    if total <= 0:
        return np.full(len(shares), np.nan)
    order = np.argsort(-(ranking / sizes), kind="stable")
    filled = np.concatenate([[0.0], np.cumsum(sizes[order])])
    served = np.concatenate([[0.0], np.cumsum(scores[order])]) / total
    room = shares * max(resident_bytes or 0.0, float(filled[-1]))
    return np.asarray(np.interp(room, filled, served), np.float64)
