"""A verdict where the share of slow accesses was measured: it decides good or bad, and counters say why.

The mechanism is told by flows over the memory of the subject itself, none of them tuned: pages go down, up, both ways,
or stand. docs/method/verdict-rules.md gives the reasons.
"""

from dataclasses import replace

from tierscope.domain.ledger.columns import COLUMN_INDEX, LOADS, TRAFFIC
from tierscope.domain.ledger.ledger import Ledger
from tierscope.domain.ledger.measured import Evidence, Moves, Sizes
from tierscope.domain.ledger.rules import ONE_TIER, SLOW_SHARE_MIN, why_not_promoting
from tierscope.domain.ledger.rules_exchange import TURNOVER_MIN, judge_exchange
from tierscope.domain.ledger.rules_refused import judge_full, judge_refused
from tierscope.domain.ledger.slow_course import SlowCourse, slow_course
from tierscope.domain.ledger.told import Case, Undecided
from tierscope.domain.ledger.words import Confidence, Context, Outcome, Sign, Verdict, known_signs

CHANCE = 2 / 3
"""Slow accesses over the share of memory that is slow, from which pages lie about where chance would put them [A]."""
FAR_BELOW_CHANCE = 1 / 5
"""The same below which moves both ways keep the hot set where it should be, whatever else they move [A]."""
REPLACED = 1.0
"""Turnover of the top tier from which a share that stands far below chance is one that promotion keeps there [A]."""
LOADS_MIN = 200
"""Sampled loads from memory from which their slow share is told: at 10 % its standard error is then 2.1 points."""


def measured_outcome(ledger: Ledger, context: Context) -> Outcome | None:
    """What was measured of the window: samples of accesses before bytes, which hold prefetches and page moves too."""
    return context.outcome or sampled_outcome(ledger) or _traffic_outcome(ledger)


def sampled_outcome(ledger: Ledger) -> Outcome | None:
    """What sampled loads say of the service that the ledger is of; None where they are too few.

    None as well where no load at all came from slow memory that holds some: not every processor tells it apart.
    """
    fast, slow = _both(ledger, LOADS)
    if fast + slow < LOADS_MIN:
        return None
    top, below = _both(ledger, ("top_resident_bytes", "slow_resident_bytes"))
    if slow == 0 and not (top > 0 and below < SLOW_SHARE_MIN * (top + below)):
        return None
    return Outcome(slow / (fast + slow), "sampled_loads")


def _traffic_outcome(ledger: Ledger) -> Outcome | None:
    fast, slow = _both(ledger, TRAFFIC)
    return Outcome(slow / (fast + slow), "memory_traffic") if fast + slow > 0 else None


def _both(ledger: Ledger, keys: tuple[str, str]) -> tuple[float, float]:
    """Sums over all intervals in which both were counted: accesses are slow while memory fills, too."""
    one, other = (COLUMN_INDEX[key] for key in keys)
    known = ledger.present[:, one] & ledger.present[:, other]
    return float(ledger.values[known, one].sum()), float(ledger.values[known, other].sum())


def judge_outcome(case: Case, outcome: Outcome) -> Verdict:
    """The verdict of a window whose share of slow accesses is known."""
    if outcome.is_good:
        return _judge_good(case, outcome)
    if case.context.one_tier:
        signs = (outcome.sign, *_flows(case.seen))
        return Verdict("one_tier", f"{_capital(outcome.text)}: the {ONE_TIER}.", "certain", signs)
    off = why_not_promoting(case)
    if isinstance(off, str):
        text = f"{_capital(outcome.text)}, and nothing brings those pages back: {off}."
        spilled = known_signs(("allocations_spilled", case.seen.spilled, "allocations"))
        sure: Confidence = "certain" if case.context.balancing is not None else "possible"
        return Verdict("spill", text, sure, (outcome.sign, *_flows(case.seen), *spilled))
    course = slow_course(case.ledger)
    sizes, moves = case.seen.sizes, case.seen.moves
    if sizes is None or moves is None:
        return _unmoved(case, outcome, course)
    found = _judge_bad(case, sizes, moves, outcome, course)
    return replace(found, confidence="possible") if isinstance(off, Undecided) else found


