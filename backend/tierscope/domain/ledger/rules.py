"""What counters alone say of a host's tier moves: rules over the ratios of `evidence.py`, each threshold once.

docs/method/verdict-rules.md gives the reasons. A rule answers None where it does not fit.
"""

import numpy as np

from tierscope.domain.ledger.evidence import MIN_INTERVALS, Evidence
from tierscope.domain.ledger.ledger import Ledger
from tierscope.domain.ledger.words import Confidence, Context, Sign, Verdict

QUIET_SHARE = 0.001
"""Moves below this share of resident memory are noise."""
WANTED_BACK = 0.10
"""Of the pages that went to swap, how many must have come back for memory to be short."""
LIMIT_SHARE = 0.01
LIMIT_OF_RECLAIM = 0.25
"""Share of all reclaim that must have worked for cgroups before limits are named as the cause."""
LIMIT_BEFORE_SWAP = 0.50
SLOW_SHARE_MIN = 0.02
"""Of resident memory: less on slower tiers is hardly any."""
TIERING_BIT = 2
ALL_FILE = 0.90
FEW_HOT = 0.01
BLIND_FAULTS = 1000
"""Hint faults without one candidate from which the kernel is not choosing pages to promote at all."""
REFUSED_FACTOR = 3.0
"""Candidates per promotion from which a limit that was reached decides; moves that fail for each demoted page."""
MOSTLY_REFUSED = 5.0
"""The same where no limit is known to bind: a full top tier refuses too, and each try counts again."""
FAILED_SHARE = 0.10
FULL_SHARE = 0.95
"""Of the slower tiers: with more on them demotion finds no free page there [A]."""
FULL_WHERE_MOVES_FAIL = 0.85
"""The same where moves fail: a tenth of a small tier is what the kernel uses, and what it keeps free [A]."""
UNBOUND_LIMIT_MIB_PER_S = 65536.0
"""The kernel's default promotion rate limit: more than memory can deliver, so it never binds."""
LIMIT_REACHED = 0.25
"""Candidates over what the limit lets through from which it can have bound: they come in bursts."""
LIMIT_USED = 0.01
"""Promotions over what the limit lets through below which something else holds them: it lets through its rate [A]."""
TURNOVER_MIN = 0.10
"""Exchanged share of the top tier from which two-way traffic matters."""
TURNOVER_BUSY = 0.03
BUSY_SHARE = 0.15
"""The same where so much of what the scanner tries ends in an exchange: in a short window."""
RESIDENCY_SWINGS = 0.10
OUTSIDE_MIN = 0.10
"""Hot pages on slower tiers, over the top tier's size, from which they matter."""
OUTSIDE_STALLED = 0.12
REPLACED_OVER = 3.0
"""How often the hot pages outside must have been promoted, with as many left, for few of them to be futile too."""
PAUSED_MAX = 0.25
"""Share of time without promotions up to which an exchange counts as going on."""
SPREAD_FOLLOWS = 0.155
"""Interquartile range of the hot share over time, over its median, from which the hot set moves."""
BALANCE_MAX = 0.55
"""How much more the hot share may fall than rise for it to come and go; above, it falls for good."""
EFFORT_FUTILE = 8.0
"""Pages looked at for each demoted from which the top tier holds hardly a page that is not in use."""
ALL_HOT = 0.65
DECLINED = 0.60
RETURNED_MAX = 0.10
GAIN_HELPS = 0.10
SHORT_PASSES = 1.0
SHORT_INTERVALS = 20
ONE_TIER = "kernel ranks memory without processors in one tier with DRAM, so no page is demoted or promoted"


def judge_swap(seen: Evidence, context: Context) -> Verdict | None:
    """Pages go to swap and are wanted back: past the slower tier where that has no room for what is demoted."""
    out, back = seen.of_resident(seen.swapped_out), seen.of_resident(seen.swapped_in)
    if seen.swapped_out + seen.swapped_in <= seen.few_pages or seen.swapped_in < WANTED_BACK * seen.swapped_out:
        return None
    full = _full_below(seen, context)
    past = "" if full is None else f" The slower tier is {full:.0%} full: reclaim skips demotion and swaps."
    return Verdict(
        "swap_pressure",
        f"{_pages(seen.swapped_out)} pages went out to swap and {_pages(seen.swapped_in)} came back: "
        f"all memory tiers together are too small.{past}",
        "certain",
        (
            *(() if full is None else (Sign("slow_tier_full", full, "ratio"),)),
            Sign("swapped_out_of_resident", out, "ratio"),
            Sign("swapped_in_of_resident", back, "ratio"),
            Sign("refaulted_anon", seen.refaulted_anon, "pages"),
        ),
    )


