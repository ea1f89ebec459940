"""The evidence of a verdict: what a window of the ledger says about exchange, scanning and reclaim, free of units.

Everything that a rule compares is a ratio of counters to each other or to resident memory, so that neither the speed of
the machine, nor the distance of samples, nor the length of a recording changes it.
docs/method/verdict-rules.md says why each ratio tells what it tells.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tierscope.domain.counters.monotonic import Bools, Floats
from tierscope.domain.ledger.columns import COLUMN_INDEX
from tierscope.domain.ledger.ledger import Ledger

MIN_INTERVALS = 5
STEADY_BAND = 0.10
HORIZON_SECONDS = 3600.0
"""Amounts are judged per hour of a longer window, and as they are in a shorter one."""
FEW_MOVES = 0.002
"""Moves below this share of resident memory in ten minutes are none [A]."""
FEW_MOVES_SECONDS = 600.0
BINS = 20
"""A window is looked at in so many parts of equal time, whatever the distance of its samples."""
BINS_OF_COURSE = 10
"""The same for the share of slow accesses."""
PAUSE_SHARE = 0.05
"""A part with less than this share of an even amount counts as a pause."""
FAULTS_MIN = 100
"""Hint faults in a part from which its hot share is a share and not noise."""
PARTS_MIN = 3
HUGE_SIGN = 1.05
"""Candidates per hint fault above which some faults must have been on huge pages."""
SPREAD = (25.0, 75.0)
LAG_PARTS = 3


@dataclass(frozen=True, slots=True)
class Evidence:
    """Over the steady part: flows in pages, sizes in pages, shares as fractions; None where the kernel does not say.

    `hot_share`: of the slow pages that were touched, those touched soon after the scanner armed them; `hot_share_late`:
    the same in the second half; `hot_share_spread`: how far its parts lie apart, over their median;
    `hot_share_balance`: how much more it falls than rises, -1..1. `huge`: huge pages are among the candidates.
    `effort`: pages that reclaim looked at or passed over for each that was demoted. `paused`: share of time without
    promotions; `scan_paused`: without scanning.
    """

    intervals: int
    seconds: float
    top_pages: float | None
    slow_pages: float | None
    residency_swing: float | None
    promoted: float
    demoted: float
    demoted_proactive: float
    candidates: float | None
    hint_faults: float | None
    armed: float | None
    armed_ever: bool
    failed: float
    swapped_in: float
    swapped_out: float
    refaulted_anon: float
    refaulted_file: float
    reclaimed: float
    limit_reclaimed: float
    spilled: float
    effort: float | None
    hot_share: float | None
    hot_share_late: float | None
    hot_share_spread: float | None
    hot_share_balance: float | None
    huge: bool
    paused: float
    scan_paused: float

    @property
    def resident(self) -> float:
        """Pages on all tiers, at least one."""
        return max((self.top_pages or 0.0) + (self.slow_pages or 0.0), 1.0)

    @property
    def few_pages(self) -> float:
        """Pages of a flow up to which it is none: of ten minutes at least."""
        return FEW_MOVES * self.resident * max(self.seconds / FEW_MOVES_SECONDS, 1.0)

    @property
    def slow_share(self) -> float | None:
        """Share of resident memory on slower tiers."""
        return None if self.slow_pages is None else self.slow_pages / self.resident

    @property
    def churn(self) -> float:
        """The lesser of promoted and demoted pages: no more can have gone round."""
        return min(self.promoted, self.demoted)

    @property
    def horizon(self) -> float:
        """Factor that makes an amount of the window one of an hour, 1 for windows of up to an hour."""
        return min(1.0, HORIZON_SECONDS / self.seconds) if self.seconds > 0 else 1.0

    @property
    def turnover(self) -> float | None:
        """How often the top tier was exchanged."""
        return self.churn * self.horizon / self.top_pages if self.top_pages else None

    @property
    def passes(self) -> float | None:
        """How often the scanner went over the slow tier."""
        return self.armed / self.slow_pages if self.armed is not None and self.slow_pages else None

    @property
    def hot_outside(self) -> float | None:
        """Hot pages on slower tiers over the pages of the top tier."""
        return self._outside(self.hot_share)

    @property
    def hot_outside_late(self) -> float | None:
        """The same by the second half of the window."""
        return self._outside(self.hot_share_late)

    def of_resident(self, pages: float) -> float:
        """An amount as a share of resident memory, per hour where the window is longer."""
        return pages * self.horizon / self.resident

    def _outside(self, share: float | None) -> float | None:
        if share is None or self.slow_pages is None or not self.top_pages:
            return None
        return share * self.slow_pages / self.top_pages


def steady_intervals(ledger: Ledger) -> Bools:
    """Intervals in which resident memory stayed within 10 % of its median: no filling, no process ending.

    Falls back to all intervals where residency is not known or hardly ever steady.
    """
    slow = ledger.column("slow_resident_bytes")
    resident = ledger.column("top_resident_bytes") + np.where(np.isnan(slow), 0.0, slow)
    known = np.isfinite(resident)
    if not known.any():
        return np.ones(len(resident), bool)
    middle = _median(resident[known])
    near = known & (np.abs(resident - middle) <= STEADY_BAND * middle)
    steady = near & np.concatenate(([True], near[:-1]))
    return steady if steady.sum() >= max(MIN_INTERVALS, 0.25 * len(resident)) else np.ones(len(resident), bool)


def gather(ledger: Ledger, page_bytes: int, huge_pages: int) -> Evidence:
    """Gather the evidence of a window of at least one interval; a huge page is `huge_pages` base pages."""
    steady = steady_intervals(ledger)
    dt = ledger.dt_seconds[steady]

    # Cells that are absent hold 0, so that all columns are summed at once: a window has forty of them.
    values, present = ledger.values[steady], ledger.present[steady]
    totals = values.sum(axis=0)
    counted: Bools = np.logical_or.reduce(present, axis=0)

    def flow(key: str) -> Floats:
        return values[:, COLUMN_INDEX[key]].astype(np.float64)

    def amount(key: str) -> float | None:
        place = COLUMN_INDEX[key]
        return float(totals[place]) if counted[place] else None

    def some(key: str) -> float:
        return amount(key) or 0.0

    top, slow = _level(ledger, steady, "top_resident_bytes"), _level(ledger, steady, "slow_resident_bytes")
    slow_pages = _slow_pages(top, slow, page_bytes)
    candidates, armed = amount("promotion_candidates_pages"), amount("pte_updates")
    touched = _touched_pages(ledger, flow, some, huge_pages)
    found, scanned = flow("promotion_candidates_pages"), flow("pte_updates")
    hot = None if candidates is None or touched is None else _hot_share(found, touched, scanned)
    course = None if hot is None else _hot_course(found, touched, _after_first_pass(scanned, slow_pages), dt)
    return Evidence(
        intervals=int(steady.sum()),
        seconds=float(dt.sum()),
        top_pages=None if top is None else top / page_bytes,
        slow_pages=slow_pages,
        residency_swing=_swing(ledger, steady),
        promoted=some("promoted_pages"),
        demoted=some("demoted_pages"),
        demoted_proactive=some("demoted_proactive_pages"),
        candidates=candidates,
        hint_faults=amount("hint_faults"),
        armed=armed,
        armed_ever=(ledger.total("pte_updates") or 0) > 0,
        failed=some("migrate_fail_pages"),
        swapped_in=some("swap_in_pages"),
        swapped_out=some("swap_out_pages"),
        refaulted_anon=some("refault_anon_pages"),
        refaulted_file=some("refault_file_pages"),
        reclaimed=some("reclaimed_pages"),
        limit_reclaimed=_limit_reclaimed(some),
        spilled=some("allocation_spill"),
        effort=_effort(amount),
        hot_share=None if hot is None else hot[0],
        hot_share_late=None if hot is None else hot[1],
        hot_share_spread=course[0] if course else None,
        hot_share_balance=course[1] if course else None,
        huge=candidates is not None and candidates > HUGE_SIGN * (amount("hint_faults") or 0.0) > 0,
        paused=_paused(flow("promoted_pages"), dt),
        scan_paused=_paused(scanned, dt),
    )


def _median(values: Floats) -> float:
    """Of at least one finite value: `numpy.median` takes ten times as long for as few as a window has."""
    ordered = np.sort(values)
    return float((ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2)


def _level(ledger: Ledger, steady: Bools, key: str) -> float | None:
    values = ledger.column(key)[steady]
    values = values[np.isfinite(values)]
    return _median(values) if len(values) else None


def _slow_pages(top: float | None, slow: float | None, page_bytes: int) -> float | None:
    """Without a slower node there is nothing on it; without knowing the tiers nothing is known."""
    if slow is not None:
        return slow / page_bytes
    return None if top is None else 0.0


def _swing(ledger: Ledger, steady: Bools) -> float | None:
    """How far the top tier's share of resident memory moves, 5th to 95th percentile, where their sum stands still."""
    top, slow = ledger.column("top_resident_bytes")[steady], ledger.column("slow_resident_bytes")[steady]
    known = np.isfinite(top) & np.isfinite(slow) & (top + slow > 0)
    whole = (top + slow)[known]
    if known.sum() < PARTS_MIN or np.ptp(whole) > 2 * STEADY_BAND * _median(whole):
        return None
    share = top[known] / (top[known] + slow[known])
    low, high = np.percentile(share, (5, 95))
    return float(high - low)