def _unmoved(case: Case, outcome: Outcome, course: SlowCourse | None) -> Verdict:
    """Many slow accesses, and no count of pages that move: they stay where they are only if their share stands."""
    missing = " and ".join(
        kind.says for kind, group in ((Moves, case.seen.moves), (Sizes, case.seen.sizes)) if group is None
    )
    text = f"{_capital(outcome.text)}; {missing} is not measured here."
    over_chance = _over_chance(case.seen, outcome)
    still = course is not None and not course.falls and not course.comes_and_goes
    if still and over_chance is not None and over_chance >= CHANCE:
        return Verdict("spill", text, "possible", (outcome.sign,), runner_up="stalled")
    return Verdict("not_known", text, "certain", (outcome.sign,), runner_up="spill")


def _judge_good(case: Case, outcome: Outcome) -> Verdict:
    """Few slow accesses: fine, unless the moves that keep it so buy nothing."""
    sizes, moves = case.seen.sizes, case.seen.moves
    if sizes is None or moves is None:
        return Verdict(
            "healthy", f"{_capital(outcome.text)}; how pages move is not measured.", "possible", (outcome.sign,)
        )
    goes_up, goes_down = moves.up > sizes.few_pages, moves.down > sizes.few_pages
    exchange = judge_exchange(case) if goes_up and goes_down else None
    over_chance = _over_chance(case.seen, outcome)
    placed = over_chance is not None and over_chance < FAR_BELOW_CHANCE
    if isinstance(exchange, Verdict) and exchange.word == "futile_ping_pong" and not placed:
        return _with(exchange, outcome)
    found = _good(case.seen, sizes, moves, outcome, goes_up=goes_up, goes_down=goes_down)
    return replace(found, confidence="possible") if isinstance(exchange, Undecided) and not placed else found


def _judge_bad(case: Case, sizes: Sizes, moves: Moves, outcome: Outcome, course: SlowCourse | None) -> Verdict:
    """Many slow accesses where the kernel promotes: does it gain on them, what refuses it, or does it leave them?"""
    goes_up = moves.up > sizes.few_pages
    changes = _changes(case.seen, outcome, course) if goes_up else None
    if changes is not None:
        return changes
    refused = judge_refused(case)
    if isinstance(refused, Verdict):
        return _with(refused, outcome)
    full = None if goes_up else judge_full(case)
    if isinstance(full, Verdict):
        return _with(full, outcome)
    found = _stands(case.seen, sizes, moves, outcome, goes_up=goes_up, rises=course is not None and course.rises)
    return replace(found, confidence="possible") if isinstance(refused, Undecided) else found


def _over_chance(seen: Evidence, outcome: Outcome) -> float | None:
    """Slow accesses over what pages placed by chance would have of them."""
    return None if seen.sizes is None or not seen.sizes.slow_share else outcome.slow_share / seen.sizes.slow_share


def _changes(seen: Evidence, outcome: Outcome, course: SlowCourse | None) -> Verdict | None:
    """Many slow accesses whose share changes while pages are promoted: the hot set moves, or promotion gains on it."""
    if course is None:
        return None
    signs = _signs(seen, outcome)
    over_chance = _over_chance(seen, outcome)
    if course.comes_and_goes and over_chance is not None:
        signs = (*signs, Sign("slow_share_rose", course.rose, "ratio"), Sign("slow_share_fell", course.fell, "ratio"))
        went = f"{_capital(outcome.text)}; the share rose by {course.rose:.0%} and fell by {course.fell:.0%}"
        if over_chance < CHANCE:
            text = f"{went}, and stays far below what chance would give it: the hot set moves, and promotion follows."
            return Verdict("following_phases", text, "likely", signs, runner_up="futile_ping_pong")
        text = f"{went} about what chance would give it: the hot set moves, and promotion comes too late."
        return Verdict("futile_ping_pong", text, "likely", signs, runner_up="following_phases")
    if course.falls:
        promoted = 0.0 if seen.moves is None else seen.moves.up
        text = (
            f"{_capital(outcome.text)}, {course.last:.1%} at the end after {course.first:.1%}: "
            f"{promoted:,.0f} pages were promoted, and promotion gains on the hot set."
        )
        signs = (*signs, Sign("slow_share_at_end", course.last, "ratio"))
        return Verdict("following_phases", text, "likely", signs, runner_up="futile_ping_pong")
    return None


