"""Rules on the way between the tiers: demotion, promotion mode, zone reclaim."""

from tierscope.domain._generated.advice import CHARTERS
from tierscope.domain.base.page_size import MODEL_PAGE_BYTES
from tierscope.domain.knobs.facts import (
    DEMOTION,
    NUMA_BALANCING,
    RATE_LIMIT,
    SCAN_PERIOD_MAX,
    SWAPPINESS,
    TIERING_BIT,
    ZONE_RECLAIM,
    Facts,
)
from tierscope.domain.knobs.shapes import Advice, Change, Effect, Evidence, Unknown
from tierscope.domain.ledger import Word, limited_bytes_per_s
from tierscope.domain.ledger.ping_pong import FAULT_SECONDS, MOVE_SECONDS

GAIN_MIN = 0.02
SLOW_ANON_MIN = 0.20
"""Share of anon memory on slower tiers from which promotion is worth its faults, where heat does not tell."""
REFUSED_FACTOR = 3.0
LIMIT_MIN_MB = 20.0
"""The lowest limit of promotion that is advised for a host, where futile moves do not tell a lower one."""
OTHER_CAUSES: frozenset[Word] = frozenset({"fits", "swap_pressure", "limit_reclaim"})
"""Verdicts whose cure is not promotion."""
UNHEEDED: frozenset[Word] = frozenset({"spill", "stalled"})
"""Verdicts with memory on a slower tier from which nothing comes up."""
FILE_ONLY = 1
"""Swappiness up to which reclaim takes file pages alone: MGLRU's MIN_SWAPPINESS + 1, and hardly differs without it."""
LOCAL_RECLAIM_MIN = 1.0
"""Reclaim of the own node in vain, a second, from which vm.zone_reclaim_mode is taken to cost something [A]."""
_LIMITED = "The limit comes first: hot memory is larger than DRAM, and unlimited its exchange costs more than it saves."
PLACEMENT = "heat with placement: hot bytes outside DRAM, cold bytes in DRAM"


def gap(facts: Facts) -> float | None:
    """Share of accesses that the best placement would serve from DRAM beyond what is served now: no more than is slow.

    Heat weighs hot memory alike, however often it is accessed, so that most of it may be outside and little be lost.
    """
    now, best, slow = facts.heat.served_now, facts.heat.served_best, facts.flows.slow_access_ratio
    if now is None or best is None:
        return slow if slow is not None and slow < GAIN_MIN else None
    return best - now if slow is None else min(best - now, slow)


def churns(facts: Facts) -> bool | None:
    """Whether promotion at the lowest limit would take more processor time than it frees; None where not known."""
    limit = facts.host.number(RATE_LIMIT)
    return _costs_more(facts, None if limit is None else min(limit, _lowest_limit(facts)))


