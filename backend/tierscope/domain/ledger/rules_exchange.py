"""Rules on pages that go both ways, or that nobody brings back: does what moves buy anything?"""

import numpy as np

from tierscope.domain.ledger.evidence import MIN_INTERVALS
from tierscope.domain.ledger.ledger import Ledger
from tierscope.domain.ledger.measured import Looked, Moves, Sizes
from tierscope.domain.ledger.told import Answer, Case, Undecided, rule
from tierscope.domain.ledger.words import Confidence, Context, Sign, Verdict, known_signs, pages_text

EFFORT = "how much reclaim looks at before it demotes"
DAMON_HOT = "how many of the pages on slower tiers are hot, which DAMON does not count"

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


def is_two_way(sizes: Sizes, moves: Moves, looked: Looked) -> bool:
    """Whether as much goes up as comes down, and enough to exchange a tenth of the top tier."""
    if moves.churn < 0.5 * max(moves.up, moves.down):
        return False
    turnover = moves.turnover(sizes)
    return turnover >= TURNOVER_MIN or (
        turnover >= TURNOVER_BUSY and moves.churn >= BUSY_SHARE * max(looked.armed, 1.0)
    )


def _is_crowded(case: Case) -> bool | None:
    """Whether reclaim finds hardly a page of the top tier that is not in use; None where nobody counts its effort."""
    return None if case.seen.effort is None else case.seen.effort >= EFFORT_FUTILE


def all_in_use(case: Case, looked: Looked) -> bool | None:
    """Whether pages are as hot on one side as on the other: promotions wait for one that is not, few pass."""
    return _is_crowded(case) if (looked.hot_share or 0.0) >= ALL_HOT else False


@rule("following_phases", "healthy", "futile_ping_pong")
def judge_exchange(case: Case, sizes: Sizes, moves: Moves, looked: Looked) -> Answer:
    """Much goes up and as much comes down, all the time: does it buy anything?"""
    if not is_two_way(sizes, moves, looked):
        return None
    swing, spread, outside = case.seen.residency_swing, looked.hot_share_spread, looked.outside(sizes)
    signs = (
        Sign("turnover_of_top_tier", moves.turnover(sizes), "ratio"),
        *known_signs(
            ("hot_share_of_touched_slow_pages", looked.hot_share, "ratio"),
            ("hot_outside_over_top_tier", outside, "ratio"),
            ("hot_share_spread", spread, "ratio"),
            ("reclaim_effort", case.seen.effort, "pages"),
            ("time_without_promotions", moves.paused, "ratio"),
        ),
    )
    if swing is not None and swing >= RESIDENCY_SWINGS:
        text = f"The top tier's share of memory swings by {swing:.0%} with the moves."
        swings = Sign("residency_swing", swing, "ratio")
        return Verdict("following_phases", text, "likely", (swings, *signs))
    in_use = all_in_use(case, looked)
    if moves.paused > PAUSED_MAX and not in_use:
        return Undecided((EFFORT,), "futile_ping_pong") if in_use is None else None
    gain = _gain(case.ledger, case.context)
    if gain is not None and gain >= GAIN_HELPS:
        text = f"Throughput rose by {gain:.0%} while pages migrated both ways: migration pays."
        return Verdict("healthy", text, "likely", (Sign("throughput_gain", gain, "ratio"), *signs))
    if outside is not None and outside < OUTSIDE_MIN:
        if sizes.over_top(moves.churn) >= REPLACED_OVER * outside:
            return _futile(case, sizes, moves, looked, signs, "possible")
        text = f"Promotions pick the hot {looked.hot_share:.0%} of the slow pages that are touched; few are left there."
        return Verdict("healthy", text, "likely", signs, (), "futile_ping_pong")
    crowded = _is_crowded(case)
    if spread is not None and spread >= SPREAD_FOLLOWS and not crowded:
        return _moving(case, sizes, moves, looked, signs)
    if looked.hot_share is None:
        return Undecided((DAMON_HOT if moves.damon_up > moves.promoted else Looked.says,), "futile_ping_pong")
    return _futile(case, sizes, moves, looked, signs, "likely")


