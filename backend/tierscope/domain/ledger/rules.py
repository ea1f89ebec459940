"""What counters alone say of a host's tier moves: rules over the ratios of `evidence.py`, each threshold once.

docs/method/verdict-rules.md gives the reasons. A rule answers None where it does not fit. What it needs stands in its
signature (`told.py`); what only refines may be missing, and a rule that would answer otherwise with it is undecided.
"""

from tierscope.domain.ledger.measured import Looked, Moves, Reclaim, Sizes, Swap
from tierscope.domain.ledger.rules_exchange import DAMON_HOT, judge_exchange, judge_one_way, judge_stalled
from tierscope.domain.ledger.rules_refused import QUIET_SHARE, full_below, judge_refused
from tierscope.domain.ledger.told import Answer, Case, Rule, Undecided, rule
from tierscope.domain.ledger.words import Sign, Verdict, known_signs, pages_text

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
SHORT_PASSES = 1.0
SHORT_INTERVALS = 20
ONE_TIER = "kernel ranks memory without processors in one tier with DRAM, so no page is demoted or promoted"


@rule("swap_pressure")
def judge_swap(case: Case, sizes: Sizes, swap: Swap) -> Answer:
    """Pages go to swap and are wanted back: past the slower tier where that has no room for what is demoted."""
    if swap.went_out + swap.came_back <= sizes.few_pages or swap.came_back < WANTED_BACK * swap.went_out:
        return None
    full = full_below(case, sizes)
    past = "" if full is None else f" The slower tier is {full:.0%} full: reclaim skips demotion and swaps."
    return Verdict(
        "swap_pressure",
        f"{pages_text(swap.went_out)} pages went out to swap and {pages_text(swap.came_back)} came back: "
        f"all memory tiers together are too small.{past}",
        "certain",
        (
            *(() if full is None else (Sign("slow_tier_full", full, "ratio"),)),
            Sign("swapped_out_of_resident", sizes.of_resident(swap.went_out), "ratio"),
            Sign("swapped_in_of_resident", sizes.of_resident(swap.came_back), "ratio"),
            *known_signs(("refaulted_anon", case.seen.refaulted_anon, "pages")),
        ),
    )


def _limit_rule(least: float) -> Rule:
    """Whether at least a share of the reclaim worked for limits of cgroups."""

    @rule("limit_reclaim")
    def judge_limit(case: Case, sizes: Sizes, reclaim: Reclaim) -> Answer:
        def is_enough(pages: float) -> bool:
            return sizes.of_resident(pages) >= LIMIT_SHARE and pages >= least * reclaim.reclaimed

        if not is_enough(reclaim.for_limits_most):
            return None
        if not is_enough(reclaim.for_limits_least):
            return Undecided((Reclaim.says,), "limit_reclaim")
        share = min(reclaim.for_limits_least / max(reclaim.reclaimed, 1.0), 1.0)
        reached = case.context.limit_events or 0
        cause = f"memory limits were reached {reached} times" if reached else "on behalf of cgroups, not of the host"
        swapped_in = 0.0 if case.seen.swap is None else case.seen.swap.came_back
        return Verdict(
            "limit_reclaim",
            f"{share:.0%} of the reclaim worked for cgroups ({cause}): memory.high, memory.max or "
            "memory.reclaim drive the demotions, not a lack of memory.",
            "certain" if reached else "likely",
            (
                Sign("reclaimed_for_cgroups_of_reclaimed", share, "ratio"),
                Sign("reclaimed_for_cgroups_of_resident", sizes.of_resident(reclaim.for_limits_least), "ratio"),
                Sign("limit_events", float(reached), "events"),
            ),
            (Sign("swapped_in_of_resident", sizes.of_resident(swapped_in), "ratio"),) if swapped_in else (),
            "swap_pressure" if swapped_in else None,
        )

    return judge_limit


judge_limit_before_swap = _limit_rule(LIMIT_BEFORE_SWAP)
judge_limit_after_swap = _limit_rule(LIMIT_OF_RECLAIM)


@rule("one_tier")
def judge_one_tier(case: Case) -> Answer:
    """The kernel ranks memory without processors with DRAM: it neither demotes to it nor promotes from it."""
    if not case.context.one_tier:
        return None
    text = f"The {ONE_TIER}; how many accesses it serves is not known. Counters of the memory controllers would tell."
    return Verdict("one_tier", text, "possible", runner_up="not_known")


@rule("fits")
def judge_alone(case: Case, sizes: Sizes) -> Answer:
    """No slower tier, and nothing is there."""
    if case.context.has_slow_tier is not False or sizes.slow_pages:
        return None
    text = "No pages move between tiers and hardly any memory is on a slower one."
    return Verdict("fits", text, "certain", (Sign("slow_share", 0.0, "ratio"),))


