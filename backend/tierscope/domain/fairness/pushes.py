"""Who pushed whom out of the top tier: what counting allows, and what the course over time suggests.

The kernel counts how many pages of a cgroup it demoted, and not for whom. Within an interval, pages are demoted to make
room for what has come into the top tier: allocations and promotions of all tenants, memory of the kernel and of others,
free memory that is restored. What one tenant can have pushed out of another lies between two bounds (those of a table
whose margins alone are known, as for Frechet's), and a split in proportion lies within them.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy

from tierscope.domain.sensitivity.estimate import effective_size

Floats = npt.NDArray[np.float64]
LEVEL = 0.95
MIN_EFFECTIVE = 12.0
_SPEARMAN = 1.06
"""The variance of Fisher's z of a rank correlation is this over n - 3 (Fieller, Hartley and Pearson 1957)."""


@dataclass(frozen=True, slots=True)
class Demoted:
    """Pages of n tenants that left the top tier in t intervals [t, n]: at least `lo`, at most `hi`; NaN not known.

    The three are the same where the kernel counts by cgroup.
    """

    value: Floats
    lo: Floats
    hi: Floats


@dataclass(frozen=True, slots=True)
class Pushed:
    """Pages of tenant (row) that were demoted as another (column) took memory [n, n + 1]; the last column is the rest.

    The rest: memory of no tenant, and free memory. `value` splits in proportion, `lo` and `hi` are bounds.
    """

    value: Floats
    lo: Floats
    hi: Floats
    n_intervals: int


@dataclass(frozen=True, slots=True)
class Correlation:
    """Rank correlation over time of one tenant's demotions with what another took, with its interval.

    `n_effective`: what the n autocorrelated intervals are worth. The interval holds for all pairs at once at `LEVEL`.
    """

    value: float
    lo: float
    hi: float
    n_effective: float


def taken_pages(top_pages: Floats, demoted: Floats, promoted: Floats) -> Floats:
    """Pages by which a tenant's hold on the top tier grew, over what was demoted of it [t, n]; never below 0.

    `top_pages` [t, n] at the ends of intervals. Promotions alone are a lower bound where as much was freed meanwhile.
    The first interval has nothing before it: NaN, as where a reading is missing.
    """
    grown = np.full(top_pages.shape, np.nan)
    grown[1:] = np.diff(top_pages, axis=0)
    return np.asarray(np.maximum(np.fmax(grown + demoted, np.where(np.isfinite(grown), promoted, np.nan)), 0.0))


def uncounted_demotions(top_pages: Floats, slow_pages: Floats, host_demoted: Floats) -> Demoted:
    """What can be said of tenants whose demotions no one counts, from where their memory lies [t, n].

    As many as have left the top tier while as many came to slower ones; between nothing and what the host [t] moved.
    """
    left, came = np.full(top_pages.shape, np.nan), np.full(top_pages.shape, np.nan)
    left[1:], came[1:] = -np.diff(top_pages, axis=0), np.diff(slow_pages, axis=0)
    most = np.where(np.isfinite(left), host_demoted[:, None], np.nan)
    value = np.clip(np.minimum(left, came), 0.0, most)
    return Demoted(value, np.where(np.isfinite(value), 0.0, np.nan), most)


def attribute(demoted: Demoted, taken: Floats, rest: Floats) -> Pushed:
    """Sum over intervals what each tenant can have pushed out of each.

    `taken` [t, n] of the tenants, `rest` [t] of everyone else. Reclaim comes before or after what needs the room, so an
    interval's demotions are set against what was taken in it and in the one before. Intervals in which a tenant's
    figures are missing are left out as a whole.
    """
    wanted = np.column_stack([taken, rest])
    over = wanted.copy()
    over[1:] += np.nan_to_num(wanted[:-1])
    known = np.isfinite(over).all(axis=1) & np.isfinite(demoted.value).all(axis=1)
    value, lo, hi = (part[known] for part in (demoted.value, demoted.lo, demoted.hi))
    over = over[known]
    total = over.sum(axis=1)
    # What was demoted beyond all that was taken restored free memory: it belongs to the rest.
    spare = np.maximum(value.sum(axis=1) - total, 0.0)
    least_spare = np.maximum(hi.sum(axis=1) - total, 0.0)
    weights = over.copy()
    weights[:, -1] += spare
    whole = weights.sum(axis=1, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        share = np.where(whole > 0, weights / whole, 0.0)
    split = value[:, :, None] * share[:, None, :]
    others = total[:, None] - over
    room = np.where(np.arange(over.shape[1]) == over.shape[1] - 1, 0.0, least_spare[:, None])
    least = np.maximum(lo[:, :, None] - (others + room)[:, None, :], 0.0)
    ceiling = over.copy()
    ceiling[:, -1] += least_spare
    most = np.maximum(np.minimum(hi[:, :, None], ceiling[:, None, :]), split)
    took = np.nansum(taken, axis=0)
    return _within_taken(Pushed(split.sum(axis=0), least.sum(axis=0), most.sum(axis=0), int(known.sum())), took)


def _within_taken(pushed: Pushed, took: Floats) -> Pushed:
    """No tenant made more room than it took [n] in all: what was set against one taking twice goes to the rest."""
    n = len(took)
    value, lo, hi = pushed.value.copy(), pushed.lo.copy(), pushed.hi.copy()
    sums = value[:, :n].sum(axis=0)
    value[:, :n] *= np.divide(took, sums, out=np.ones(n), where=sums > took)
    lo[:, :n] = np.maximum(lo[:, :n] - np.maximum(sums - took, 0.0), 0.0)  # all of it may be any one victim's
    hi[:, :n] = np.minimum(hi[:, :n], took)
    value[:, n] += pushed.value.sum(axis=1) - value.sum(axis=1)
    hi[:, n] = np.maximum(hi[:, n], value[:, n])
    return Pushed(value, lo, hi, pushed.n_intervals)


def correlate(demoted: Floats, taken: Floats, *, pairs: int) -> Correlation | None:
    """How demotions of one tenant [t] go along with what another took [t]; None where the data are too few to tell.

    Ranks, as flows come in bursts. Two autocorrelated series are worth fewer intervals than they have (Bartlett 1935).
    The interval is widened for the number of `pairs` that are looked at (Bonferroni).
    """
    known = np.isfinite(demoted) & np.isfinite(taken)
    one, other = scipy.stats.rankdata(demoted[known]), scipy.stats.rankdata(taken[known])
    if len(one) <= MIN_EFFECTIVE or np.ptp(one) == 0 or np.ptp(other) == 0:
        return None
    lags = _lag_one(one) * _lag_one(other)
    n = effective_size(len(one), lags)
    if n < MIN_EFFECTIVE:
        return None
    r = float(np.corrcoef(one, other)[0, 1])
    half = float(scipy.special.ndtri(1.0 - (1.0 - LEVEL) / (2 * max(pairs, 1)))) * float(np.sqrt(_SPEARMAN / (n - 3.0)))
    z = float(np.arctanh(np.clip(r, -0.999999, 0.999999)))
    return Correlation(r, float(np.tanh(z - half)), float(np.tanh(z + half)), n)


def _lag_one(values: Floats) -> float:
    before, after = values[:-1], values[1:]
    if np.ptp(before) == 0 or np.ptp(after) == 0:
        return 0.0
    return max(float(np.corrcoef(before, after)[0, 1]), 0.0)