def _moving(case: Case, sizes: Sizes, moves: Moves, looked: Looked, signs: tuple[Sign, ...]) -> Verdict:
    """The hot share changes while pages are exchanged: for good, or it comes and goes."""
    against = (Sign("turnover_of_top_tier", moves.turnover(sizes), "ratio"),)
    balance = looked.hot_share_balance or 0.0
    signs = (*signs, Sign("hot_share_balance", balance, "ratio"))
    sure: Confidence = "likely" if case.seen.effort is not None else "possible"
    if balance > BALANCE_MAX:
        text = "The hot share of touched slow pages falls as pages migrate: promotion converges."
        return Verdict("healthy", text, sure, signs, against, "futile_ping_pong")
    return Verdict(
        "following_phases",
        f"The hot share of the touched slow pages comes and goes (by {looked.hot_share_spread or 0:.0%} of its median) "
        "while pages migrate: the hot set moves and the kernel follows.",
        sure,
        signs,
        against,
        "futile_ping_pong",
    )


def _futile(
    case: Case, sizes: Sizes, moves: Moves, looked: Looked, signs: tuple[Sign, ...], confidence: Confidence
) -> Verdict:
    share, effort = looked.hot_share, case.seen.effort
    still = "" if share is None else f"; {share:.0%} of touched slow pages stay hot"
    why = "the migrations change nothing measurable"
    outside = looked.outside(sizes) or 0.0
    if effort is not None and effort >= EFFORT_FUTILE and outside >= OUTSIDE_MIN:
        why = f"reclaim scanned {effort:.0f} pages per demotion, so the hot set does not fit"
    return Verdict(
        "futile_ping_pong",
        f"Ping-pong: the top tier turned over {moves.turnover(sizes):.1f} times{still}; {why}.",
        confidence,
        signs,
        known_signs(("hot_share_spread", looked.hot_share_spread, "ratio")),
        "following_phases",
    )


@rule("stalled", "healthy")
def judge_stalled(sizes: Sizes, moves: Moves, looked: Looked) -> Answer:
    """Hot pages stay outside, and the scanner and with it promotions pause for most of the time."""
    outside, late = looked.outside(sizes), looked.outside_late(sizes)
    if outside is None or outside < OUTSIDE_STALLED or moves.paused <= PAUSED_MAX:
        return None
    signs = known_signs(
        ("hot_outside_over_top_tier", outside, "ratio"),
        ("hot_outside_over_top_tier_late", late, "ratio"),
        ("time_without_promotions", moves.paused, "ratio"),
        ("time_without_scanning", looked.paused, "ratio"),
    )
    if late is not None and late < DECLINED * outside:
        text = "Fewer hot pages are left on the slower tier than at first: promotions converge."
        return Verdict("healthy", text, "likely", signs, (), "stalled")
    return Verdict(
        "stalled",
        f"Hot pages worth {outside:.0%} of the top tier stay on the slower one, and no page was promoted for "
        f"{moves.paused:.0%} of the time: the scanner pauses for longer than the hot set stands still.",
        "possible",
        signs,
        (Sign("promoted", moves.up, "pages"),),
        "healthy",
    )


@rule("harmless_demotion", "healthy")
def judge_one_way(case: Case, sizes: Sizes, moves: Moves, looked: Looked) -> Answer:
    """No other rule fits: pages go down for good, or little moves."""
    returned = moves.up / moves.down if moves.down else 0.0
    outside = looked.outside(sizes)
    signs = known_signs(
        ("promoted", moves.up, "pages"),
        ("demoted", moves.down, "pages"),
        ("promoted_of_demoted", returned if moves.down else None, "ratio"),
        ("hot_outside_over_top_tier", outside, "ratio"),
        ("turnover_of_top_tier", moves.turnover(sizes), "ratio"),
    )
    refaulted, files = case.seen.refaulted_anon, case.seen.refaulted_file
    harmless = moves.down and returned < RETURNED_MAX and (outside or 0.0) < OUTSIDE_MIN
    if harmless and refaulted is not None and refaulted < 0.01 * moves.down:
        return Verdict(
            "harmless_demotion",
            f"{pages_text(moves.down)} pages were demoted and hardly any was wanted back.",
            "likely",
            signs,
            (Sign("refaulted_file", files, "pages"),) if files else (),
            "healthy",
        )
    return Verdict(
        "healthy",
        f"{pages_text(moves.up)} pages promoted and {pages_text(moves.down)} demoted: little against the "
        "memory in use, and promotions find what they look for.",
        "possible" if harmless and refaulted is None else "likely",
        signs,
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
