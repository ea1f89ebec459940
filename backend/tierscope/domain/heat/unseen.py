"""What a sample of accesses says of the pages that it did not hit: coverage, touched pages, event totals.

A sampler that takes one event in P on a share d of cores and time sees a page with n events with probability
1 - (1 - d/P)^n. Loads and stores are two populations with estimates of their own, never one sum. All functions take
arrays of one shape, or scalars. Rules and what they reach on recorded traces: docs/method/heat.md, "Unseen pages".
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
import scipy

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

Claim = Literal["insufficient", "lower_bound", "interval"]
CLAIMS: tuple[Claim, ...] = ("insufficient", "lower_bound", "interval")
"""What is said of touched pages: nothing, at least `lo`, or between `lo` and `hi`."""

LEVEL = 0.95
MIN_SAMPLES = 1000
"""Fewer samples in a window say nothing of pages."""
MIN_COVERAGE_SAMPLES = 100
"""Fewer say nothing of coverage either."""
COVERAGE_INTERVAL = 0.80
COVERAGE_LOWER = 0.50
WIDEST_RATIO = 2.0
"""An interval whose ends differ by more than this factor is given as its lower end alone."""
FEW_SINGLETONS = 10
"""With fewer pages of one sample, what was seen is the lower end."""


@dataclass(frozen=True, slots=True)
class PageCounts:
    """Counts of one population over a window.

    `samples`; `distinct` pages seen, `f1` and `f2` of them exactly once and twice; `resident` pages at the window's
    end. All pages are of one size.
    """

    samples: Ints
    distinct: Ints
    f1: Ints
    f2: Ints
    resident: Ints


@dataclass(frozen=True, slots=True)
class Chao1:
    """The bias-corrected Chao1 estimate of touched pages, its variance and its log-normal interval.

    The estimate is a lower bound: pages differ in how often they are accessed, and the interval does not know by how
    much. Only its lower end is used for claims.
    """

    value: Floats
    variance: Floats
    lo: Floats
    hi: Floats


@dataclass(frozen=True, slots=True)
class Touched:
    """Pages touched in a window, seen or not. `claim` holds places in CLAIMS; what is not claimed is not to be shown.

    `coverage` is nan where too few samples tell it.
    """

    value: Floats
    lo: Floats
    hi: Floats
    coverage: Floats
    claim: npt.NDArray[np.int8]


def z_of(level: float) -> float:
    """The two-sided normal quantile."""
    return float(scipy.special.ndtri((1.0 + level) / 2.0))


def estimate_events(
    samples: npt.ArrayLike, period_events: float, duty_ratio: float, level: float = LEVEL
) -> tuple[Floats, Floats, Floats]:
    """Events behind a number of samples (Horvitz-Thompson), and how far the interval reaches below and above.

    Limits are the exact ones of a Poisson count (Garwood): no sample at all still bounds the events from above.
    """
    count = np.asarray(samples, np.float64)
    weight = period_events / duty_ratio
    tail = (1.0 - level) / 2.0
    lo = np.where(count > 0, scipy.special.gammaincinv(np.maximum(count, 1.0), tail), 0.0)
    hi = scipy.special.gammaincinv(count + 1.0, 1.0 - tail)
    return count * weight, (count - lo) * weight, (hi - count) * weight


def traffic_coverage(samples: npt.ArrayLike, f1: npt.ArrayLike) -> Floats:
    """Share of the accesses that go to pages with samples (Good-Turing); nan without samples."""
    count = np.asarray(samples, np.float64)
    missed: Floats = np.divide(np.asarray(f1, np.float64), count, out=np.full(count.shape, np.nan), where=count > 0)
    return np.subtract(1.0, missed)


def estimate_chao1(counts: PageCounts, level: float = LEVEL) -> Chao1:
    """Estimate the touched pages. With one page of one sample or none, nothing is added to what was seen."""
    f1, f2, seen, resident = (
        np.asarray(column, np.float64) for column in (counts.f1, counts.f2, counts.distinct, counts.resident)
    )
    unseen = f1 * (f1 - 1.0) / (2.0 * (f2 + 1.0))
    some = f1 > 1.0
    variance = (
        unseen
        + f1 * (2.0 * f1 - 1.0) ** 2 / (4.0 * (f2 + 1.0) ** 2)
        + f1**2 * f2 * (f1 - 1.0) ** 2 / (4.0 * (f2 + 1.0) ** 4)
    )
    total = np.where(some, seen + unseen, 1.0)
    variance = np.where(some, variance - np.where(f2 == 0.0, f1**4 / (4.0 * total), 0.0), 0.0)
    relative = np.divide(variance, unseen**2, out=np.zeros_like(unseen), where=some)
    factor = np.exp(z_of(level) * np.sqrt(np.log1p(np.maximum(relative, 0.0))))
    added = np.where(some, unseen, 0.0)
    return Chao1(
        value=np.minimum(resident, seen + added),
        variance=variance,
        lo=np.minimum(resident, seen + added / factor),
        hi=np.minimum(resident, seen + added * factor),
    )


def bound_touched(counts: PageCounts, period_events: float, duty_ratio: float, level: float = LEVEL) -> Touched:
    """Bound the touched pages without assuming how accesses are spread over pages.

    Lower end: that of Chao1, which holds whatever the spread. Upper end: an unseen page that was touched had at least
    one event, so that no more than the unseen events are unseen pages: f1 (1 - p) / p with p = d / P, f1 at its upper
    Poisson limit; and no more than all resident pages.
    """
    p = duty_ratio / period_events
    f1 = np.asarray(counts.f1, np.float64)
    seen, resident = np.asarray(counts.distinct, np.float64), np.asarray(counts.resident, np.float64)
    chao = estimate_chao1(counts, level)
    lo = np.where(f1 < FEW_SINGLETONS, seen, chao.lo)
    most_f1 = scipy.special.gammaincinv(f1 + 1.0, (1.0 + level) / 2.0)
    hi = np.minimum(resident, seen + most_f1 * (1.0 - p) / p)
    samples = np.asarray(counts.samples)
    coverage = np.where(samples >= MIN_COVERAGE_SAMPLES, traffic_coverage(samples, counts.f1), np.nan)
    enough = samples >= MIN_SAMPLES
    lower = enough & (coverage >= COVERAGE_LOWER)
    both = lower & (coverage >= COVERAGE_INTERVAL) & (hi <= WIDEST_RATIO * lo)
    claim = lower.astype(np.int8) + both.astype(np.int8)
    return Touched(value=np.clip(chao.value, lo, hi), lo=lo, hi=hi, coverage=coverage, claim=claim)
