"""Rules on promotions that are refused: by the rate limit, by moves that fail, by a tier without room."""

import math

from tierscope.domain.ledger.measured import Candidates, Evidence, Moves, Sizes
from tierscope.domain.ledger.promotion_limit import limited_bytes_per_s
from tierscope.domain.ledger.rules_exchange import all_in_use, is_two_way
from tierscope.domain.ledger.told import Answer, Case, Undecided, rule
from tierscope.domain.ledger.words import Confidence, Context, Sign, Verdict, known_signs, pages_text

QUIET_SHARE = 0.001
"""Moves below this share of resident memory are noise."""
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


@rule("slow_tier_full", "promotion_failing", "limiter_bound")
def judge_refused(case: Case, sizes: Sizes, moves: Moves, wanted: Candidates) -> Answer:
    """Many more candidates than promotions: the limiter, failing moves, or a full tier."""
    found, failed = wanted.pages, case.seen.failed
    factor = found / moves.promoted if moves.promoted > 0 else math.inf
    if sizes.of_resident(found) < QUIET_SHARE or factor < REFUSED_FACTOR:
        return None
    signs: tuple[Sign, ...] = (
        *known_signs(
            # Of no promotion at all there is no ratio.
            ("candidates_per_promotion", factor if moves.promoted > 0 else None, "ratio"),
            ("failed_of_candidates", None if failed is None else failed / found, "ratio"),
        ),
    )
    limit = case.context.promote_limit_mib_per_s
    reached = _limit_reached(sizes, wanted, case.context)
    if reached is not None and limit is not None:
        signs = (*signs, Sign("candidates_over_limit", reached, "ratio"), Sign("promotion_limit", limit, "MiB/s"))
    if full := _slow_tier_full(case, sizes, moves, wanted, signs):
        return full
    if failed is not None and failed >= FAILED_SHARE * max(moves.promoted, FAILED_SHARE * found):
        return _failing(case, moves, wanted, signs, "likely")
    sure: Confidence = "likely" if failed is not None else "possible"
    # Of the whole host: were all for one node, its limit would be reached so many times sooner.
    nodes = max(case.context.promotion_nodes, 1)
    is_unclear = limit is None or (reached is not None and reached < LIMIT_REACHED <= reached * nodes)
    if reached is not None and reached >= LIMIT_REACHED and moves.promoted >= LIMIT_USED * found / reached:
        return _limited(case, sizes, moves, factor, _limit_text(limit, nodes), signs, sure)
    let_through = sizes.of_resident(moves.promoted) >= QUIET_SHARE
    if factor < MOSTLY_REFUSED:
        unknown = Undecided(("the promotion rate limit, or how many moves fail",), "limiter_bound")
        return unknown if is_unclear or failed is None else None
    looked = case.seen.looked
    if limit is None and let_through and not (looked is not None and looked.huge):
        return _limited(case, sizes, moves, factor, "", signs, "possible")
    in_use = None if looked is None else is_two_way(sizes, moves, looked) and all_in_use(case, looked)
    if in_use:
        return None
    return _failing(case, moves, wanted, signs, sure if not is_unclear and in_use is False else "possible")


def _limit_reached(sizes: Sizes, wanted: Candidates, context: Context) -> float | None:
    """Candidates over what a known limit lets through to all nodes that it holds for; None where none can bind."""
    limit = context.promote_limit_mib_per_s
    if limit is None or limit >= UNBOUND_LIMIT_MIB_PER_S or sizes.seconds <= 0 or context.page_bytes is None:
        return None
    let_through = limited_bytes_per_s(max(limit, 1e-9), context.promotion_nodes) * sizes.seconds
    return wanted.pages * context.page_bytes / let_through


def _limit_text(limit_mib_per_s: float | None, nodes: int) -> str:
    return f" ({limit_mib_per_s:g} MiB/s{f' for each of {nodes} nodes' if nodes > 1 else ''})"


