"""What is no setting of the kernel: too little memory, limits of cgroups, and leaving things alone."""

from tierscope.domain.knobs.facts import DEMOTION, Facts
from tierscope.domain.knobs.rules_placement import GAIN_MIN, gap
from tierscope.domain.knobs.shapes import Advice, Evidence
from tierscope.domain.ledger import Word

SATISFIED: frozenset[Word] = frozenset({"fits", "healthy", "harmless_demotion", "following_phases"})
"""Verdicts that ask for nothing."""
HOT_SET_TOO_LARGE = 0.65
"""Hot share of the touched slow pages from which more promotion only trades hot pages for hot ones, as in verdicts."""


def capacity(facts: Facts) -> Advice | None:
    """Pages go to swap and come back while every tier is full: no setting makes memory."""
    flows, host = facts.flows, facts.host
    if facts.verdict != "swap_pressure" or host.slow_has_room is not False:
        return None
    return Advice(
        rule="capacity",
        title="Add memory, or take load away",
        changes=(),
        evidence=tuple(
            Evidence(name, value, unit)
            for name, value, unit in (
                ("pages swapped out", flows.swapped_out_pages_per_s, "pages/s"),
                ("pages swapped in", flows.swapped_in_pages_per_s, "pages/s"),
                ("slow tier free", host.slow_free_ratio, "share"),
                ("swap space in use", flows.swap_used_ratio, "share"),
            )
            if value is not None
        ),
        effect="Swapping ends where memory suffices. By how much it falls short is not counted: the swapped pages that "
        "come back are a lower bound.",
        risk="Cost of the memory.",
        verify="`pswpin` and `pswpout` stand still.",
        note="All memory tiers are full and pages come back from swap. No setting of the kernel makes memory: add some "
        "to the slower tier, or move services away. Until then keep swap less than half full.",
    )


def limits(facts: Facts) -> Advice | None:
    """Limits of cgroups drive the demotions, and a demotion takes nothing off the charge that the limit counts."""
    flows = facts.flows
    if facts.verdict != "limit_reclaim" or flows.limit_reclaimed_ratio is None:
        return None
    reached = () if flows.limit_events is None else (Evidence("limits reached", float(flows.limit_events), "events"),)
    on = facts.host.is_on(DEMOTION) is True
    demotes = " With demotion on they demote first, which takes nothing off the charge: the group gets no relief."
    return Advice(
        rule="limits",
        title="Look at the memory limits of the services",
        changes=(),
        evidence=(Evidence("reclaim on behalf of cgroups", flows.limit_reclaimed_ratio, "share"), *reached),
        effect="Reclaim on behalf of the limit ends. What the service gains depends on what the limit took from it.",
        risk="A service without its limit can take memory from its neighbours.",
        verify="`high` and `max` in `memory.events` stand still, and so does `pgdemote_direct`.",
        note="memory.high, memory.max or memory.reclaim reclaim here, not a lack of memory."
        + (demotes if on else "")
        + " Raise memory.high of the group above what it uses, or stop the reclaim that was asked for.",
    )


def nothing_to_do(facts: Facts) -> Advice | None:
    """F12: placement is within 2 points of the best, the loss is within its target, or the verdict asks for nothing."""
    gain, heat = gap(facts), facts.heat
    if gain is not None and gain < GAIN_MIN:
        return _leave(Evidence("accesses that better placement would serve from DRAM", gain, "share"))
    if heat.loss_upper is not None and heat.loss_target is not None and heat.loss_upper <= heat.loss_target:
        return _leave(Evidence("upper bound of the loss", heat.loss_upper, "share"))
    return None


def satisfied(facts: Facts) -> Advice | None:
    """F12 from counters alone, where no rule fired: the verdict asks for nothing, or a limit does what it is for."""
    flows, word = facts.flows, facts.verdict
    if word == "limiter_bound" and (flows.hot_share_of_slow or 0.0) >= HOT_SET_TOO_LARGE:
        found = Evidence("pages touched on the slow tier that are hot", flows.hot_share_of_slow or 0.0, "share")
        return _leave(
            found,
            "The promotion limit binds, and nearly every page touched on the slow tier is hot: the hot set is larger "
            "than DRAM. A higher limit would trade hot pages for hot ones.",
        )
    if word not in SATISFIED:
        return None
    if word == "fits":
        return _leave(Evidence("memory on slower tiers", flows.slow_ratio or 0.0, "share"))
    moved = (flows.promoted_pages_per_s or 0.0) + (flows.demoted_pages_per_s or 0.0)
    return _leave(Evidence("pages moved between tiers", moved, "pages/s"))


def _leave(found: Evidence, note: str = "No change is advised.") -> Advice:
    return Advice(
        rule="F12",
        title="Leave the settings as they are",
        changes=(),
        evidence=(found,),
        effect="None: there is too little to gain.",
        risk="None.",
        verify="Nothing to verify.",
        note=note,
    )
