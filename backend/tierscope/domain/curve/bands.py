"""Served accesses of a service from samples of pages on its hosts, with bands.

Each host places its own pages, so that the service's curve is the mean of its hosts' curves, weighted by their traffic.
The band holds two errors: of pages within a host (they are a hash sample: independent draws) and of hosts within the
service. Both are bootstrapped. Resampling pages leaves their order by density as it is: one sort serves all draws.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy

from tierscope.domain.curve.hit_ratio import Pages, cross_fitted_curve, density_curve, lower_for_unseen

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

LEVEL = 0.95
SEED = 20_240_501
DRAWS = 1000
"""Draws of hosts."""
MAX_PAGE_DRAWS, MIN_PAGE_DRAWS = 120, 20
PAGE_CELLS = 600_000
"""Pages times draws of pages that one band may cost, while at least `MIN_PAGE_DRAWS` are made."""
SMALL_HOSTS = 8
"""With fewer hosts a bootstrap over hosts is too narrow, and is stretched by Student's t."""


@dataclass(frozen=True, slots=True)
class HostPages:
    """The sampled pages of one host, scaled up by their rate.

    `halves` [m, 2] are accesses in even and odd intervals, `sizes_bytes` [m] what the pages occupy, `kinds` [m] numbers
    of page kinds. `resident_by_kind` [kinds] counts memory without any page listed; None where the sample is of all of
    it. `unseen_ratio` is the share of the traffic on pages without a sample. `weight`: the host's traffic per interval.
    """

    halves: Floats
    sizes_bytes: Floats
    kinds: Ints
    resident_by_kind: Floats | None
    unseen_ratio: float
    weight: float

    @property
    def resident_bytes(self) -> float | None:
        """Bytes of all kinds; None where the sample is of all of them."""
        return None if self.resident_by_kind is None else float(self.resident_by_kind.sum())


@dataclass(frozen=True, slots=True)
class ServedBand:
    """Served shares at DRAM shares. `low` is the lower bound where traffic was unseen; `lo`..`hi` the band at `level`.

    `lo`, `hi` and `level` are None where the curve is exact. `page_draws`, `host_draws`: what the band was made of.
    """

    served: Floats
    low: Floats
    lo: Floats | None
    hi: Floats | None
    level: float | None
    page_draws: int
    host_draws: int


def serve_exactly(hosts: Sequence[HostPages], shares: Floats) -> ServedBand | None:
    """The in-sample curve of hosts on which every page and access counted; the band is over hosts alone."""
    hosts = [host for host in hosts if host.halves.sum() > 0]
    if not hosts:
        return None
    curves = np.stack([density_curve(_pages(host), shares, resident_bytes=host.resident_bytes) for host in hosts])
    weights = np.array([host.weight for host in hosts])
    served = _mean(curves, weights)
    if len(hosts) == 1:
        return ServedBand(served, served, None, None, None, 0, 0)
    drawn = draw_hosts(curves, curves[:, None], weights)
    lo, hi = _ends(drawn, served, served)
    return ServedBand(served, served, lo, hi, LEVEL, 0, DRAWS)


def serve_by_sample(hosts: Sequence[HostPages], shares: Floats, *, seed: int = SEED) -> ServedBand | None:
    """The cross-fitted curve; None where no host has accesses in both halves.

    The band reaches from the cross-fitted curve, less unseen traffic, which finds too little, to the one that is ranked
    and scored on the same accesses, which finds too much.
    """
    hosts = [host for host in hosts if host.halves.sum(axis=0).all()]
    if not hosts:
        return None
    draws = page_draws(hosts)
    random = np.random.default_rng(seed)
    points, replicas = [], []
    for host in hosts:
        pages, resident = _pages(host), host.resident_bytes
        fitted = cross_fitted_curve(pages, shares, resident_bytes=resident)
        points.append(
            [
                fitted,
                lower_for_unseen(fitted, host.unseen_ratio),
                density_curve(pages, shares, resident_bytes=resident),
            ]
        )
        replicas.append(_resample(host, shares, draw_pages(host, draws, random)))
    found, weights = np.array(points), np.array([host.weight for host in hosts])
    served, low, above = _mean(found, weights)
    drawn = draw_hosts(found[:, 1:], np.array(replicas), weights, seed=seed)
    lo, hi = _ends(drawn, low, above)
    return ServedBand(served, low, lo, hi, LEVEL, draws, DRAWS if len(hosts) > 1 else 0)