def _limited(
    case: Case,
    sizes: Sizes,
    moves: Moves,
    factor: float,
    stated: str,
    signs: tuple[Sign, ...],
    confidence: Confidence,
) -> Verdict:
    two_way = case.seen.looked is not None and is_two_way(sizes, moves, case.seen.looked)
    return Verdict(
        "limiter_bound",
        f"{factor:.1f} candidates for each promotion while hardly any move fails: the promotion rate limit{stated} "
        "decides.",
        confidence,
        signs,
        (Sign("turnover_of_top_tier", moves.turnover(sizes), "ratio"),),
        "futile_ping_pong" if two_way else "promotion_failing",
    )


def _failing(case: Case, moves: Moves, wanted: Candidates, signs: tuple[Sign, ...], confidence: Confidence) -> Verdict:
    failed = case.seen.failed
    fails = "moves that failed are not counted" if failed is None else f"{pages_text(failed)} moves failed"
    return Verdict(
        "promotion_failing",
        f"{pages_text(wanted.pages)} pages were hot enough to promote and {pages_text(moves.promoted)} were "
        f"promoted; {fails}, the others were never tried: the kernel does so where the top tier has "
        "no free page, or its promotion rate limit is reached.",
        confidence,
        signs,
    )


def _slow_tier_full(
    case: Case, sizes: Sizes, moves: Moves, wanted: Candidates, signs: tuple[Sign, ...]
) -> Verdict | None:
    """Promotion needs a free page in the top tier, and demotion, which makes one, a free page below it."""
    full = full_below(case, sizes)
    if full is None:
        return None
    text = (
        f"{pages_text(wanted.pages)} pages were hot enough to promote and {pages_text(moves.promoted)} were "
        f"promoted: the slower tier is {full:.0%} full, so {pages_text(moves.demoted)} pages were demoted to make room "
        "above."
    )
    sure: Confidence = "possible" if case.context.demotion is None else "likely"
    return Verdict("slow_tier_full", text, sure, (Sign("slow_tier_full", full, "ratio"), *signs))


def full_below(case: Case, sizes: Sizes) -> float | None:
    """How full the slower tier is, where that keeps demotion from moving anything; None where it does not."""
    moves, context = case.seen.moves, case.context
    if moves is None or context.demotion is False or not context.slow_bytes or context.page_bytes is None:
        return None
    fails = _demotion_fails(case.seen, sizes, moves)
    if moves.down > sizes.few_pages and not fails:
        return None
    full = sizes.slow_pages * context.page_bytes / context.slow_bytes
    return full if full >= (FULL_WHERE_MOVES_FAIL if fails else FULL_SHARE) else None


def _demotion_fails(seen: Evidence, sizes: Sizes, moves: Moves) -> bool:
    """Whether many moves fail for each page that is demoted: a page that promotion frees below lets one more down."""
    failed = seen.failed or 0.0
    return failed > sizes.few_pages and failed >= REFUSED_FACTOR * moves.demoted


@rule("slow_tier_full")
def judge_full(case: Case, sizes: Sizes, moves: Moves) -> Answer:
    """Reclaim wants to demote and cannot, so nothing could be promoted, whatever the scanner finds."""
    full, failed = full_below(case, sizes), case.seen.failed
    if full is None or failed is None or not _demotion_fails(case.seen, sizes, moves):
        return None
    text = (
        f"The slower tier is {full:.0%} full: {pages_text(failed)} moves failed and {pages_text(moves.demoted)} pages "
        "were demoted, so there is no room above for pages to promote."
    )
    signs = (Sign("slow_tier_full", full, "ratio"), Sign("failed_of_resident", sizes.of_resident(failed), "ratio"))
    sure: Confidence = "possible" if case.context.demotion is None else "likely"
    return Verdict("slow_tier_full", text, sure, signs, runner_up="stalled")