def judge_limit(seen: Evidence, context: Context, least: float) -> Verdict | None:
    """At least the share `least` of the reclaim worked for limits of cgroups."""
    share = seen.limit_reclaimed / seen.reclaimed if seen.reclaimed else 0.0
    amount = seen.of_resident(seen.limit_reclaimed)
    if amount < LIMIT_SHARE or share < least:
        return None
    reached = context.limit_events or 0
    cause = f"memory limits were reached {reached} times" if reached else "on behalf of cgroups, not of the host"
    return Verdict(
        "limit_reclaim",
        f"{min(share, 1.0):.0%} of the reclaim worked for cgroups ({cause}): memory.high, memory.max or "
        "memory.reclaim drive the demotions, not a lack of memory.",
        "certain" if reached else "likely",
        (
            Sign("reclaimed_for_cgroups_of_reclaimed", min(share, 1.0), "ratio"),
            Sign("reclaimed_for_cgroups_of_resident", amount, "ratio"),
            Sign("limit_events", float(reached), "events"),
        ),
        (Sign("swapped_in_of_resident", seen.of_resident(seen.swapped_in), "ratio"),) if seen.swapped_in else (),
        "swap_pressure" if seen.swapped_in else None,
    )


def judge_still(seen: Evidence, context: Context) -> Verdict | None:
    """Nothing moves: it fits, or it spilled and nobody promotes, or the scanner looks and never succeeds."""
    moved = seen.of_resident(seen.promoted + seen.demoted)
    if moved > QUIET_SHARE:
        return None
    share = seen.slow_share
    if share is None:
        return Verdict(
            "not_known", "Nothing moves, and the host does not say how much memory is on slower tiers.", "certain"
        )
    signs = (
        Sign("moved_of_resident", moved, "ratio"),
        Sign("slow_share", share, "ratio"),
        Sign("page_table_entries_scanned", seen.armed or 0.0, "entries"),
    )
    if share < SLOW_SHARE_MIN:
        text = "No pages move between tiers and hardly any memory is on a slower one."
        return Verdict("fits", text, "certain", signs)
    if off := why_not_promoting(seen, context):
        text = f"{share:.0%} of the memory is on a slower tier and nothing brings it back: {off}"
        if seen.spilled:
            text += f", {_pages(seen.spilled)} allocations went to another node"
        sure: Confidence = "certain" if context.balancing is not None or not seen.armed_ever else "likely"
        return Verdict("spill", f"{text}.", sure, (*signs, Sign("allocations_spilled", seen.spilled, "allocations")))
    if (seen.hot_share or 0.0) >= FEW_HOT and (seen.candidates or 0.0) > QUIET_SHARE * (seen.slow_pages or 0.0):
        return None
    if not seen.armed and (context.slow_file_share or 0.0) >= ALL_FILE:
        text = "The slower tier holds file cache that no process maps: the scanner has nothing to try there."
        file_share = Sign("slow_file_share", context.slow_file_share or 0.0, "ratio")
        return Verdict("healthy", text, "possible", (*signs, file_share), (), "spill")
    if not seen.armed or not seen.hint_faults:
        text = "Tiering is enabled, but the NUMA scanner did not run in this window: no slow page was tried."
        return Verdict("stalled", text, "possible", signs, runner_up="healthy")
    text = "The kernel scanned the slower tier and found no hot pages to promote."
    return Verdict("healthy", text, "likely", (*signs, Sign("hint_faults", seen.hint_faults, "faults")))


def why_not_promoting(seen: Evidence, context: Context) -> str | None:
    """Why no page could be promoted, whatever it is used for; None where the kernel promotes or may do."""
    if context.balancing is not None and not context.balancing & TIERING_BIT:
        return f"kernel.numa_balancing is {context.balancing}, which does not promote"
    if not seen.armed_ever and context.balancing is None:
        return "the kernel does not look for hot pages there"
    # Where the setting is known to promote, faults without a candidate are pages that are not hot.
    if context.balancing is None and (seen.hint_faults or 0) >= BLIND_FAULTS and seen.candidates == 0:
        return f"of {_pages(seen.hint_faults or 0)} pages found in use not one was considered for promotion"
    return None