@rule("fits")
def judge_fits(sizes: Sizes, moves: Moves) -> Answer:
    """Nothing moves, and hardly anything is on slower tiers."""
    moved = sizes.of_resident(moves.up + moves.down)
    if moved > QUIET_SHARE or sizes.slow_share >= SLOW_SHARE_MIN:
        return None
    text = "No pages move between tiers and hardly any memory is on a slower one."
    signs = (Sign("moved_of_resident", moved, "ratio"), Sign("slow_share", sizes.slow_share, "ratio"))
    return Verdict("fits", text, "certain", signs)


@rule("spill")
def judge_spill(case: Case, sizes: Sizes, moves: Moves) -> Answer:
    """Nothing moves, memory is on a slower tier, and no page of it could be promoted."""
    moved = sizes.of_resident(moves.up + moves.down)
    if moved > QUIET_SHARE or sizes.slow_share < SLOW_SHARE_MIN:
        return None
    off = why_not_promoting(case)
    if off is None or isinstance(off, Undecided):
        return off
    spilled = case.seen.spilled or 0.0
    text = f"{sizes.slow_share:.0%} of the memory is on a slower tier and nothing brings it back: {off}"
    if spilled:
        text += f", {pages_text(spilled)} allocations went to another node"
    signs = _quiet_signs(case, sizes, moves)
    signs = (*signs, Sign("allocations_spilled", spilled, "allocations"))
    return Verdict("spill", f"{text}.", "certain" if case.context.balancing is not None else "possible", signs)


@rule("stalled", "healthy")
def judge_still(case: Case, sizes: Sizes, moves: Moves, looked: Looked) -> Answer:
    """Nothing moves though the settings promote: the scanner looked and found nothing, or did not look."""
    if sizes.of_resident(moves.up + moves.down) > QUIET_SHARE:
        return None
    if (looked.hot_share or 0.0) >= FEW_HOT and looked.candidates > QUIET_SHARE * sizes.slow_pages:
        return None
    signs = _quiet_signs(case, sizes, moves)
    if not looked.armed and (case.context.slow_file_share or 0.0) >= ALL_FILE:
        text = "The slower tier holds file cache that no process maps: the scanner has nothing to try there."
        file_share = Sign("slow_file_share", case.context.slow_file_share or 0.0, "ratio")
        return Verdict("healthy", text, "possible", (*signs, file_share), (), "spill")
    if not looked.armed and case.seen.damon_promotes:
        return Undecided((DAMON_HOT,))
    if not looked.armed or not looked.hint_faults:
        text = "Tiering is enabled, but the NUMA scanner did not run in this window: no slow page was tried."
        return Verdict("stalled", text, "possible", signs)
    text = "The kernel scanned the slower tier and found no hot pages to promote."
    return Verdict("healthy", text, "likely", (*signs, Sign("hint_faults", looked.hint_faults, "faults")))


def _quiet_signs(case: Case, sizes: Sizes, moves: Moves) -> tuple[Sign, ...]:
    looked = case.seen.looked
    return (
        Sign("moved_of_resident", sizes.of_resident(moves.up + moves.down), "ratio"),
        Sign("slow_share", sizes.slow_share, "ratio"),
        *known_signs(("page_table_entries_scanned", None if looked is None else looked.armed, "entries")),
    )


def why_not_promoting(case: Case) -> str | Undecided | None:
    """Why no page could be promoted, whatever it is used for; None where the kernel promotes or may do."""
    balancing, looked = case.context.balancing, case.seen.looked
    if case.seen.damon_promotes:
        return None
    if balancing is not None:
        return None if balancing & TIERING_BIT else f"kernel.numa_balancing is {balancing}, which does not promote"
    if looked is None:
        return Undecided(("whether the settings promote",), "spill")
    # A scanner with nothing to try rests as one that is off; and pages that are not hot are no candidates either.
    if not looked.armed_ever and (case.context.slow_file_share or 0.0) < ALL_FILE:
        return "the kernel does not look for hot pages there"
    blind = looked.hint_faults >= BLIND_FAULTS and looked.candidates == 0
    return Undecided(("whether the settings promote",), "spill") if blind or not looked.armed_ever else None


PRESSURE: tuple[Rule, ...] = (judge_limit_before_swap, judge_swap, judge_limit_after_swap)
"""Asked first, whether slow accesses are measured or not."""
BY_COUNTERS: tuple[Rule, ...] = (
    judge_one_tier,
    judge_alone,
    judge_fits,
    judge_spill,
    judge_still,
    judge_refused,
    judge_exchange,
    judge_stalled,
    judge_one_way,
)
"""Asked after those where nothing measures slow accesses: the first that fits decides."""
