"""The evidence of a verdict: what a window of the ledger says about exchange, scanning and reclaim, free of units.

Everything that a rule compares is a ratio of counters to each other or to resident memory, so that neither the speed of
the machine, nor the distance of samples, nor the length of a recording changes it.
docs/method/verdict-rules.md says why each ratio tells what it tells.
"""

from collections.abc import Callable

import numpy as np

from tierscope.domain.counters.monotonic import Bools, Floats
from tierscope.domain.ledger.columns import COLUMN_INDEX, COLUMN_KEYS
from tierscope.domain.ledger.ledger import Ledger
from tierscope.domain.ledger.measured import Candidates, Evidence, Group, Looked, Moves, Reclaim, Sizes, Swap
from tierscope.domain.ledger.words import Context

MIN_INTERVALS = 5
STEADY_BAND = 0.10
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


Amount = Callable[[str], float | None]
Flow = Callable[[str], Floats]


def gather(ledger: Ledger, context: Context) -> Evidence:
    """Gather the evidence of a window of at least one interval."""
    steady = steady_intervals(ledger)
    dt = ledger.dt_seconds[steady]

    # Cells that are absent hold 0, so that all columns are summed at once: a window has forty of them.
    values, present = ledger.values[steady], ledger.present[steady]
    totals = values.sum(axis=0)
    counted: Bools = np.logical_or.reduce(present, axis=0)
    absent = frozenset(key for key, there in zip(COLUMN_KEYS, counted.tolist(), strict=True) if not there)

    def flow(key: str) -> Floats:
        return values[:, COLUMN_INDEX[key]].astype(np.float64)

    def amount(key: str) -> float | None:
        place = COLUMN_INDEX[key]
        return float(totals[place]) if counted[place] else None

    def is_counted(kind: type[Group]) -> bool:
        return absent.isdisjoint(kind.inputs)

    sizes = _sizes(ledger, steady, context, float(dt.sum()))
    return Evidence(
        intervals=int(steady.sum()),
        absent=absent,
        sizes=sizes,
        moves=_moves(flow, dt, context.page_bytes) if is_counted(Moves) else None,
        candidates=Candidates(float(flow("promotion_candidates_pages").sum())) if is_counted(Candidates) else None,
        looked=_looked(ledger, flow, amount, dt, sizes, context.huge_pages) if is_counted(Looked) else None,
        swap=_swap(amount, sizes),
        reclaim=_reclaim(amount, context),
        residency_swing=_swing(ledger, steady),
        failed=amount("migrate_fail_pages"),
        spilled=amount("allocation_spill"),
        refaulted_anon=amount("refault_anon_pages"),
        refaulted_file=amount("refault_file_pages"),
        effort=_effort(amount),
        damon_promotes="damon_promoted_bytes" not in absent,
    )


def _sizes(ledger: Ledger, steady: Bools, context: Context, seconds: float) -> Sizes | None:
    """Without a slower tier nothing is on it; without knowing whether there is one nothing is known."""
    top = _level(ledger, steady, "top_resident_bytes")
    slow = _level(ledger, steady, "slow_resident_bytes")
    if slow is None and context.has_slow_tier is False:
        slow = 0.0
    if top is None or slow is None or context.page_bytes is None:
        return None
    return Sizes(top / context.page_bytes, slow / context.page_bytes, seconds)


def _moves(flow: Flow, dt: Floats, page_bytes: int | None) -> Moves:
    """DAMON counts bytes; where nobody has a scheme there are none."""
    promoted, demoted = (flow(key) for key in Moves.inputs)
    up, down = (flow(key) / (page_bytes or 1) for key in ("damon_promoted_bytes", "damon_demoted_bytes"))
    return Moves(
        float(promoted.sum()), float(demoted.sum()), _paused(promoted + up, dt), float(up.sum()), float(down.sum())
    )