def judge_refused(seen: Evidence, context: Context) -> Verdict | None:
    """Many more candidates than promotions: the limiter, failing moves, or a full tier."""
    found = seen.candidates or 0.0
    factor = found / max(seen.promoted, 1.0)
    if seen.of_resident(found) < QUIET_SHARE or factor < REFUSED_FACTOR:
        return None
    signs: tuple[Sign, ...] = (
        Sign("candidates_per_promotion", factor, "ratio"),
        Sign("failed_of_candidates", seen.failed / found, "ratio"),
    )
    limit = context.promote_limit_mib_per_s
    reached = _limit_reached(seen, context)
    if reached is not None and limit is not None:
        signs = (*signs, Sign("candidates_over_limit", reached, "ratio"), Sign("promotion_limit", limit, "MiB/s"))
    if full := _slow_tier_full(seen, context, signs):
        return full
    if seen.failed >= FAILED_SHARE * max(seen.promoted, FAILED_SHARE * found):
        return _failing(seen, signs, "likely")
    if reached is not None and reached >= LIMIT_REACHED and seen.promoted >= LIMIT_USED * found / reached:
        return _limited(seen, factor, f" ({limit:g} MiB/s)", signs, "likely")
    let_through = seen.of_resident(seen.promoted) >= QUIET_SHARE
    if factor < MOSTLY_REFUSED:
        return None
    if limit is None and let_through and not seen.huge:
        return _limited(seen, factor, "", signs, "possible")
    if _two_way(seen) and _all_in_use(seen):
        return None
    return _failing(seen, signs, "likely" if limit is not None else "possible")


def _limit_reached(seen: Evidence, context: Context) -> float | None:
    """Candidates over what a known promotion rate limit lets through; None where none can bind."""
    limit = context.promote_limit_mib_per_s
    if limit is None or limit >= UNBOUND_LIMIT_MIB_PER_S or seen.seconds <= 0 or context.page_bytes is None:
        return None
    return (seen.candidates or 0.0) * context.page_bytes / (max(limit, 1e-9) * 2**20 * seen.seconds)


def _limited(seen: Evidence, factor: float, stated: str, signs: tuple[Sign, ...], confidence: Confidence) -> Verdict:
    against = () if seen.turnover is None else (Sign("turnover_of_top_tier", seen.turnover, "ratio"),)
    return Verdict(
        "limiter_bound",
        f"{factor:.1f} candidates for each promotion while hardly any move fails: the promotion rate limit{stated} "
        "decides.",
        confidence,
        signs,
        against,
        "futile_ping_pong" if _two_way(seen) else "promotion_failing",
    )


def _failing(seen: Evidence, signs: tuple[Sign, ...], confidence: Confidence) -> Verdict:
    return Verdict(
        "promotion_failing",
        f"{_pages(seen.candidates or 0)} pages were hot enough to promote and {_pages(seen.promoted)} were promoted; "
        f"{_pages(seen.failed)} moves failed, the others were never tried: the kernel does so where the top tier has "
        "no free page, or its promotion rate limit is reached.",
        confidence,
        signs,
    )


def _slow_tier_full(seen: Evidence, context: Context, signs: tuple[Sign, ...]) -> Verdict | None:
    """Promotion needs a free page in the top tier, and demotion, which makes one, a free page below it."""
    full = _full_below(seen, context)
    if full is None:
        return None
    text = (
        f"{_pages(seen.candidates or 0)} pages were hot enough to promote and {_pages(seen.promoted)} were promoted: "
        f"the slower tier is {full:.0%} full, so {_pages(seen.demoted)} pages were demoted to make room above."
    )
    return Verdict("slow_tier_full", text, "likely", (Sign("slow_tier_full", full, "ratio"), *signs))


def _full_below(seen: Evidence, context: Context) -> float | None:
    """How full the slower tier is, where that keeps demotion from moving anything; None where it does not."""
    fails = _demotion_fails(seen)
    if seen.demoted > seen.few_pages and not fails:
        return None
    if context.demotion is False or not context.slow_bytes or seen.slow_pages is None or context.page_bytes is None:
        return None
    full = seen.slow_pages * context.page_bytes / context.slow_bytes
    return full if full >= (FULL_WHERE_MOVES_FAIL if fails else FULL_SHARE) else None


def _demotion_fails(seen: Evidence) -> bool:
    """Whether many moves fail for each page that is demoted: a page that promotion frees below lets one more down."""
    return seen.failed > seen.few_pages and seen.failed >= REFUSED_FACTOR * seen.demoted