def page_draws(hosts: Sequence[HostPages]) -> int:
    """Draws of pages for one band: fewer where there are many pages."""
    pages = sum(len(host.sizes_bytes) for host in hosts)
    return int(np.clip(PAGE_CELLS // max(pages, 1), MIN_PAGE_DRAWS, MAX_PAGE_DRAWS))


def draw_pages(host: HostPages, draws: int, random: np.random.Generator) -> Floats:
    """How often each page of a host is in each draw [draws, m]: with replacement, as many as there are."""
    pages = len(host.sizes_bytes)
    chosen = random.integers(0, pages, (draws, pages)) + np.arange(draws)[:, None] * pages
    times = np.bincount(chosen.ravel(), minlength=draws * pages)
    return np.asarray(times.reshape(draws, pages), np.float64)


def draw_hosts(points: Floats, replicas: Floats, weights: Floats, *, seed: int = SEED) -> Floats:
    """Draws [draws, ...] of the weighted mean over hosts: of hosts, then of pages within each.

    `points` [n, ...] are the hosts' own values, `replicas` [n, r, ...] those values with pages drawn again. With one
    host only pages are drawn. What hosts differ by beyond the error of their pages is stretched where they are few: n
    draws of n vary by (n - 1) / n of what they should, and their variance is itself a guess (Student's t).
    """
    n, made = replicas.shape[:2]
    if n == 1:
        return np.asarray(replicas[0], np.float64)
    random = np.random.default_rng(seed)
    chosen, replica = random.integers(0, n, (DRAWS, n)), random.integers(0, made, (DRAWS, n))
    share = weights[chosen] / weights[chosen].sum(axis=1, keepdims=True)
    noise = replicas - points[:, None]
    middle = _mean(points, weights)
    of_hosts = np.einsum("dn,dn...->d...", share, points[chosen]) - middle
    of_pages = np.einsum("dn,dn...->d...", share, noise[chosen, replica])
    spread = points.var(axis=0, ddof=1)
    beyond = np.maximum(spread - noise.var(axis=1).mean(axis=0), 0.0)
    kept = np.sqrt(np.divide(beyond, spread, out=np.zeros_like(spread), where=spread > 0))
    stretch = 1.0
    if n < SMALL_HOSTS:
        tail = (1.0 + LEVEL) / 2.0
        stretch = float(np.sqrt(n / (n - 1)) * scipy.special.stdtrit(n - 1, tail) / scipy.special.ndtri(tail))
    return np.asarray(middle + stretch * kept * of_hosts + of_pages, np.float64)


def _resample(host: HostPages, shares: Floats, times: Floats) -> Floats:
    """Lower and upper curve of each draw of pages [draws, 2, shares]."""
    even, odd = host.halves[:, 0], host.halves[:, 1]
    first = _served_rows(host, even, odd, shares, times)
    second = _served_rows(host, odd, even, shares, times)
    of_odd, of_even = times @ odd, times @ even
    total = np.maximum(of_odd + of_even, np.finfo(np.float64).tiny)[:, None]
    fitted = (first * of_odd[:, None] + second * of_even[:, None]) / total
    above = _served_rows(host, even + odd, even + odd, shares, times)
    return np.stack([lower_for_unseen(fitted, host.unseen_ratio), above], axis=1)


def _served_rows(host: HostPages, ranking: Floats, scores: Floats, shares: Floats, times: Floats) -> Floats:
    """Share of `scores` on the densest shares of the bytes [draws, shares], pages taken `times` [draws, m]."""
    order = np.argsort(-(ranking / host.sizes_bytes), kind="stable")
    taken = times[:, order]
    filled = np.cumsum(taken * host.sizes_bytes[order], axis=1)
    served = np.cumsum(taken * scores[order], axis=1)
    rooms = shares[None, :] * np.maximum(host.resident_bytes or 0.0, filled[:, -1:])
    total = np.maximum(served[:, -1], np.finfo(np.float64).tiny)
    rows = [
        np.interp(room, np.concatenate([[0.0], fill]), np.concatenate([[0.0], got]))
        for room, fill, got in zip(rooms, filled, served, strict=True)
    ]
    return np.asarray(np.array(rows) / total[:, None], np.float64)


def _ends(drawn: Floats, low: Floats, above: Floats) -> tuple[Floats, Floats]:
    """The band from draws [d, 2, shares] of the lower and the upper curve (or of one [d, shares]), the curves in it."""
    below, over = (drawn[:, 0], drawn[:, 1]) if drawn.ndim == 3 else (drawn, drawn)  # noqa: PLR2004 - two curves
    tail = (1.0 - LEVEL) / 2.0
    lo, hi = np.quantile(below, tail, axis=0), np.quantile(over, 1.0 - tail, axis=0)
    return np.clip(np.minimum(lo, low), 0.0, 1.0), np.clip(np.maximum(hi, above), 0.0, 1.0)


def _mean(values: Floats, weights: Floats) -> Floats:
    """Weighted mean over the first axis."""
    return np.asarray(np.tensordot(weights / weights.sum(), values, axes=1), np.float64)


def _pages(host: HostPages) -> Pages:
    return Pages(host.halves, host.sizes_bytes)