def _stands(seen: Evidence, sizes: Sizes, moves: Moves, outcome: Outcome, *, goes_up: bool, rises: bool) -> Verdict:
    """Many slow accesses whose share stands or rises, on a kernel that promotes: what is moved hardly buys anything."""
    signs = _signs(seen, outcome)
    over_chance = _over_chance(seen, outcome)
    turnover = moves.turnover(sizes)
    if goes_up and over_chance is not None and turnover >= TURNOVER_MIN:
        text = (
            f"{_capital(outcome.text)} and holds {sizes.slow_share:.0%} of the memory. The top tier turned over "
            f"{turnover:.1f} times, and the share {'rises' if rises else 'stands'}"
        )
        if turnover >= REPLACED and over_chance < CHANCE and not rises:
            text += ", far below what chance would give it: promotion keeps up with a hot set that moves."
            return Verdict("following_phases", text, "possible", signs, runner_up="futile_ping_pong")
        return Verdict("futile_ping_pong", f"{text}.", "likely", signs, runner_up="following_phases")
    text = f"{_capital(outcome.text)}, the settings promote, and {moves.up:,.0f} pages were promoted"
    passes = None if seen.looked is None else seen.looked.passes(sizes)
    if passes is not None and passes < 1.0:
        text += f": the scanner went over {passes:.0%} of the slow memory"
    return Verdict("stalled", f"{text}.", "likely", signs)


def _signs(seen: Evidence, outcome: Outcome) -> tuple[Sign, ...]:
    signs = (outcome.sign, *_flows(seen), *_scanned(seen))
    return (*signs, *known_signs(("slow_accesses_over_chance", _over_chance(seen, outcome), "ratio")))


def _good(seen: Evidence, sizes: Sizes, moves: Moves, outcome: Outcome, *, goes_up: bool, goes_down: bool) -> Verdict:
    signs = (outcome.sign, *_flows(seen))
    if not goes_up and not goes_down and sizes.slow_share < SLOW_SHARE_MIN:
        return Verdict(
            "fits", "No pages move between tiers and hardly any memory is on a slower one.", "certain", signs
        )
    if goes_up and goes_down:
        text = f"Pages move both ways and {outcome.text}: other pages become hot, and promotion follows."
        return Verdict("following_phases", text, "likely", signs, runner_up="futile_ping_pong")
    if goes_down:
        text = f"{moves.down:,.0f} pages were demoted, hardly any came back, and {outcome.text}."
        return Verdict("harmless_demotion", text, "certain", signs)
    return Verdict("healthy", f"{_capital(outcome.text)}.", "certain", signs)


def _with(verdict: Verdict, outcome: Outcome) -> Verdict:
    return Verdict(
        verdict.word,
        f"{verdict.explanation.removesuffix('.')}; {outcome.text}.",
        verdict.confidence,
        (outcome.sign, *verdict.evidence),
        verdict.against,
        verdict.runner_up,
    )


def _flows(seen: Evidence) -> tuple[Sign, ...]:
    if seen.sizes is None or seen.moves is None:
        return ()
    return (
        Sign("promoted_of_resident", seen.moves.up / seen.sizes.resident, "ratio"),
        Sign("demoted_of_resident", seen.moves.down / seen.sizes.resident, "ratio"),
    )


def _scanned(seen: Evidence) -> tuple[Sign, ...]:
    if seen.looked is None or seen.sizes is None:
        return ()
    return known_signs(("scan_passes", seen.looked.passes(seen.sizes), "passes"))


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
