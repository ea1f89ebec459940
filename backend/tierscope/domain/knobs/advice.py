"""Advice: what a rule proposes with its evidence, and which pieces are given when several rules fire."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tierscope.domain.knobs import rules_headroom, rules_kinds, rules_moves, rules_placement, rules_rest, rules_swap
from tierscope.domain.knobs.facts import DEMOTION, Facts
from tierscope.domain.knobs.shapes import Advice, Change, Effect, Evidence, Unknown

__all__ = ["Advice", "Change", "Effect", "Evidence", "Given", "Unknown", "advise"]

Rule = Callable[[Facts], Advice | Unknown | None]

# Order of giving: errors of placement, then headroom, promotion mode, rates, swap, and the rest. One change at a time.
RULES: tuple[Rule, ...] = (
    rules_placement.zone_reclaim,
    rules_placement.demotion,
    rules_headroom.headroom_mainline,
    rules_headroom.headroom_tpp,
    rules_placement.mode,
    rules_moves.rate_limit,
    rules_moves.threshold,
    rules_moves.scan,
    rules_kinds.type_aware,
    rules_kinds.swappiness,
    rules_kinds.interleave,
    rules_swap.swap_tier,
    rules_rest.limits,
)
_SAFETY = frozenset({"F2", "F4", "F10", "F11", "limits", "capacity"})
"""Rules that fire on harm being done, whatever heat says of placement."""
_HEADROOM = frozenset({"F3", "F3b"})


@dataclass(frozen=True, slots=True)
class Given:
    """Advice in the order in which it is to be tried, one at a time.

    `waiting`: advice that holds only once an earlier piece is in force, and why. `nothing_to_do` says why no change is
    advised; None where advice is given, and where too little is known. `unknown`: rules that could not be judged.
    """

    advice: tuple[Advice, ...]
    waiting: tuple[tuple[Advice, str], ...] = ()
    nothing_to_do: Advice | None = None
    unknown: tuple[Unknown, ...] = ()


def advise(facts: Facts) -> Given:
    """Apply all rules. Rules on tiers need a slower tier; a setting that the host lacks is never proposed."""
    if not facts.host.has_slow_tier:
        swap = rules_swap.swap_tier(facts)
        return Given((swap,) if swap is not None else ())
    answers = [answer for rule in RULES if (answer := rule(facts)) is not None]
    unknown = tuple(answer for answer in answers if isinstance(answer, Unknown))
    fired = [answer for answer in answers if isinstance(answer, Advice)]
    if not any(advice.rule in {"F2", "F11"} for advice in fired):
        fired += [advice for advice in (rules_rest.capacity(facts),) if advice is not None]
    nothing = rules_rest.nothing_to_do(facts)
    if nothing is not None:
        fired = [advice for advice in fired if advice.rule in _SAFETY]
    if not fired:
        return Given((), nothing_to_do=nothing or rules_rest.satisfied(facts), unknown=unknown)
    advice, waiting = _resolve(fired, facts)
    return Given(advice, waiting, unknown=unknown)


def _resolve(fired: Sequence[Advice], facts: Facts) -> tuple[tuple[Advice, ...], tuple[tuple[Advice, str], ...]]:
    rules = {advice.rule for advice in fired}
    given, waiting = [], []
    for advice in fired:
        if advice.rule in _HEADROOM and "F4" in rules:
            waiting.append((advice, "F4 lowers tier moves and this raises them: F4 first"))
        elif advice.rule == "F5" and "F4" in rules:
            waiting.append((advice, "the threshold is judged once the new limit is in force"))
        elif advice.rule == "F6" and "F4" in rules:
            waiting.append((advice, "fewer promotions may be enough: the pace of scanning is judged after F4"))
        else:
            given.append(advice)
    if "F1" in rules and "F2" not in rules:
        waiting += _then_demotion(facts)
    return tuple(given), tuple(waiting)


def _then_demotion(facts: Facts) -> list[tuple[Advice, str]]:
    """Promotion needs room. It comes first because it does no harm alone, while demotion alone strands pages below."""
    host = facts.host
    if host.is_on(DEMOTION) is not False or not host.slow_has_room:
        return []
    why = (
        "F1 first: promotion alone stops when DRAM is full and does no harm, demotion alone strands pages on the slow "
        "tier. With F1 in force this makes the room that promotion needs."
    )
    return [(rules_placement.turn_on_demotion(facts, ()), why)]
