"""Advice: what a rule proposes with its evidence, and which pieces are given when several rules fire."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tierscope.domain.knobs import rules_headroom, rules_moves, rules_placement
from tierscope.domain.knobs.facts import Facts
from tierscope.domain.knobs.shapes import Advice, Change, Evidence

__all__ = ["Advice", "Change", "Evidence", "advise"]

Rule = Callable[[Facts], Advice | None]

# Order of giving: errors of placement, then headroom, promotion mode, rates, swap, and the rest. One change at a time.
RULES: tuple[Rule, ...] = (
    rules_placement.zone_reclaim,
    rules_placement.demotion,
    rules_placement.mode,
    rules_moves.rate_limit,
    rules_headroom.headroom_mainline,
    rules_headroom.headroom_tpp,
    rules_moves.threshold,
    rules_moves.scan,
    rules_placement.type_aware,
    rules_placement.swappiness,
    rules_placement.interleave,
    rules_headroom.swap_tier,
)


@dataclass(frozen=True, slots=True)
class Given:
    """Advice in the order in which it is to be tried, and why some of it waits."""

    advice: tuple[Advice, ...]
    waiting: tuple[tuple[Advice, str], ...]


def advise(facts: Facts) -> Given:
    """Apply all rules. `nothing_to_do` alone is given where placement is good enough already.

    The rate limit (F4) goes before headroom (F3), which raises traffic; the threshold (F5) waits for the limit. Rules
    on tiers need a slower tier.
    """
    if facts.host.has_slow_tier:
        nothing = rules_placement.nothing_to_do(facts)
        fired = [advice for rule in RULES if (advice := rule(facts)) is not None]
        if nothing is not None and not any(advice.rule in _SAFETY for advice in fired):
            return Given((nothing,), ())
    else:
        swap = rules_headroom.swap_tier(facts)
        fired = [swap] if swap is not None else []
    return _resolve(fired)


_SAFETY = frozenset({"F2", "F4", "F10", "F11"})
"""Rules that fire on harm being done, whatever heat says of placement."""


def _resolve(fired: Sequence[Advice]) -> Given:
    rules = {advice.rule for advice in fired}
    given, waiting = [], []
    for advice in fired:
        if advice.rule in {"F3", "F3b"} and "F4" in rules:
            waiting.append((advice, "F4 lowers tier moves and this raises them: F4 first"))
        elif advice.rule == "F5" and "F4" in rules:
            waiting.append((advice, "the threshold is judged once the new limit is in force"))
        else:
            given.append(advice)
    return Given(tuple(given), tuple(waiting))
