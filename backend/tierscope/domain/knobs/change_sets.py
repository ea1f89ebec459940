"""Advice that is harmful by halves becomes one change set: one card, one order, one rollback."""

from collections.abc import Iterable
from dataclasses import replace

from tierscope.domain._generated.advice import CHARTERS
from tierscope.domain.knobs import rules_placement
from tierscope.domain.knobs.facts import DEMOTION, MIN_TTL, NUMA_BALANCING, Facts, is_same_value
from tierscope.domain.knobs.hazards import is_there
from tierscope.domain.knobs.shapes import Advice, Unknown

_PROTECT = f"Before it: `echo 1000 > {MIN_TTL}`, or swap with room; the risk says why."
TIER_BOTH_WAYS = "Move memory both ways: demote what is cold, promote what is hot"
RAISE_WITH_ROOM = "Let more hot memory up, with room for it"


def complete(fired: Iterable[Advice], facts: Facts) -> tuple[list[Advice], list[Unknown]]:
    """The advice with halves joined or completed, and what cannot be judged because the other half is not known."""
    pieces = {advice.rule: advice for advice in fired}
    unknown = _tier_both_ways(pieces, facts)
    _raise_with_room(pieces)
    _keep_from_hanging(pieces, facts)
    return list(pieces.values()), unknown


def _tier_both_ways(pieces: dict[str, Advice], facts: Facts) -> list[Unknown]:
    """Promotion alone swaps and drops cache to make its room, demotion alone strands what turns hot again."""
    host = facts.host
    down, up = pieces.get("F2"), pieces.get("F1")
    cannot_promote = is_there("no-tiering-mode", facts) is True
    if cannot_promote:
        # What the kernel cannot do is withheld by itself, and keeps nothing else back.
        up = None
    # Promotion that would churn is withheld, and what demotion strands then is as hot as what it makes room for.
    if (down is None and up is None) or rules_placement.churns(facts):
        return []
    fired = "F1" if up is not None else "F2"
    if down is None and host.demotes is not True:
        missing = host.unreadable(DEMOTION)
        if missing:
            del pieces[fired]
            return [Unknown(fired, missing)]
        down = None if host.demotes is None else rules_placement.turn_on_demotion(facts, ())
    if up is None and host.promotes is not True and not cannot_promote:
        missing = host.unreadable(NUMA_BALANCING)
        if missing:
            del pieces[fired]
            return [Unknown(fired, missing)]
        up = None if host.promotes is None else rules_placement.turn_on_promotion(facts, ())
    # Beside DAMON each half is judged by itself: what DAMON does already is withheld, and the other may be what lacks.
    beside_damon = host.damon_demotes or host.damon_promotes or host.damon_spreads
    if down is not None and up is not None and not beside_damon:
        pieces.pop("F2" if fired == "F1" else "F1", None)
        pieces[fired] = _join(fired, TIER_BOTH_WAYS, down, up)
    elif (down is None and host.demotes is None) or (up is None and not host.promotes):
        pieces[fired] = _by_half(pieces[fired])
    return []


def _by_half(piece: Advice) -> Advice:
    """The piece where the kernel has no setting for the other half, which is a risk."""
    (other,) = CHARTERS[piece.rule].together
    why = CHARTERS[piece.rule].together_why.partition(". ")[0]
    return replace(piece, risk=f"{piece.risk} {why}, and this kernel has no setting of {other}.")


def _raise_with_room(pieces: dict[str, Advice]) -> None:
    """A limit that rises needs room to promote into. One that falls takes away the moves that headroom is for."""
    limit, room = pieces.get("F4"), pieces.get("F3")
    if limit is None or room is None or not is_raised(limit):
        return
    pieces["F4"] = _join("F4", RAISE_WITH_ROOM, room, limit)
    del pieces["F3"]


def _keep_from_hanging(pieces: dict[str, Advice], facts: Facts) -> None:
    """Before demotion is switched on that can hang the host comes what keeps it from that."""
    if is_there("mglru-no-swap", facts) is not True:
        return
    for rule, piece in pieces.items():
        if any(change.path == DEMOTION and is_same_value(change.proposed, "1") for change in piece.changes):
            pieces[rule] = replace(piece, note=" ".join(filter(None, (_PROTECT, piece.note))))


def is_raised(limit: Advice) -> bool:
    """Whether advice on the promotion limit lets more through."""
    return any(int(change.proposed) > int(change.current) for change in limit.changes)


def _join(rule: str, title: str, first: Advice, second: Advice) -> Advice:
    """Both as one, in this order. The rollback goes the other way."""
    notes = [note for note in (first.note, second.note) if note]
    together = CHARTERS[second.rule].together_why or CHARTERS[first.rule].together_why
    return Advice(
        rule=rule,
        title=title,
        changes=(*first.changes, *second.changes),
        evidence=tuple(dict.fromkeys((*first.evidence, *second.evidence))),
        effect=f"{first.effect} {second.effect}",
        risk=f"{first.risk} {second.risk}",
        verify=f"{first.verify} {second.verify}",
        note=" ".join([f"One change: {together}", *notes]),
        effect_size=second.effect_size or first.effect_size,
        rules=(first.rule, second.rule),
    )