def _lowest_limit(facts: Facts) -> int:
    return max(int(LIMIT_MIN_MB) // facts.host.limited_nodes, 1)


def _costs_more(facts: Facts, limit_mib_per_s: int | None) -> bool | None:
    """Whether promotion at this limit would take more processor time than it is expected to free.

    Hot memory beyond what DRAM can hold is exchanged for hot memory without end: each pass of the scanner, which takes
    numa_balancing_scan_period_max_ms at most, makes a hint fault of each of its pages, and as many promotions as the
    limit lets through, with a demotion each. What can be freed are the cycles that wait for slow memory, all waiting
    taken to be for it, in so far as placement reaches half of its best.
    """
    heat, host, gain, slow = facts.heat, facts.host, gap(facts), facts.flows.slow_access_ratio
    stalls = None if heat.bound is None else heat.bound.stall_ratio
    period_ms = host.number(SCAN_PERIOD_MAX)
    if gain is None or heat.hot_outside_dram_bytes is None or heat.cold_in_dram_bytes is None:
        return None
    if slow is None or stalls is None or not period_ms or not host.cpus or not host.page_bytes:
        return None
    left_pages = max(heat.hot_outside_dram_bytes - heat.cold_in_dram_bytes, 0.0) / host.page_bytes
    moved = faults = left_pages / period_ms * 1e3
    if limit_mib_per_s is not None:
        moved = min(faults, limited_bytes_per_s(limit_mib_per_s, host.limited_nodes) / host.page_bytes)
    moves_s = 2.0 * MOVE_SECONDS * host.page_bytes / MODEL_PAGE_BYTES
    cost = (faults * FAULT_SECONDS + moved * moves_s) / host.cpus
    return cost > (stalls * min(gain / 2.0 / slow, 1.0) if slow > 0.0 else 0.0)


def is_tiering(facts: Facts) -> bool | None:
    """Whether the kernel promotes from slower tiers; None where the setting is not known."""
    current = facts.host.number(NUMA_BALANCING)
    return None if current is None else bool(current & TIERING_BIT)


def mode(facts: Facts) -> Advice | Unknown | None:
    """F1: promotion is off, and hot memory is, or must be taken to be, on a slower tier."""
    current = facts.host.number(NUMA_BALANCING)
    if current is None or current & TIERING_BIT:
        missing = facts.host.unreadable(NUMA_BALANCING)
        return Unknown("F1", missing) if missing else None
    gain, slow_anon = gap(facts), facts.flows.slow_anon_ratio
    if gain is not None:
        if gain < GAIN_MIN:
            return None
        found = Evidence("accesses that better placement would serve from DRAM", gain, "share")
    elif facts.verdict in OTHER_CAUSES:
        return None
    elif facts.verdict is None or slow_anon is None or slow_anon < SLOW_ANON_MIN:
        return Unknown("F1", (PLACEMENT,)) if facts.flows.slow_ratio != 0 else None
    else:
        found = Evidence("anon memory on slower tiers with no way back", slow_anon, "share")
    return turn_on_promotion(facts, (found,))


def turn_on_promotion(facts: Facts, found: tuple[Evidence, ...]) -> Advice:
    """The advice of F1 on this evidence. The bit of classic balancing stays as it is."""
    current, gain = facts.host.number(NUMA_BALANCING) or 0, gap(facts)
    charter, limit, lowest = CHARTERS["F1"], facts.host.number(RATE_LIMIT), _lowest_limit(facts)
    limited = limit is not None and limit > lowest and bool(_costs_more(facts, limit))
    return Advice(
        rule="F1",
        title=charter.title,
        changes=(
            *((Change(RATE_LIMIT, str(limit), str(lowest)),) if limited else ()),
            Change(NUMA_BALANCING, str(current), str(current | TIERING_BIT)),
        ),
        evidence=found,
        effect="The share of accesses served from DRAM moves towards that of the best placement."
        + ("" if gain is not None else " How far is not known without heat."),
        risk=" ".join(charter.harm),
        verify=charter.measure,
        note=_LIMITED if limited else None,
        effect_size=_served(facts) if gain is not None else None,
    )


def _served(facts: Facts) -> Effect | None:
    heat = facts.heat
    if heat.served_now is None or heat.served_best is None:
        return None
    metric = f"share of {heat.served_of} served from DRAM"
    # No policy is known to reach the best static placement: what is expected lies between it and today.
    now, best = heat.served_now, heat.served_best
    most = max(best, heat.served_most or 0.0)
    return Effect(metric, (now + best) / 2, now, most, None, "ratio", "A halfway to the best static placement")


def demotion(facts: Facts) -> Advice | Unknown | None:
    """F2: memory is swapped out, files are read again or promotions are refused while the slow tier has room."""
    host = facts.host
    if host.is_on(DEMOTION) is not False:
        missing = host.unreadable(DEMOTION)
        return Unknown("F2", missing) if missing else None
    losses = (*_losses(facts), *_refused(facts))
    if not losses:
        return None
    if host.slow_has_room is None or host.dram_is_full is None:
        return Unknown("F2", ("free memory of each node",))
    if not host.slow_has_room or not host.dram_is_full:
        return None
    return turn_on_demotion(facts, losses)


def turn_on_demotion(facts: Facts, losses: tuple[Evidence, ...]) -> Advice:
    """The advice of F2 on this evidence."""
    room, swappiness, charter = facts.host.slow_free_ratio, facts.host.number(SWAPPINESS), CHARTERS["F2"]
    free = () if room is None else (Evidence("slow tier free", room, "share"),)
    return Advice(
        rule="F2",
        title=charter.title,
        changes=(Change(DEMOTION, str(facts.host.knobs[DEMOTION]).strip(), "1"),),
        evidence=(*losses, *free),
        effect="Reclaim in DRAM moves pages to the slow tier; swap-out and repeated reads fall. How far depends on how "
        "much of what is reclaimed can move, which no counter tells.",
        risk=" ".join(charter.harm),
        verify=charter.measure,
        note=None
        if swappiness is None or swappiness > FILE_ONLY
        else f"At vm.swappiness {swappiness} hardly any anon memory is demoted, with the multi-generational LRU none: "
        "see F8 once this is in force.",
    )


def _losses(facts: Facts) -> tuple[Evidence, ...]:
    flows = facts.flows
    named = (
        ("pages swapped out", flows.swapped_out_pages_per_s),
        ("file pages read again after reclaim", flows.refaulted_file_pages_per_s),
    )
    return tuple(Evidence(name, value, "pages/s") for name, value in named if value)


def _refused(facts: Facts) -> tuple[Evidence, ...]:
    """Promotion is on with nothing to make room for it, or a full DRAM refuses hot pages."""
    flows, gain = facts.flows, gap(facts)
    wants_room = facts.verdict not in {None, "futile_ping_pong", *OTHER_CAUSES} and (gain is None or gain >= GAIN_MIN)
    if wants_room and facts.host.promotes and (flows.slow_anon_ratio or 0.0) >= SLOW_ANON_MIN:
        return (Evidence("anon memory on slower tiers with no way up", flows.slow_anon_ratio or 0.0, "share"),)
    wanted, got = flows.candidate_pages_per_s, flows.promoted_pages_per_s
    if facts.verdict != "promotion_failing" or not facts.host.promotes or not wanted or got is None:
        return ()
    if wanted < REFUSED_FACTOR * got:
        return ()
    return (Evidence("promotion candidates", wanted, "pages/s"), Evidence("promoted pages", got, "pages/s"))


def zone_reclaim(facts: Facts) -> Advice | Unknown | None:
    """F10: the allocator reclaims in DRAM before it uses the slow tier. Its charter forbids it without a sign of harm.

    With demotion on local reclaim demotes and keeps new pages in DRAM, which some fleets want.
    """
    host = facts.host
    current = host.number(ZONE_RECLAIM)
    if not current or host.is_tpp:
        missing = host.unreadable(ZONE_RECLAIM)
        return Unknown("F10", missing) if missing else None
    charter = CHARTERS["F10"]
    return Advice(
        rule="F10",
        title=charter.title,
        changes=(Change(ZONE_RECLAIM, str(current), "0"),),
        evidence=(Evidence("vm.zone_reclaim_mode", current, "bits"), *harm_of_local_reclaim(facts)),
        effect="Allocations no longer wait for reclaim on their own node. How long they waited is not counted.",
        risk=" ".join(charter.harm),
        verify=charter.measure,
    )


def harm_of_local_reclaim(facts: Facts) -> tuple[Evidence, ...]:
    """What shows that reclaim of the own node costs something; empty where nothing does."""
    flows, host = facts.flows, facts.host
    named = (
        ("allocation stalls", flows.allocation_stalls_per_s, 0.0),
        ("reclaim of the own node in vain", flows.local_reclaim_failed_per_s, LOCAL_RECLAIM_MIN),
    )
    signs = tuple(Evidence(name, value, "events/s") for name, value, least in named if value and value >= least)
    return signs if host.demotes else (*_losses(facts), *signs)