def _looked(ledger: Ledger, flow: Flow, amount: Amount, dt: Floats, sizes: Sizes | None, huge_pages: int) -> Looked:
    found, faults, scanned = (flow(key) for key in Looked.inputs)
    touched = _touched_pages(found, faults, scanned, amount("huge_pte_updates") or 0.0, huge_pages)
    hot = _hot_share(found, touched, scanned)
    first = _after_first_pass(scanned, None if sizes is None else sizes.slow_pages)
    course = None if hot is None else _hot_course(found, touched, first, dt)
    candidates, hint_faults = float(found.sum()), float(faults.sum())
    return Looked(
        candidates=candidates,
        hint_faults=hint_faults,
        armed=float(scanned.sum()),
        armed_ever=(ledger.total("pte_updates") or 0) > 0,
        hot_share=None if hot is None else hot[0],
        hot_share_late=None if hot is None else hot[1],
        hot_share_spread=course[0] if course else None,
        hot_share_balance=course[1] if course else None,
        huge=candidates > HUGE_SIGN * hint_faults > 0,
        paused=_paused(scanned, dt),
    )


def _swap(amount: Amount, sizes: Sizes | None) -> Swap | None:
    """Where swap is not counted, anonymous pages that never came back say that hardly any went: they come from swap."""
    came_back, went_out = (amount(key) for key in Swap.inputs)
    if came_back is not None and went_out is not None:
        return Swap(came_back, went_out)
    refaulted = amount("refault_anon_pages")
    return Swap(0.0, 0.0) if refaulted is not None and sizes is not None and refaulted <= sizes.few_pages else None


def _reclaim(amount: Amount, context: Context) -> Reclaim | None:
    """Pages reclaimed for cgroups, however this kernel shows them; see docs/method/verdict-rules.md."""
    reclaimed, demoted = (amount(key) for key in Reclaim.inputs)
    if demoted is None and context.has_slow_tier is False:
        demoted = 0.0
    if reclaimed is None or demoted is None:
        return None
    proactive, direct, kswapd = (amount(f"demoted_{who}_pages") for who in ("proactive", "direct", "kswapd"))
    by_kind = amount("limit_reclaimed_pages")
    scanned, stalls = amount("direct_scan_pages"), amount("direct_reclaim_stalls")
    # Demotions that neither kswapd nor, where it is told, direct reclaim made may be for a limit.
    proactive_most = proactive if proactive is not None else max(demoted - (kswapd or 0.0) - (direct or 0.0), 0.0)
    direct_most = direct if direct is not None else demoted - (kswapd or 0.0)
    signs = (
        None if scanned is None else scanned < 0.1 * direct_most,
        None if stalls is None else stalls == 0,
        True if context.limit_events else None,
    )
    known = any(signs)
    excluded = not known and None not in signs[:2]
    least = max(by_kind or 0.0, (proactive or 0.0) + ((direct or 0.0) if known else 0.0))
    kinds_most = by_kind if by_kind is not None else 0.0 if context.limit_events == 0 else reclaimed
    most = max(kinds_most, proactive_most + (0.0 if excluded else direct_most))
    return Reclaim(reclaimed, least, max(least, most))


def _median(values: Floats) -> float:
    """Of at least one finite value: `numpy.median` takes ten times as long for as few as a window has."""
    ordered = np.sort(values)
    return float((ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2)


def _level(ledger: Ledger, steady: Bools, key: str) -> float | None:
    values = ledger.column(key)[steady]
    values = values[np.isfinite(values)]
    return _median(values) if len(values) else None


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


def _effort(amount: Amount) -> float | None:
    scanned, passed, demoted = (
        amount("reclaim_scanned_pages"),
        amount("reclaim_passed_over_pages"),
        amount("demoted_pages"),
    )
    if scanned is None or passed is None or not demoted:
        return None
    return (scanned + passed) / demoted


def _touched_pages(found: Floats, faults: Floats, scanned: Floats, huge: float, huge_pages: int) -> Floats:
    """Hint faults in base pages, per interval: a fault on a huge page arms and finds all of its base pages at once."""
    armed, candidates = float(scanned.sum()), float(found.sum())
    entries = armed - (huge_pages - 1) * huge
    if huge > 0 and entries > 0:
        return np.asarray(faults * min(armed / entries, float(huge_pages)))
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


def _hot_course(found: Floats, touched: Floats, first: int, dt: Floats) -> tuple[float, float] | None:
    """How the hot share goes over the parts of the window: its spread over its median, and the balance of its falls.

    The spread is the interquartile range. Balance is 0 where it rises as much as it falls, 1 where it only falls, -1
    where it only rises: differences over three parts of three parts taken together, at their 10th and 90th percentile.
    """
    if len(found) <= first:
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
