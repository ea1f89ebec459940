"""The verdict: one word for what a host's tier moves do, with the evidence for it.

Only counters are used, so a verdict is a judgement on evidence and says which. Thresholds stand here once, in shares
of memory per 60 intervals, so that they hold for any interval length; docs/method/tier-moves.md gives the reasons.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from tierscope.domain.counters import Bools, Floats
from tierscope.domain.tier_moves.ledger import Ledger
from tierscope.domain.tier_moves.ping_pong import PAGE_BYTES, move_bytes_per_s, traffic_holds

Word = Literal[
    "fits",
    "spill",
    "healthy",
    "harmless_demotion",
    "futile_ping_pong",
    "limiter_bound",
    "promotion_failing",
    "following_phases",
    "swap_pressure",
    "limit_reclaim",
    "stalled",
    "not_enough_data",
]

MIN_INTERVALS = 5
STEADY_BAND = 0.10
PER_INTERVALS = 60
TURNOVER_MIN = 0.10
"""Exchanged share of the top tier per 60 intervals from which two-way traffic matters."""
QUIET_SHARE = 0.001
"""Moves below this share of resident memory per 60 intervals are noise."""
SWAP_SHARE = 0.01
LIMIT_SHARE = 0.01
SLOW_SHARE_MIN = 0.02
REFUSED_FACTOR = 3.0
UNBOUND_LIMIT_MIB_PER_S = 65536.0
"""The kernel's default promotion rate limit: more than memory can deliver, so it never binds."""
HOT_SLOW_FUTILE = 0.65
SWING_FOLLOWS = 0.30
RESIDENCY_STILL = 0.05
RESIDENCY_SWINGS = 0.10
FAILED_SHARE = 0.10
LIMIT_OF_RECLAIM = 0.25
"""Share of all reclaim that must have worked for cgroups before limits are named as the cause."""
HOT_PIECES_MIN = 3
"""Fewer stretches, or values of a spread, say nothing about change over time."""
HOT_FAULTS_MIN = 100
"""Hint faults in a stretch from which its hot share is a share and not noise."""


@dataclass(frozen=True, slots=True)
class Context:
    """What else is known of the host. None where it is not."""

    dram_bytes: float | None = None
    promote_limit_mib_per_s: float | None = None
    limit_events: int | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """The word, why in one sentence, and how sure that is."""

    word: Word
    explanation: str
    confidence: Literal["certain", "likely", "possible"]


@dataclass(frozen=True, slots=True)
class _Flows:
    """Sums over the steady part, in pages; `scale` makes them per 60 intervals."""

    promoted: float
    demoted: float
    demoted_file: float
    candidates: float
    hint_faults: float
    scanned: float
    failed: float
    swapped_in: float
    swapped_out: float
    refaulted: float
    reclaimed: float
    limit_reclaimed: float
    seconds: float
    scale: float
    top_pages: float
    slow_pages: float

    @property
    def resident(self) -> float:
        return max(self.top_pages + self.slow_pages, 1.0)

    @property
    def churn(self) -> float:
        return min(self.promoted, self.demoted)


def steady_intervals(ledger: Ledger) -> Bools:
    """Intervals in which resident memory stayed within 10 % of its median: no filling, no process ending.

    Falls back to all intervals where residency is not known or hardly ever steady.
    """
    resident = ledger.column("top_resident_bytes") + np.nan_to_num(ledger.column("slow_resident_bytes"))
    known = np.isfinite(resident)
    if not known.any():
        return np.ones(len(resident), bool)
    middle = np.median(resident[known])
    near = known & (np.abs(resident - middle) <= STEADY_BAND * middle)
    steady = near & np.concatenate(([True], near[:-1]))
    return steady if steady.sum() >= max(MIN_INTERVALS, 0.25 * len(resident)) else np.ones(len(resident), bool)


def judge(ledger: Ledger, context: Context | None = None) -> Verdict:
    """Judge a window of the ledger. Needs at least five intervals with differences."""
    context = context or Context()
    if int(ledger.present.any(axis=1).sum()) < MIN_INTERVALS:
        return Verdict(
            "not_enough_data", f"Fewer than {MIN_INTERVALS} intervals with counters in the window.", "certain"
        )
    blind = ledger.total("promoted_pages") is None and ledger.total("demoted_pages") is None
    if blind and (ledger.total("slow_resident_bytes") or 0) > 0:
        return Verdict(
            "not_enough_data", "Memory is on a slower tier, and the kernel counts no tier moves here.", "certain"
        )
    steady = steady_intervals(ledger)
    flows = _sum_flows(ledger, steady)
    return (
        _judge_swap(flows)
        or _judge_limit(flows, context)
        or _judge_still(ledger, flows)
        or _judge_refused(flows, context)
        or _judge_exchange(flows, context, ledger, steady)
        or _judge_one_way(flows)
    )