def _limit_reclaimed(some: Callable[[str], float]) -> float:
    """Pages reclaimed for cgroups, however this kernel shows them; see docs/method/verdict-rules.md."""
    direct = some("demoted_direct_pages")
    hidden = some("direct_scan_pages") < 0.1 * direct
    unstalled = some("direct_reclaim_stalls") == 0
    return max(some("limit_reclaimed_pages"), some("demoted_proactive_pages") + (direct if hidden or unstalled else 0))


def _effort(amount: Callable[[str], float | None]) -> float | None:
    scanned, passed, demoted = (
        amount("reclaim_scanned_pages"),
        amount("reclaim_passed_over_pages"),
        amount("demoted_pages"),
    )
    if scanned is None or passed is None or not demoted:
        return None
    return (scanned + passed) / demoted


def _touched_pages(
    ledger: Ledger, flow: Callable[[str], Floats], some: Callable[[str], float], huge_pages: int
) -> Floats | None:
    """Hint faults in base pages, per interval: a fault on a huge page arms and finds all of its base pages at once."""
    if ledger.total("hint_faults") is None or ledger.total("pte_updates") is None:
        return None
    faults, armed, huge = flow("hint_faults"), some("pte_updates"), some("huge_pte_updates")
    entries = armed - (huge_pages - 1) * huge
    if huge > 0 and entries > 0:
        return np.asarray(faults * min(armed / entries, float(huge_pages)))
    candidates = some("promotion_candidates_pages")
    if candidates > HUGE_SIGN * faults.sum() > 0:
        return np.asarray(faults * min(max(armed, candidates) / faults.sum(), float(huge_pages)))
    return faults


