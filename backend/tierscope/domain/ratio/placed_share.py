"""The share on slow memory of a placement by the part of memory that DRAM holds, and as bent to what hosts measure."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tierscope.domain.ledger.outcome import LOADS_MIN
from tierscope.domain.ledger.words import Source
from tierscope.domain.slowdown import LEVEL, ShareOnSlow
from tierscope.domain.slowdown.loss import normal_quantile

Floats = npt.NDArray[np.float64]

TRAFFIC_SD = 0.2
"""Of ln share, where bytes at memory stand for accesses: prefetches and writes back are in them [A]."""
LOADS_SD = 0.1
"""The same of sampled loads, beside their Poisson error: stores are not in them [A]."""
MOVED_SD = 0.2
"""Relative error of the bytes that page moves are taken to have added at slow memory [A]."""


@dataclass(frozen=True, slots=True)
class MeasuredShare:
    """The share of accesses on slow memory, measured on hosts where DRAM holds the part `held` of what is measured."""

    held: float
    share: ShareOnSlow
    source: Source
    n_hosts: int


@dataclass(frozen=True, slots=True)
class HostAccesses:
    """What one host counted in all: accesses at fast and at slow memory, of which `moved` are copies of pages.

    Bytes, or sampled loads. `top` and `below`: bytes resident in DRAM and on slower tiers, in the mean.
    """

    source: Source
    fast: float
    slow: float
    moved: float
    top: float
    below: float


def measure_share(hosts: Sequence[HostAccesses]) -> MeasuredShare | None:
    """Over hosts; None where too little was counted. Of a mixture of sources the one that most hosts have."""
    sources = [host.source for host in hosts]
    chosen = [host for host in hosts if host.source == max(sources, key=sources.count)]
    found = [(host, *told) for host in chosen if host.top > 0.0 and (told := _share_of(host)) is not None]
    if not found:
        return None
    shares = np.array([share for _, share, _ in found])
    mean, count = float(shares.mean()), len(found)
    between = float(shares.std(ddof=1)) / math.sqrt(count) / mean if count > 1 else 0.0
    own = math.sqrt(sum((share * sd) ** 2 for _, share, sd in found)) / count / mean
    common = LOADS_SD if found[0][0].source == "sampled_loads" else TRAFFIC_SD
    reach = math.exp(normal_quantile((1.0 + LEVEL) / 2.0) * math.hypot(common, own, between))
    held = float(np.mean([host.top / (host.top + host.below) for host, _, _ in found]))
    return MeasuredShare(
        held, ShareOnSlow(mean, mean / reach, min(mean * reach, 1.0), LEVEL), found[0][0].source, count
    )


def _share_of(host: HostAccesses) -> tuple[float, float] | None:
    """The share of a host's accesses that were slow, and its relative error; None where that is not known."""
    fast, slow = host.fast - host.moved, host.slow - host.moved
    if fast + slow <= 0.0 or slow <= 0.0 or fast < 0.0:
        return None
    share = slow / (fast + slow)
    if host.source == "sampled_loads":
        return None if fast + slow < LOADS_MIN else (share, math.sqrt((1.0 - share) / slow))
    return share, MOVED_SD * host.moved / slow


@dataclass(frozen=True, slots=True)
class Interpolated:
    """Shares on slow memory at `parts` of memory in DRAM, the smallest first, and between them."""

    parts: tuple[float, ...]
    value: tuple[float, ...]
    lo: tuple[float, ...]
    hi: tuple[float, ...]

    def __call__(self, dram_ratio: float) -> ShareOnSlow:
        """The share at a part of memory in DRAM."""
        value, lo, hi = (float(np.interp(dram_ratio, self.parts, of)) for of in (self.value, self.lo, self.hi))
        return ShareOnSlow(value, min(lo, value), max(hi, value), LEVEL)

    def through(self, measured: MeasuredShare) -> "Interpolated":
        """The same curve bent so that it passes through what was measured.

        With more DRAM than the hosts have, it is in proportion to what it was: what leaves slow memory last is the
        least accessed. With less, the accesses that come to slow memory keep their proportions among each other. Where
        pages are ranked by active intervals, and the busier of them have more accesses in each, both are the most that
        the share can be if less was measured than the curve says; the least is then in proportion throughout.
        """
        parts = np.unique([*self.parts, measured.held])
        value, lo, hi = (np.interp(parts, self.parts, of) for of in (self.value, self.lo, self.hi))
        bent = _bend(parts, value, measured.held, measured.share.value)
        least = _bend(parts, lo, measured.held, measured.share.lo)
        there = float(np.interp(measured.held, parts, value))
        if measured.share.value < there:
            below = parts < measured.held
            # Between both, and nearer to the most the less DRAM there is: without any, all of it is on slow memory.
            weight = np.clip(parts / measured.held, 0.0, 1.0) / 2.0
            between = bent ** (1.0 - weight) * (value * measured.share.value / there) ** weight
            bent = np.where(below, between, bent)
            least = np.where(below, np.minimum(least, value * measured.share.lo / there), least)
        most = _bend(parts, hi, measured.held, measured.share.hi)
        columns = (np.clip(of, 0.0, 1.0) for of in (bent, np.minimum(least, bent), np.maximum(most, bent)))
        return Interpolated(tuple(parts.tolist()), *(tuple(of.tolist()) for of in columns))


def _bend(parts: Floats, shares: Floats, held: float, measured: float) -> Floats:
    """Shares [n] at `parts` [n] mapped so that the one at `held` becomes the measured one; 0 and 1 stay."""
    there = float(np.interp(held, parts, shares))
    above = shares * measured / there if there > 0.0 else measured * (1.0 - parts) / max(1.0 - held, 1e-9)
    below = 1.0 - (1.0 - shares) * (1.0 - measured) / (1.0 - there) if there < 1.0 else shares
    return np.where(parts >= held, above, below)


def interpolate_shares(shares: Sequence[tuple[float, ShareOnSlow]]) -> Interpolated:
    """Replayed shares between parts of memory in DRAM, the smallest first; less DRAM never serves more.

    Nothing is away where DRAM holds everything.
    """

    def column(name: str) -> tuple[float, ...]:
        values = [1.0, *(float(getattr(away, name)) for _, away in shares)]
        return tuple(np.maximum.accumulate([*values, values[-1] if name == "hi" else 0.0][::-1])[::-1].tolist())

    return Interpolated((0.0, *(share for share, _ in shares), 1.0), column("value"), column("lo"), column("hi"))