def _sum_flows(ledger: Ledger, steady: Bools) -> _Flows:
    def total(key: str) -> float:
        return float(np.nansum(ledger.column(key)[steady]))

    def level(key: str) -> float:
        values = ledger.column(key)[steady]
        values = values[np.isfinite(values)]
        return float(np.median(values)) / PAGE_BYTES if len(values) else 0.0

    n = int(steady.sum())
    direct = total("demoted_direct_pages") if total("direct_scan_pages") < 0.1 * total("demoted_direct_pages") else 0.0
    return _Flows(
        promoted=total("promoted_pages"),
        demoted=total("demoted_pages"),
        demoted_file=total("demoted_file_pages"),
        candidates=total("promotion_candidates_pages"),
        hint_faults=total("hint_faults"),
        scanned=total("pte_updates"),
        failed=total("migrate_fail_pages"),
        swapped_in=total("swap_in_pages"),
        swapped_out=total("swap_out_pages"),
        refaulted=total("refault_anon_pages") + total("refault_file_pages"),
        reclaimed=total("reclaimed_pages"),
        limit_reclaimed=max(total("limit_reclaimed_pages"), total("demoted_proactive_pages"), direct),
        seconds=float(ledger.dt_seconds[steady].sum()),
        scale=PER_INTERVALS / max(n, 1),
        top_pages=level("top_resident_bytes"),
        slow_pages=level("slow_resident_bytes"),
    )


def _judge_swap(flows: _Flows) -> Verdict | None:
    needed = SWAP_SHARE * flows.resident
    if flows.swapped_in * flows.scale < needed or flows.swapped_out * flows.scale < needed:
        return None
    return Verdict(
        "swap_pressure",
        f"{_pages(flows.swapped_out)} pages went out to swap and {_pages(flows.swapped_in)} came back: "
        "all memory tiers together are too small.",
        "certain",
    )


def _judge_limit(flows: _Flows, context: Context) -> Verdict | None:
    share = flows.limit_reclaimed / flows.reclaimed if flows.reclaimed else 0.0
    enough = flows.limit_reclaimed * flows.scale >= LIMIT_SHARE * flows.resident
    if not enough or share < LIMIT_OF_RECLAIM:
        return None
    reached = context.limit_events or 0
    cause = f"memory limits were reached {reached} times" if reached else "on behalf of cgroups, not of the host"
    return Verdict(
        "limit_reclaim",
        f"{min(share, 1.0):.0%} of the reclaim worked for cgroups ({cause}): memory.high, memory.max or "
        "memory.reclaim drive the demotions, not a lack of memory.",
        "certain" if reached else "likely",
    )


def _judge_still(ledger: Ledger, flows: _Flows) -> Verdict | None:
    """Nothing moves: it fits, or it spilled and nobody looks, or the scanner looks and never promotes."""
    moved = (flows.promoted + flows.demoted) * flows.scale
    if moved > QUIET_SHARE * flows.resident:
        return None
    slow_share = flows.slow_pages / flows.resident
    spilled = ledger.total("allocation_spill") or 0
    if slow_share < SLOW_SHARE_MIN:
        return Verdict("fits", "No pages move between tiers and hardly any memory is on a slower one.", "certain")
    scanning = flows.scanned > 0 or (ledger.total("pte_updates") or 0) > 0
    if not scanning:
        detail = f", {_pages(spilled)} allocations went to another node" if spilled else ""
        return Verdict(
            "spill",
            f"{slow_share:.0%} of the memory is on a slower tier and nothing brings it back: the kernel does not "
            f"look for hot pages there{detail}.",
            "certain",
        )
    if flows.hint_faults == 0:
        return Verdict(
            "stalled", "Tiering is on, and the scanner slept through the window: no pages were tried.", "possible"
        )
    if flows.candidates * flows.scale > QUIET_SHARE * flows.slow_pages:
        return _failing(flows)
    return Verdict("healthy", "The kernel looked at the slower tier and found no hot pages there to promote.", "likely")


def _failing(flows: _Flows) -> Verdict:
    return Verdict(
        "promotion_failing",
        f"{_pages(flows.candidates)} pages were hot enough to promote and {_pages(flows.promoted)} were promoted; "
        f"{_pages(flows.failed)} moves failed.",
        "likely",
    )