def judge_full(seen: Evidence, context: Context) -> Verdict | None:
    """Reclaim wants to demote and cannot, so nothing could be promoted, whatever the scanner finds."""
    full = _full_below(seen, context)
    if full is None or not _demotion_fails(seen):
        return None
    text = (
        f"The slower tier is {full:.0%} full: {_pages(seen.failed)} moves failed and {_pages(seen.demoted)} pages were "
        "demoted, so there is no room above for pages to promote."
    )
    signs = (Sign("slow_tier_full", full, "ratio"), Sign("failed_of_resident", seen.of_resident(seen.failed), "ratio"))
    return Verdict("slow_tier_full", text, "likely", signs, runner_up="stalled")


def judge_one_tier(context: Context) -> Verdict | None:
    """The kernel ranks memory without processors with DRAM: it neither demotes to it nor promotes from it."""
    if not context.one_tier:
        return None
    text = f"The {ONE_TIER}; how many accesses it serves is not known. Counters of the memory controllers would tell."
    return Verdict("one_tier", text, "possible", runner_up="not_known")


def _two_way(seen: Evidence) -> bool:
    """Whether as much goes up as comes down, and enough to exchange a tenth of the top tier."""
    if seen.churn < 0.5 * max(seen.promoted, seen.demoted):
        return False
    if seen.turnover is None or seen.turnover >= TURNOVER_MIN:
        return True
    return seen.turnover >= TURNOVER_BUSY and seen.churn >= BUSY_SHARE * max(seen.armed or 0.0, 1.0)


def _crowded(seen: Evidence) -> bool:
    """Whether reclaim finds hardly a page of the top tier that is not in use."""
    return seen.effort is not None and seen.effort >= EFFORT_FUTILE


def _all_in_use(seen: Evidence) -> bool:
    """Whether pages are as hot on one side as on the other: promotions wait for one that is not, few pass."""
    return _crowded(seen) and (seen.hot_share or 0.0) >= ALL_HOT


def judge_exchange(seen: Evidence, context: Context, ledger: Ledger) -> Verdict | None:
    """Much goes up and as much comes down, all the time: does it buy anything?"""
    if not _two_way(seen):
        return None
    swing, spread, effort = seen.residency_swing, seen.hot_share_spread, seen.effort
    signs = [] if seen.turnover is None else [Sign("turnover_of_top_tier", seen.turnover, "ratio")]
    signs += _known(
        ("hot_share_of_touched_slow_pages", seen.hot_share, "ratio"),
        ("hot_outside_over_top_tier", seen.hot_outside, "ratio"),
        ("hot_share_spread", spread, "ratio"),
        ("reclaim_effort", effort, "pages"),
        ("time_without_promotions", seen.paused, "ratio"),
    )
    if swing is not None and swing >= RESIDENCY_SWINGS:
        text = f"The top tier's share of memory swings by {swing:.0%} with the moves."
        swings = Sign("residency_swing", swing, "ratio")
        return Verdict("following_phases", text, "likely", (swings, *signs))
    if seen.paused > PAUSED_MAX and not _all_in_use(seen):
        return None
    gain = _gain(ledger, context)
    if gain is not None and gain >= GAIN_HELPS:
        text = f"Throughput rose by {gain:.0%} while pages migrated both ways: migration pays."
        return Verdict("healthy", text, "likely", (Sign("throughput_gain", gain, "ratio"), *signs))
    outside = seen.hot_outside
    if outside is not None and outside < OUTSIDE_MIN:
        if seen.top_pages and seen.churn / seen.top_pages >= REPLACED_OVER * outside:
            return _futile(seen, signs, crowded=False, confidence="possible")
        text = f"Promotions pick the hot {seen.hot_share:.0%} of the slow pages that are touched; few are left there."
        return Verdict("healthy", text, "likely", tuple(signs), (), "futile_ping_pong")
    crowded = _crowded(seen)
    if spread is not None and spread >= SPREAD_FOLLOWS and not crowded:
        return _moving(seen, tuple(signs))
    sure: Confidence = "possible" if seen.hot_share is None else "likely"
    return _futile(seen, signs, crowded=crowded, confidence=sure)


def _moving(seen: Evidence, signs: tuple[Sign, ...]) -> Verdict:
    """The hot share changes while pages are exchanged: for good, or it comes and goes."""
    against = tuple(_known(("turnover_of_top_tier", seen.turnover, "ratio")))
    balance = seen.hot_share_balance or 0.0
    signs = (*signs, Sign("hot_share_balance", balance, "ratio"))
    if balance > BALANCE_MAX:
        text = "The hot share of touched slow pages falls as pages migrate: promotion converges."
        return Verdict("healthy", text, "likely", signs, against, "futile_ping_pong")
    return Verdict(
        "following_phases",
        f"The hot share of the touched slow pages comes and goes (by {seen.hot_share_spread or 0:.0%} of its median) "
        "while pages migrate: the hot set moves and the kernel follows.",
        "likely" if seen.effort is not None else "possible",
        signs,
        against,
        "futile_ping_pong",
    )


