"""Revisit: how soon memory that went idle is accessed again, from reuse gaps grouped by length in intervals.

Lengths are 1..63 intervals; weights are bytes. A gap ends by re-access (closed), by unmap (freed), or cannot be
followed further (open at the end, or cut by a missing interval). Lag since the last access and lag since turning cold
are different clocks: `cold_start` turns the first into the second.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy

from tierscope.domain.heat.aggregate import wilson_bounds

Floats = npt.NDArray[np.float64]

LENGTHS = 63
"""Longest gap that a history of 64 intervals can hold."""
DETECTION_LIMIT = 0.8
"""A lag is published where a page active in every interval is detected at least this surely within it."""
PROMOTION_TARGET_PER_MINUTE = 0.002
"""Service level of cold-memory systems: working set promoted a minute, at most."""


@dataclass(frozen=True, slots=True)
class Gaps:
    """Bytes by gap length: index i holds gaps of i + 1 intervals. Shape [63] each.

    `at_risk_only` are lengths at which a gap was seen alive without an ending being counted there: open gaps at the end
    of a block and gaps cut by a hole. They are at risk up to and including their length.
    """

    closed: Floats
    freed: Floats
    at_risk_only: Floats

    def __add__(self, other: "Gaps") -> "Gaps":
        """Pool two groups of pages."""
        return Gaps(self.closed + other.closed, self.freed + other.freed, self.at_risk_only + other.at_risk_only)


@dataclass(frozen=True, slots=True)
class Curve:
    """Share re-accessed within 1..63 intervals, `share[i]` for i + 1; NaN where nothing was at risk.

    `method` is `kaplan_meier`, or `cumulative_incidence` where memory was unmapped. `at_risk` are the bytes behind each
    point: beyond the last closed gap the curve is flat because nothing was left to watch.
    """

    share: Floats
    at_risk: Floats
    method: str


def reaccess_curve(gaps: Gaps) -> Curve:
    """Cumulative incidence of re-access on grouped gaps, with unmaps as the competing ending (Aalen-Johansen).

    At length t are at risk all gaps of length t or more, ended or not. Each length adds S(t-) * closed(t) / at risk(t),
    with S the survival of both endings. Without unmaps this is Kaplan-Meier, which would take them as censoring: as if
    freed memory were accessed again like the rest.
    """
    share, at_risk = _share(gaps.closed, gaps.freed, gaps.at_risk_only)
    return Curve(share, at_risk, "cumulative_incidence" if gaps.freed.any() else "kaplan_meier")


def _share(closed: Floats, freed: Floats, alive: Floats) -> tuple[Floats, Floats]:
    """Share re-accessed and bytes at risk, along the last axis."""
    at_risk = np.flip(np.cumsum(np.flip(closed + freed + alive, axis=-1), axis=-1), axis=-1)
    watched = np.where(at_risk > 0, at_risk, 1.0)
    survival = np.cumprod(1.0 - (closed + freed) / watched, axis=-1)
    before = np.concatenate([np.ones_like(survival[..., :1]), survival[..., :-1]], axis=-1)
    share = np.cumsum(before * (closed / watched), axis=-1)
    return np.where(at_risk > 0, share, np.nan), at_risk


def cold_start(gaps: Gaps, idle_intervals: int = 2) -> Gaps:
    """Start the clock when a page reaches the idle age: keep longer gaps, and subtract the age from them."""
    if not 1 <= idle_intervals < LENGTHS:
        raise ValueError(f"the idle age must be 1..{LENGTHS - 1} intervals")

    def later(lengths: Floats) -> Floats:
        return np.concatenate([lengths[idle_intervals:], np.zeros(idle_intervals)])

    return Gaps(later(gaps.closed), later(gaps.freed), later(gaps.at_risk_only))


def publishable_from(detection: float) -> int | None:
    """Shortest lag in intervals that sampling does not stretch too much: 1 - (1 - q)^x reaches 0.8.

    `detection` q is the chance that an active page is seen in one interval. None where no lag up to 63 will do.
    """
    if not 0.0 < detection <= 1.0:
        raise ValueError("the chance of detection must be above 0 and at most 1")
    if detection >= DETECTION_LIMIT:
        return 1
    lag = int(np.ceil(np.log(1.0 - DETECTION_LIMIT) / np.log(1.0 - detection)))
    return lag if lag <= LENGTHS else None


def detection(count_bytes: Floats) -> float | None:
    """Chance that an active page is seen in one interval, from bytes by the number of intervals seen of the last ten.

    As if the pages seen at all had been active in every interval: what they were idle counts as missed, so that the
    true chance is higher. Pages never seen are not in it (binomial, zero left out). None where no page was seen.
    """
    intervals = len(count_bytes) - 1
    seen = float(count_bytes[1:].sum())
    if seen <= 0:
        return None
    mean = float((count_bytes * np.arange(intervals + 1)).sum()) / seen / intervals
    least = 1e-6
    if mean >= 1.0 - least or mean <= 1.0 / intervals + least:
        return 1.0 if mean >= 1.0 - least else least
    return float(scipy.optimize.brentq(lambda q: q / (1.0 - (1.0 - q) ** intervals) - mean, least, 1.0 - least))


@dataclass(frozen=True, slots=True)
class Band:
    """Interval of a curve at each lag; NaN where nothing is known of its error."""

    lo: Floats
    hi: Floats
    level: float


def host_band(hosts: Sequence[Gaps], *, idle_intervals: int | None = None, level: float = 0.95) -> Band:
    """Jackknife over hosts with Student's t: each host is left out once, and the rest estimated again.

    Pages of a host share their load, so intervals that treat pages as independent (Greenwood) are far too narrow. What
    two or three hosts have in common by chance is no sign that others are like them, which a bootstrap takes it for.
    """
    n = len(hosts)
    if n <= 1:
        nothing = np.full(LENGTHS, np.nan)
        return Band(nothing, nothing, level)
    clocked = [cold_start(host, idle_intervals) if idle_intervals else host for host in hosts]
    closed, freed, alive = (
        np.stack([getattr(host, name) for host in clocked]) for name in ("closed", "freed", "at_risk_only")
    )
    left = np.concatenate([np.ones((1, n)), 1.0 - np.eye(n)])
    shares, _ = _share(left @ closed, left @ freed, left @ alive)
    whole, parts = shares[0], shares[1:]
    error = np.sqrt((n - 1) / n * ((parts - parts.mean(axis=0)) ** 2).sum(axis=0))
    reach = scipy.special.stdtrit(n - 1, (1 + level) / 2) * error
    return Band(np.clip(whole - reach, 0.0, 1.0), np.clip(whole + reach, 0.0, 1.0), level)


def sampled_band(curve: Curve, pages: float | None, band: Band) -> Band:
    """`band` over hosts, nowhere narrower than `pages` sampled pages allow; None where all pages were seen.

    All gaps of a page count as one observation (Wilson): a page that is hot stays so, and the same pages are followed
    from interval to interval, so that a longer window does not make the sample larger. Hosts of which each shows few
    pages may agree by chance: a band over hosts alone is then too narrow. Of one host this is the whole band.
    """
    if pages is None or pages < 1:
        return band
    known = np.isfinite(curve.share)
    lo, hi = wilson_bounds(np.where(known, curve.share, 0.0), np.full(LENGTHS, pages), band.level)
    lo, hi = (np.where(known, np.clip(side, 0.0, 1.0), np.nan) for side in (lo, hi))
    return Band(np.fmin(band.lo, lo), np.fmax(band.hi, hi), band.level)


def open_band(curve: Curve, seen_ratio: float, band: Band) -> Band:
    """`band` of what a sampler saw, opened to what it missed.

    Of the bytes that were accessed in an interval, at least `seen_ratio` had a sample. These came back no later than
    their next sample says; how soon the others did, nobody saw.
    """
    least = np.where(np.isfinite(band.lo), band.lo, curve.share)
    known = np.isfinite(least)
    return Band(seen_ratio * least, np.where(known, 1.0, np.nan), band.level)