def _judge_refused(flows: _Flows, context: Context) -> Verdict | None:
    """Many more candidates than promotions: the limiter, failing moves, or no free page in the top tier."""
    if flows.candidates * flows.scale < QUIET_SHARE * flows.resident:
        return None
    if flows.candidates < REFUSED_FACTOR * max(flows.promoted, 1.0):
        return None
    limit = context.promote_limit_mib_per_s
    if flows.failed >= FAILED_SHARE * max(flows.promoted, 1.0) and flows.failed >= FAILED_SHARE * flows.candidates:
        return _failing(flows)
    possible = limit is None or limit < UNBOUND_LIMIT_MIB_PER_S
    if possible and (limit is not None or flows.candidates >= 5 * flows.promoted):
        stated = f" (limit {limit:g} MiB/s)" if limit is not None else ""
        return Verdict(
            "limiter_bound",
            f"{flows.candidates / max(flows.promoted, 1.0):.1f} candidates for each promotion while hardly any move "
            f"fails: the promotion rate limit{stated} decides.",
            "likely" if limit is not None else "possible",
        )
    return None if _two_way(flows, context) else _failing(flows)


def _two_way(flows: _Flows, context: Context) -> bool:
    """Whether traffic in both directions is enough to matter, by rate or by turnover of the top tier."""
    if flows.churn < 0.5 * max(flows.promoted, flows.demoted) or flows.seconds <= 0:
        return False
    rate = move_bytes_per_s(int(flows.promoted), int(flows.demoted), flows.seconds)
    turned = flows.churn * flows.scale / max(flows.top_pages, 1.0)
    return turned >= TURNOVER_MIN or (context.dram_bytes is not None and traffic_holds(rate, context.dram_bytes))


def _judge_exchange(flows: _Flows, context: Context, ledger: Ledger, steady: Bools) -> Verdict | None:
    """Much goes up and as much comes down: does it buy anything?"""
    if not _two_way(flows, context):
        return None
    top, slow = ledger.column("top_resident_bytes")[steady], ledger.column("slow_resident_bytes")[steady]
    swing = _spread(top / (top + slow), 5, 95)
    if swing is not None and swing >= RESIDENCY_SWINGS:
        return Verdict(
            "following_phases", f"The top tier's share of memory swings by {swing:.0%} with the moves.", "likely"
        )
    hot = _hot_share_of_slow(ledger, steady)
    turned = flows.churn / max(flows.top_pages, 1.0)
    if len(hot) >= HOT_PIECES_MIN:
        middle, wide = float(np.median(hot)), _spread(hot, 10, 90) or 0.0
        if middle < HOT_SLOW_FUTILE and wide >= SWING_FOLLOWS:
            return Verdict(
                "following_phases",
                f"Of the pages touched on the slower tier, between {np.percentile(hot, 10):.0%} and "
                f"{np.percentile(hot, 90):.0%} are hot, changing with time: the hot set moves and the kernel follows.",
                "likely",
            )
        if middle < HOT_SLOW_FUTILE:
            return Verdict(
                "healthy", f"Promotions pick the hot {middle:.0%} of the pages touched on the slower tier.", "likely"
            )
        detail = f"{middle:.0%} of the pages touched on the slower tier are hot, however many are promoted"
    else:
        detail = "the top tier's share of memory stands still"
    return Verdict(
        "futile_ping_pong",
        f"The top tier was exchanged {turned:.1f} times over and {detail}: the hot set is larger than the top tier, so "
        "each promotion pushes out another hot page.",
        "likely" if len(hot) >= HOT_PIECES_MIN else "possible",
    )


def _hot_share_of_slow(ledger: Ledger, steady: Bools) -> Floats:
    """Candidates per hint fault in up to 24 stretches of the steady part: how hot the touched slow pages are.

    Empty where the kernel does not count both, and where huge pages spoil the ratio: they count 512 candidates and
    one fault.
    """
    candidates = np.nan_to_num(ledger.column("promotion_candidates_pages")[steady])
    faults = np.nan_to_num(ledger.column("hint_faults")[steady])
    if ledger.total("promotion_candidates_pages") is None or candidates.sum() > 1.05 * faults.sum():
        return np.zeros(0)
    pieces = max(min(len(faults) // 4, 24), 1)
    shares = []
    for some, all_ in zip(np.array_split(candidates, pieces), np.array_split(faults, pieces), strict=True):
        if all_.sum() >= HOT_FAULTS_MIN:
            shares.append(min(float(some.sum() / all_.sum()), 1.0))
    return np.array(shares)


def _judge_one_way(flows: _Flows) -> Verdict:
    if flows.promoted < 0.05 * flows.demoted and flows.refaulted < 0.01 * flows.demoted:
        return Verdict(
            "harmless_demotion",
            f"{_pages(flows.demoted)} pages were demoted and hardly any was wanted back.",
            "likely",
        )
    return Verdict(
        "healthy",
        f"{_pages(flows.promoted)} pages promoted and {_pages(flows.demoted)} demoted: little against the memory in "
        "use, and promotions find what they look for.",
        "likely",
    )


def _spread(values: Floats, low: float, high: float) -> float | None:
    values = values[np.isfinite(values)]
    if len(values) < HOT_PIECES_MIN:
        return None
    return float(np.percentile(values, high) - np.percentile(values, low))


def _pages(count: float) -> str:
    return f"{int(count):,}"