def _hot_share(found: Floats, touched: Floats, scanned: Floats) -> tuple[float, float | None] | None:
    """The hot share of touched slow pages, of all and of the second half.

    Hot pages fault first: soon after a burst of scanning most faults are theirs, so the pages that were armed count
    where they are more than those touched so far.
    """

    def share(part: slice) -> float | None:
        tried = max(float(touched[part].sum()), float(scanned[part].sum()))
        return min(float(found[part].sum()) / tried, 1.0) if touched[part].sum() >= FAULTS_MIN else None

    all_ = share(slice(None))
    return None if all_ is None else (all_, share(slice(len(found) // 2, None)))


def _after_first_pass(scanned: Floats, slow_pages: float | None) -> int:
    """The first interval after the scanner's first pass over the slow tier, 0 where it made fewer than two.

    The first pass finds where pages happened to be placed, not what moves made of it.
    """
    if not slow_pages or scanned.sum() < 2 * slow_pages:
        return 0
    return int(np.searchsorted(np.cumsum(scanned), slow_pages))


def _hot_course(found: Floats, touched: Floats | None, first: int, dt: Floats) -> tuple[float, float] | None:
    """How the hot share goes over the parts of the window: its spread over its median, and the balance of its falls.

    The spread is the interquartile range. Balance is 0 where it rises as much as it falls, 1 where it only falls, -1
    where it only rises: differences over three parts of three parts taken together, at their 10th and 90th percentile.
    """
    if touched is None or len(found) <= first:
        return None
    hot, all_ = in_bins(found[first:], dt[first:]), in_bins(touched[first:], dt[first:])
    enough = all_ >= max(FAULTS_MIN, 0.2 * all_.mean())
    if enough.sum() < PARTS_MIN:
        return None
    shares = np.minimum(hot[enough] / all_[enough], 1.0)
    middle = _median(shares)
    if middle <= 0:
        return None
    low, high = np.percentile(shares, SPREAD)
    return float(high - low) / middle, _balance(hot[enough], all_[enough])


def _balance(hot: Floats, all_: Floats) -> float:
    if len(hot) <= 2 * LAG_PARTS:
        return 0.0
    together = np.ones(LAG_PARTS)
    shares = np.convolve(hot, together, "valid") / np.convolve(all_, together, "valid")
    steps = shares[LAG_PARTS:] - shares[:-LAG_PARTS]
    low, high = np.percentile(steps, (10, 90))
    fall, rise = max(-float(low), 0.0), max(float(high), 0.0)
    return (fall - rise) / max(fall, rise) if max(fall, rise) > 0 else 0.0


def _paused(flow: Floats, dt: Floats) -> float:
    """Share of the parts of the window in which hardly anything flowed; 1 where nothing did."""
    parts = in_bins(flow, dt)
    return 1.0 if parts.sum() <= 0 else float((parts < PAUSE_SHARE * parts.mean()).mean())


def in_bins(flow: Floats, dt: Floats, most: int = BINS) -> Floats:
    """Sums of a flow [n] over at most `most` parts of equal time; `dt` [n] are the seconds of its intervals."""
    n = min(most, len(flow))
    if n == 0:
        return np.zeros(0)
    ends = np.cumsum(dt)
    place = np.minimum(((ends - dt / 2) / max(ends[-1], 1e-9) * n).astype(int), n - 1)
    return np.bincount(place, weights=flow, minlength=n).astype(np.float64)
