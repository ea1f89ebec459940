"""Advice: what a rule proposes with its evidence, and which pieces are given when several rules fire."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tierscope.domain._generated.advice import CHARTERS
from tierscope.domain.knobs import (
    rules_headroom,
    rules_kinds,
    rules_moves,
    rules_notices,
    rules_placement,
    rules_rest,
    rules_swap,
)
from tierscope.domain.knobs.change_sets import complete, is_raised
from tierscope.domain.knobs.facts import Facts
from tierscope.domain.knobs.hazards import weigh
from tierscope.domain.knobs.shapes import Advice, Change, Effect, Evidence, Unknown, Withheld

__all__ = ["RULES", "Advice", "Change", "Effect", "Evidence", "Given", "Unknown", "Withheld", "advise"]

Rule = Callable[[Facts], Advice | Unknown | None]

RULES: Mapping[str, Rule] = {
    "F1": rules_placement.mode,
    "F2": rules_placement.demotion,
    "F3": rules_headroom.headroom_mainline,
    "F3b": rules_headroom.headroom_tpp,
    "F4": rules_moves.rate_limit,
    "F5": rules_moves.threshold,
    "F6": rules_moves.scan,
    "shared": rules_moves.shared,
    "F7": rules_kinds.type_aware,
    "F8": rules_kinds.swappiness,
    "F9": rules_kinds.interleave,
    "F10": rules_placement.zone_reclaim,
    "F11": rules_swap.swap_tier,
    "limits": rules_rest.limits,
}
"""By the name of their charter, whose order is that of giving. One change set at a time."""
_NOTICES: tuple[Callable[[Facts], Advice | None], ...] = (rules_notices.zswap, rules_notices.metadata)
_SAFETY = frozenset({"F2", "F4", "F11", "limits", "capacity"})
"""Rules that fire on harm being done, whatever heat says of placement."""
_HEADROOM = frozenset({"F3", "F3b"})
_STEPS = frozenset({"F3", "F5", "F6"})
"""Rules that step from the value that stands, by what was counted under it."""


@dataclass(frozen=True, slots=True)
class Given:
    """Advice in the order in which it is to be tried, one at a time.

    `waiting`: advice that holds only once an earlier piece is in force, and why. `nothing_to_do` says why no change is
    advised; None where advice is given, and where too little is known. `unknown`: rules that could not be judged.
    `withheld`: advice that a hazard of its charter forbids here. `notices`: what is to be known and is no change.
    """

    advice: tuple[Advice, ...]
    waiting: tuple[tuple[Advice, str], ...] = ()
    nothing_to_do: Advice | None = None
    unknown: tuple[Unknown, ...] = ()
    withheld: tuple[Withheld, ...] = ()
    notices: tuple[Advice, ...] = ()


def advise(facts: Facts) -> Given:
    """Apply all rules. Rules on tiers need a slower tier; a setting that the host lacks is never proposed."""
    names = [rule for rule in CHARTERS if rule in RULES] if facts.host.has_slow_tier else ["F11"]
    answers = [answer for rule in names if (answer := RULES[rule](facts)) is not None]
    notices, _ = _weigh([notice for rule in _NOTICES if (notice := rule(facts)) is not None], facts)
    if not facts.host.has_slow_tier:
        kept, withheld = _weigh([answer for answer in answers if isinstance(answer, Advice)], facts)
        return Given(kept, withheld=withheld, notices=notices)
    answers = [_unsettled(answer, facts) if isinstance(answer, Advice) else answer for answer in answers]
    fired = [answer for answer in answers if isinstance(answer, Advice)]
    if not any(advice.rule in {"F2", "F11"} for advice in fired):
        fired += [advice for advice in (rules_rest.capacity(facts),) if advice is not None]
    nothing = rules_rest.nothing_to_do(facts)
    if nothing is not None:
        fired = [advice for advice in fired if advice.rule in _SAFETY]
    whole, halves = complete(fired, facts)
    kept, withheld = _weigh(whole, facts)
    given = {rule for advice in kept for rule in advice.charters}
    unknown = (*(answer for answer in answers if isinstance(answer, Unknown) and answer.rule not in given), *halves)
    if not kept:
        return Given((), (), nothing or rules_rest.satisfied(facts), unknown, withheld, notices)
    advice, waiting = _resolve(kept)
    return Given(advice, waiting, None, unknown, withheld, notices)


def _unsettled(advice: Advice, facts: Facts) -> Advice | Unknown:
    """A step from the value that stands waits for a window under it: what was counted before may be what it mends."""
    is_step = advice.rule in _STEPS or (advice.rule == "F4" and not is_raised(advice))
    changed = [change.path for change in advice.changes if change.path in facts.unsettled]
    if not is_step or not changed:
        return advice
    return Unknown(advice.rule, (f"a window under {', '.join(changed)} as set now",))


def _weigh(fired: Sequence[Advice], facts: Facts) -> tuple[tuple[Advice, ...], tuple[Withheld, ...]]:
    """What is given, in the order of the charters, and what a hazard forbids."""
    weighed = [weigh(advice, facts) for advice in fired]
    kept = [one for one in weighed if isinstance(one, Advice)]
    kept.sort(key=lambda advice: min(CHARTERS[rule].order for rule in advice.charters))
    return tuple(kept), tuple(one for one in weighed if isinstance(one, Withheld))


def _resolve(fired: Sequence[Advice]) -> tuple[tuple[Advice, ...], tuple[tuple[Advice, str], ...]]:
    limit = next((advice for advice in fired if advice.rule == "F4"), None)
    promoting = any("F1" in advice.charters for advice in fired)
    lowered = limit is not None and not is_raised(limit)
    given, waiting = [], []
    for advice in fired:
        if advice.rule in _HEADROOM and lowered:
            waiting.append((advice, "F4 lowers tier moves and this raises them: F4 first"))
        elif advice.rule == "F3b" and promoting:
            waiting.append((advice, CHARTERS["F3b"].together_why))
        elif advice.rule == "F5" and limit is not None:
            waiting.append((advice, "the threshold is judged once the new limit is in force"))
        elif advice.rule == "F6" and limit is not None:
            waiting.append((advice, "fewer promotions may be enough: the pace of scanning is judged after F4"))
        else:
            given.append(advice)
    return tuple(given), tuple(waiting)
