"""Revisit: how soon memory that went idle is accessed again, from reuse gaps grouped by length in intervals.

Lengths are 1..63 intervals; weights are bytes. A gap ends by re-access (closed), by unmap (freed), or cannot be
followed further (open at the end, or cut by a missing interval). Lag since the last access and lag since turning cold
are different clocks: `cold_start` turns the first into the second.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

LENGTHS = 63
"""Longest gap that a history of 64 intervals can hold."""
FREED_SHARE_LIMIT = 0.05
"""Above this share of endings by unmap, re-access and unmap are treated as competing events."""
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

    @property
    def freed_share(self) -> float:
        """Share of endings that were unmaps; 0 without any ending."""
        endings = float(self.closed.sum() + self.freed.sum())
        return float(self.freed.sum()) / endings if endings else 0.0


@dataclass(frozen=True, slots=True)
class Curve:
    """Share re-accessed within 1..63 intervals, `share[i]` for i + 1; NaN where nothing was at risk.

    `method` is `kaplan_meier`, or `cumulative_incidence` where unmaps compete. `at_risk` are the bytes behind each
    point: beyond the last closed gap the curve is flat because nothing was left to watch.
    """

    share: Floats
    at_risk: Floats
    method: str


def from_lists(closed: Sequence[float], freed: Sequence[float] = (), censored: Sequence[float] = ()) -> Gaps:
    """Group single gaps of weight 1 by length. Lengths must be 1..63."""

    def grouped(lengths: Sequence[float]) -> Floats:
        counts = np.bincount(np.asarray(lengths, dtype=np.int64), minlength=LENGTHS + 1)
        if len(counts) > LENGTHS + 1 or counts[0]:
            raise ValueError(f"gap lengths must be 1..{LENGTHS} intervals")
        return counts[1:].astype(np.float64)

    return Gaps(grouped(closed), grouped(freed), grouped(censored))


def reaccess_curve(gaps: Gaps) -> Curve:
    """Kaplan-Meier on grouped gaps; cumulative incidence where more than 5 % of the endings were unmaps.

    At length t are at risk all gaps of length t or more, ended or not. Kaplan-Meier takes an unmap as censoring, which
    overstates re-access where unmaps are frequent; the cumulative incidence adds S(t-) * closed(t) / at risk(t), with S
    the survival of both endings.
    """
    competing = gaps.freed_share > FREED_SHARE_LIMIT
    share, at_risk = _share(gaps.closed, gaps.freed, gaps.at_risk_only, competing=competing)
    return Curve(share, at_risk, "cumulative_incidence" if competing else "kaplan_meier")


def _share(closed: Floats, freed: Floats, alive: Floats, *, competing: bool) -> tuple[Floats, Floats]:
    """Share re-accessed and bytes at risk, along the last axis."""
    at_risk = np.flip(np.cumsum(np.flip(closed + freed + alive, axis=-1), axis=-1), axis=-1)
    watched = np.where(at_risk > 0, at_risk, 1.0)
    endings = closed + freed if competing else closed
    survival = np.cumprod(1.0 - endings / watched, axis=-1)
    share = 1.0 - survival
    if competing:
        before = np.concatenate([np.ones_like(survival[..., :1]), survival[..., :-1]], axis=-1)
        share = np.cumsum(before * (closed / watched), axis=-1)
    return np.where(at_risk > 0, share, np.nan), at_risk


def hazard_curve(closed: Floats, open_: Floats) -> Floats:
    """Share still idle after 1..63 intervals, from the additive form.

    That is sums over intervals: bytes of gaps that closed at a length, and of pages that had been idle for that length
    at an interval's end.
    """
    watched = closed + open_
    hazard = closed / np.where(watched > 0, watched, 1.0)
    return np.asarray(np.cumprod(1.0 - hazard), np.float64)


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
    from scipy import optimize  # noqa: PLC0415 - slow to load, and few reads need it

    intervals = len(count_bytes) - 1
    seen = float(count_bytes[1:].sum())
    if seen <= 0:
        return None
    mean = float((count_bytes * np.arange(intervals + 1)).sum()) / seen / intervals
    least = 1e-6
    if mean >= 1.0 - least or mean <= 1.0 / intervals + least:
        return 1.0 if mean >= 1.0 - least else least
    return float(optimize.brentq(lambda q: q / (1.0 - (1.0 - q) ** intervals) - mean, least, 1.0 - least))


def promotion_rate_per_minute(reaccessed_pages: float, working_set_pages: float, minutes: float) -> float | None:
    """Pages re-accessed after 120 s of idleness or more, per minute and page of the working set.

    The working set is the pages active within 120 s; None where there is none.
    """
    if minutes <= 0:
        raise ValueError("the window must be longer than nothing")
    return reaccessed_pages / minutes / working_set_pages if working_set_pages > 0 else None


@dataclass(frozen=True, slots=True)
class Band:
    """Interval of a curve at each lag, over hosts; NaN where fewer than two hosts have a value."""

    lo: Floats
    hi: Floats
    level: float


def host_band(
    hosts: Sequence[Gaps], *, idle_intervals: int | None = None, draws: int = 2000, level: float = 0.95, seed: int = 0
) -> Band:
    """Percentile bootstrap over hosts: draws whole hosts, pools their gaps, and estimates again.

    Pages of a host share their load, so intervals that treat pages as independent (Greenwood) are far too narrow.
    """
    if len(hosts) <= 1:
        nothing = np.full(LENGTHS, np.nan)
        return Band(nothing, nothing, level)
    clocked = [cold_start(host, idle_intervals) if idle_intervals else host for host in hosts]
    closed, freed, alive = (
        np.stack([getattr(host, name) for host in clocked]) for name in ("closed", "freed", "at_risk_only")
    )
    random = np.random.default_rng(seed)
    counts = random.multinomial(len(hosts), np.full(len(hosts), 1.0 / len(hosts)), size=draws).astype(np.float64)
    competing = sum(clocked[1:], clocked[0]).freed_share > FREED_SHARE_LIMIT
    shares, _ = _share(counts @ closed, counts @ freed, counts @ alive, competing=competing)
    known = np.isfinite(shares).any(axis=0)
    lo, hi = np.full((2, LENGTHS), np.nan)
    lo[known], hi[known] = np.nanquantile(shares[:, known], [(1 - level) / 2, (1 + level) / 2], axis=0)
    return Band(lo, hi, level)