def _futile(seen: Evidence, signs: list[Sign], *, crowded: bool, confidence: Confidence) -> Verdict:
    turned = "over and over" if seen.turnover is None else f"{seen.turnover:.1f} times over"
    share = seen.hot_share
    still = "" if share is None else f"; {share:.0%} of touched slow pages stay hot"
    why = "the migrations change nothing measurable"
    if crowded:
        why = f"reclaim scanned {seen.effort:.0f} pages per demotion, so the hot set does not fit"
    return Verdict(
        "futile_ping_pong",
        f"Ping-pong: the top tier turned over {turned}{still}; {why}.",
        confidence,
        tuple(signs),
        tuple(_known(("hot_share_spread", seen.hot_share_spread, "ratio"))),
        "following_phases",
    )


def judge_stalled(seen: Evidence) -> Verdict | None:
    """Hot pages stay outside, and the scanner and with it promotions pause for most of the time."""
    outside, late = seen.hot_outside, seen.hot_outside_late
    if outside is None or outside < OUTSIDE_STALLED or seen.paused <= PAUSED_MAX:
        return None
    signs = _known(
        ("hot_outside_over_top_tier", outside, "ratio"),
        ("hot_outside_over_top_tier_late", late, "ratio"),
        ("time_without_promotions", seen.paused, "ratio"),
        ("time_without_scanning", seen.scan_paused, "ratio"),
    )
    if late is not None and late < DECLINED * outside:
        text = "Fewer hot pages are left on the slower tier than at first: promotions converge."
        return Verdict("healthy", text, "likely", tuple(signs), (), "stalled")
    return Verdict(
        "stalled",
        f"Hot pages worth {outside:.0%} of the top tier stay on the slower one, and no page was promoted for "
        f"{seen.paused:.0%} of the time: the scanner pauses for longer than the hot set stands still.",
        "possible",
        tuple(signs),
        (Sign("promoted", seen.promoted, "pages"),),
        "healthy",
    )


def judge_one_way(seen: Evidence) -> Verdict:
    """No other rule fits: pages go down for good, or little moves."""
    returned = seen.promoted / seen.demoted if seen.demoted else 0.0
    signs = _known(
        ("promoted", seen.promoted, "pages"),
        ("demoted", seen.demoted, "pages"),
        ("promoted_of_demoted", returned if seen.demoted else None, "ratio"),
        ("hot_outside_over_top_tier", seen.hot_outside, "ratio"),
        ("turnover_of_top_tier", seen.turnover, "ratio"),
    )
    wanted = seen.refaulted_anon >= 0.01 * seen.demoted
    if seen.demoted and returned < RETURNED_MAX and (seen.hot_outside or 0.0) < OUTSIDE_MIN and not wanted:
        against = (Sign("refaulted_file", seen.refaulted_file, "pages"),) if seen.refaulted_file else ()
        return Verdict(
            "harmless_demotion",
            f"{_pages(seen.demoted)} pages were demoted and hardly any was wanted back.",
            "likely",
            tuple(signs),
            against,
            "healthy",
        )
    return Verdict(
        "healthy",
        f"{_pages(seen.promoted)} pages promoted and {_pages(seen.demoted)} demoted: little against the memory in "
        "use, and promotions find what they look for.",
        "likely",
        tuple(signs),
    )


def _gain(ledger: Ledger, context: Context) -> float | None:
    """How much throughput rose from the first half of the window to the second, by their medians."""
    if context.throughput is None or len(context.throughput) != len(ledger.times_s):
        return None
    half = len(context.throughput) // 2
    early, late = context.throughput[:half], context.throughput[half:]
    early, late = early[np.isfinite(early)], late[np.isfinite(late)]
    if min(len(early), len(late)) < MIN_INTERVALS or np.median(early) <= 0:
        return None
    return float(np.median(late) / np.median(early) - 1)


def _known(*signs: tuple[str, float | None, str]) -> list[Sign]:
    return [Sign(name, value, unit) for name, value, unit in signs if value is not None]


def _pages(count: float) -> str:
    return f"{int(count):,}"
