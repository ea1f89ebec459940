"""Access density by page kind: share of the accesses over share of the bytes, with intervals over pages and hosts."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy

from tierscope.domain.curve.bands import DRAWS, LEVEL, SEED, SMALL_HOSTS, HostPages, draw_pages, page_draws

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Bounded:
    """A number with its interval at `level`."""

    value: float
    lo: float
    hi: float
    level: float


@dataclass(frozen=True, slots=True)
class KindDensity:
    """One page kind (by number): its shares of bytes and of accesses, and their ratio."""

    kind: int
    bytes_ratio: Bounded
    accesses_ratio: Bounded
    density: Bounded


@dataclass(frozen=True, slots=True)
class Densities:
    """Kinds with bytes, by number, and draws of their density for what is made of several."""

    kinds: tuple[KindDensity, ...]
    _points: Floats
    _draws: Floats

    def log2_ratio(self, first: int, second: int) -> Bounded | None:
        """log2(D_first / D_second); None where either has no accesses or no bytes."""
        over, under = self._points[first], self._points[second]
        if not (over > 0 and under > 0):
            return None
        drawn = self._draws[:, first], self._draws[:, second]
        both = (drawn[0] > 0) & (drawn[1] > 0)
        return _bounded(float(np.log2(over / under)), np.log2(drawn[0][both] / drawn[1][both]))


def densities(hosts: Sequence[HostPages], n_kinds: int, *, seed: int = SEED) -> Densities | None:
    """Densities of a service: sums over hosts, each with its traffic per interval; None without accesses or bytes.

    With several hosts those are drawn, then pages within each; with one its pages alone. Fewer than eight hosts stretch
    the draws by Student's t.
    """
    hosts = [host for host in hosts if host.weight > 0]
    if not hosts:
        return None
    random = np.random.default_rng(seed)
    made = page_draws(hosts)
    points = np.stack([_sums(host, np.ones((1, len(host.kinds))), n_kinds)[0] for host in hosts])
    replicas = np.stack([_sums(host, draw_pages(host, made, random), n_kinds) for host in hosts])
    n = len(hosts)
    if n == 1:
        totals = replicas[0]
    else:
        chosen, replica = random.integers(0, n, (DRAWS, n)), random.integers(0, made, (DRAWS, n))
        totals = replicas[chosen, replica].sum(axis=1)
    point, drawn = _ratios(points.sum(axis=0)[None])[0], _ratios(totals)
    if 1 < n < SMALL_HOSTS:
        tail = (1.0 + LEVEL) / 2.0
        stretch = np.sqrt(n / (n - 1)) * scipy.special.stdtrit(n - 1, tail) / scipy.special.ndtri(tail)
        positive = (drawn > 0) & (point > 0)
        ratio = np.divide(drawn, point, out=np.ones_like(drawn), where=positive)
        drawn = np.where(positive, point * ratio**stretch, drawn)
    kinds = tuple(
        KindDensity(
            kind,
            _bounded(float(point[0, kind]), drawn[:, 0, kind], most=1.0),
            _bounded(float(point[1, kind]), drawn[:, 1, kind], most=1.0),
            _bounded(float(point[2, kind]), drawn[:, 2, kind]),
        )
        for kind in np.flatnonzero(point[0] > 0).tolist()
    )
    return Densities(kinds, point[2], drawn[:, 2])


def _sums(host: HostPages, times: Floats, n_kinds: int) -> Floats:
    """Bytes and accesses per interval by kind [draws, 2, kinds], pages taken `times` [draws, m]."""
    of_kind = (host.kinds[:, None] == np.arange(n_kinds)).astype(np.float64)
    accesses = host.halves.sum(axis=1)
    per_interval = host.weight / max(float(accesses.sum()), np.finfo(np.float64).tiny)
    bytes_ = times @ (of_kind * host.sizes_bytes[:, None])
    if host.resident_by_kind is not None:
        bytes_ = np.broadcast_to(host.resident_by_kind, bytes_.shape)
    return np.stack([bytes_, times @ (of_kind * accesses[:, None]) * per_interval], axis=1)


def _ratios(sums: Floats) -> Floats:
    """Share of bytes, share of accesses and their ratio [draws, 3, kinds]; 0 where there are none."""
    shares = sums / np.maximum(sums.sum(axis=2, keepdims=True), np.finfo(np.float64).tiny)
    density = np.divide(shares[:, 1], shares[:, 0], out=np.zeros_like(shares[:, 1]), where=shares[:, 0] > 0)
    return np.concatenate([shares, density[:, None]], axis=1)


def _bounded(value: float, drawn: Floats, *, most: float = np.inf) -> Bounded:
    tail = (1.0 - LEVEL) / 2.0
    lo, hi = np.quantile(drawn, [tail, 1.0 - tail]) if len(drawn) else (value, value)
    return Bounded(value, float(min(lo, value)), float(np.clip(hi, value, most)), LEVEL)
