"""What a sample of a page trace says of it, with intervals: one access in n, and one page in n, but not few pages.

Whether a page is hot and when it comes back is asked of sampled pages, followed exactly, as the accessed bits of
hash-selected pages are: sampled accesses stretch reuse times. What DRAM serves is asked of sampled accesses. Resident
bytes are known without sampling.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy

from tierscope.domain.curve.hit_ratio import Pages, cross_fitted_curve, density_curve, lower_for_unseen
from tierscope.domain.curve.page_traces import PageTrace, count_halves

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

LEVEL = 0.95
MIN_ACCESSES = 1000
"""Fewer sampled accesses say nothing of a curve."""
MIN_PAGES = 30
"""Fewer sampled pages with gaps say nothing of revisits."""
WANTED_PAGES = 1000
"""About so many pages are drawn at least: some few pages are accessed all the time, and a sample has to meet them."""
MAX_GROUPS = 400
"""Sampled pages are drawn in at most so many random groups, which bounds the work of a jackknife."""


@dataclass(frozen=True, slots=True)
class TraceSample:
    """One access in `one_in`, `row_accesses` [r] of the full trace's rows, and `pages`, the trace of sampled pages."""

    one_in: int
    seed: int
    pages: PageTrace
    row_accesses: Ints


def draw_sample(trace: PageTrace, *, one_in: int, seed: int) -> TraceSample:
    """Draw pages and accesses, each independently of all others. One seed gives one sample.

    Pages are drawn at the rate of accesses, or at a higher one that gives about `WANTED_PAGES`.

    Raises:
        ValueError: `one_in` is below 1.
    """
    if one_in < 1:
        raise ValueError(f"one in {one_in} cannot be drawn: 1 or more is needed")
    for_pages, for_accesses = np.random.SeedSequence(seed).spawn(2)
    rate = max(1.0 / one_in, WANTED_PAGES / max(trace.pages, 1))
    kept = np.random.default_rng(for_pages).random(trace.pages) < rate
    accesses = np.random.default_rng(for_accesses).binomial(trace.row_accesses, 1.0 / one_in)
    return TraceSample(one_in, seed, trace.take(kept), accesses.astype(np.int64))


@dataclass(frozen=True, slots=True)
class Shares:
    """Shares of a population with their interval, any shape; value NaN and interval 0..1 where nothing was drawn."""

    value: Floats
    lo: Floats
    hi: Floats
    level: float


def share_interval(found: Ints, drawn: Ints, *, level: float = LEVEL) -> Shares:
    """Share of the pages that have a property, of those drawn, with the Clopper-Pearson interval.

    It holds the true share at least as often as it says, however few pages were drawn.
    """
    found, drawn = np.broadcast_arrays(found, drawn)
    tail = (1.0 - level) / 2
    with np.errstate(invalid="ignore", divide="ignore"):
        value = np.where(drawn > 0, found / np.maximum(drawn, 1), np.nan)
    lo = np.where(found > 0, scipy.special.betaincinv(np.maximum(found, 1), drawn - found + 1, tail), 0.0)
    hi = np.where(found < drawn, scipy.special.betainccinv(found + 1, np.maximum(drawn - found, 1), tail), 1.0)
    return Shares(value, lo, hi, level)


def group_at_random(pages: int, seed: int) -> tuple[Ints, int]:
    """A group for each sampled page, and how many groups there are: units of equal size for a jackknife."""
    groups = min(pages, MAX_GROUPS)
    order = np.random.default_rng(np.random.SeedSequence(seed).spawn(3)[2]).permutation(pages)
    return order % max(groups, 1), groups


def sampled_curve(trace: PageTrace, row_accesses: Ints, dram_shares: Floats, *, level: float = LEVEL) -> Shares | None:
    """Accesses served against DRAM from sampled accesses; None with fewer than `MIN_ACCESSES`.

    The value is cross-fitted. Ranking on one half and scoring on the other finds too little, ranking and scoring on
    the same samples too much: the interval reaches from the one, less what pages without a sample may serve, to the
    other, and by the error of a share of so many samples beyond both.
    """
    samples = int(row_accesses.sum())
    if samples < MIN_ACCESSES:
        return None
    halves = count_halves(trace, row_accesses)
    seen = halves.sum(axis=1) > 0
    sizes = np.full(int(seen.sum()), float(trace.page_size_bytes))
    pages, resident = Pages(halves[seen], sizes), float(trace.pages * trace.page_size_bytes)
    unseen = float((halves.sum(axis=1) == 1).sum()) / samples
    fitted = cross_fitted_curve(pages, dram_shares, resident_bytes=resident)
    if not np.isfinite(fitted).all():
        return None
    above = density_curve(pages, dram_shares, resident_bytes=resident)
    below = lower_for_unseen(fitted, unseen)
    z = float(scipy.special.ndtri((1.0 + level) / 2))

    def error(share: Floats) -> Floats:
        return np.asarray(z * np.sqrt(share * (1.0 - share) / samples), np.float64)

    return Shares(fitted, np.maximum(below - error(below), 0.0), np.minimum(above + error(above), 1.0), level)
