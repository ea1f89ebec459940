"""Rules on where memory lies: promotion mode, demotion, page types, swappiness, interleave, zone reclaim."""

from tierscope.domain.knobs.facts import DEMOTION, INTERLEAVE, NUMA_BALANCING, SWAPPINESS, ZONE_RECLAIM, Facts
from tierscope.domain.knobs.shapes import Advice, Change, Evidence
from tierscope.domain.ratio.bandwidth import balanced_share, interleave_weights

GAIN_MIN = 0.02
FREE_SLOW_MIN = 0.10
FREE_DRAM_FULL = 0.05
DENSITY_RATIO = 4.0
FILE_SHARE_MIN = 0.20
COLD_GAP = 0.10
ANON_HOT = 0.60
SWAPPINESS_UP = 100
SWAPPINESS_DOWN = 40
TIERING_BIT = 2


def gap(facts: Facts) -> float | None:
    """Share of accesses that the best placement would serve from DRAM beyond what is served now."""
    now, best = facts.heat.served_now, facts.heat.served_best
    return None if now is None or best is None else best - now


def mode(facts: Facts) -> Advice | None:
    """F1: promotion is off, and the best placement would serve clearly more from DRAM."""
    current, gain = facts.host.number(NUMA_BALANCING), gap(facts)
    if current is None or int(current) & TIERING_BIT or gain is None or gain < GAIN_MIN:
        return None
    proposed = 3 if facts.host.sockets > 1 else 2
    return Advice(
        rule="F1",
        title="Promote hot memory from the slow tier",
        changes=(Change(NUMA_BALANCING, str(int(current)), str(proposed)),),
        evidence=(Evidence("accesses that better placement would serve from DRAM", gain, "share"),),
        effect="The share of accesses served from DRAM moves towards that of the best placement.",
        risk="Hint faults cost processor time: 1 to 3 us for each page looked at.",
        verify="pgpromote_success rises, the share served from DRAM rises, processor time grows by less than 2 %.",
    )


def demotion(facts: Facts) -> Advice | None:
    """F2: memory is swapped out or files are read again while the slow tier has room."""
    host, flows = facts.host, facts.flows
    if host.is_on(DEMOTION) is not False or not host.slow_bytes or host.slow_free_bytes is None:
        return None
    if host.slow_free_bytes / host.slow_bytes <= FREE_SLOW_MIN or not _dram_is_full(facts):
        return None
    losses = [
        Evidence(name, value, "pages/s")
        for name, value in (
            ("pages swapped out", flows.swapped_out_pages_per_s),
            ("file pages read again after reclaim", flows.refaulted_file_pages_per_s),
        )
        if value
    ]
    if not losses:
        return None
    return Advice(
        rule="F2",
        title="Demote to the slow tier instead of swapping or dropping",
        changes=(Change(DEMOTION, str(host.knobs[DEMOTION]), "1"),),
        evidence=(*losses, Evidence("slow tier free", host.slow_free_bytes / host.slow_bytes, "share")),
        effect="Reclaim in DRAM moves pages to the slow tier; swap-out and repeated reads fall.",
        risk="Kernels before 6.16 demote pages of a cpuset that excludes the slow node.",
        verify="pgdemote_kswapd rises and pswpout falls.",
    )


def _dram_is_full(facts: Facts) -> bool:
    host = facts.host
    if not host.dram_bytes or host.dram_free_bytes is None:
        return False
    return host.dram_free_bytes / host.dram_bytes <= FREE_DRAM_FULL


def type_aware(facts: Facts) -> Advice | None:
    """F7: anon memory is much denser in accesses than file memory, which takes much of DRAM."""
    heat = facts.heat
    if heat.density_anon is None or not heat.density_file or heat.file_share_of_dram is None:
        return None
    ratio = heat.density_anon / heat.density_file
    if ratio < DENSITY_RATIO or heat.file_share_of_dram <= FILE_SHARE_MIN:
        return None
    slow = ",".join(str(node) for node in facts.host.slow_nodes) or "N"
    return Advice(
        rule="F7",
        title="Put file cache on the slow tier first",
        changes=(),
        evidence=(
            Evidence("access density of anon against file", ratio, "ratio"),
            Evidence("file pages in DRAM", heat.file_share_of_dram, "share"),
        ),
        effect="DRAM is left to anon memory; published cases gained 7 points of local accesses.",
        risk="File data that turns hot starts on the slow tier.",
        verify="The share of anon memory in DRAM rises, and throughput stays within its interval.",
        note=f"Mount tmpfs with mpol=prefer:{slow}, or prefer the slow node for units that mostly cache files "
        f"(systemd NUMAPolicy=preferred, NUMAMask={slow}). The kernel has no setting for page types.",
    )


def swappiness(facts: Facts) -> Advice | None:
    """F8: the wrong type of page is cold in DRAM. Swappiness also decides which type is demoted."""
    host, heat = facts.host, facts.heat
    current = host.number(SWAPPINESS)
    if current is None or host.is_on(DEMOTION) is not True:
        return None
    if heat.cold_anon_share is not None and heat.cold_file_share is not None:
        lead = heat.cold_anon_share - heat.cold_file_share
        if lead > COLD_GAP and current < SWAPPINESS_UP:
            return _swap_advice(
                current, SWAPPINESS_UP, Evidence("anon colder than file by", lead, "share"), "anon refaults may rise"
            )
    if heat.hot_anon_share is not None and heat.hot_anon_share > ANON_HOT and current > SWAPPINESS_DOWN:
        found = Evidence("anon memory that is hot", heat.hot_anon_share, "share")
        return _swap_advice(current, SWAPPINESS_DOWN, found, "file refaults may rise")
    return None


def _swap_advice(current: float, proposed: int, found: Evidence, risk: str) -> Advice:
    return Advice(
        rule="F8",
        title="Shift demotion between anon and file pages",
        changes=(Change(SWAPPINESS, str(int(current)), str(proposed)),),
        evidence=(found,),
        effect="Demotion takes more of the type that is colder.",
        risk=f"Where it is wrong, {risk}.",
        verify="workingset_refault_anon against workingset_refault_file.",
    )


def interleave(facts: Facts) -> Advice | None:
    """F9: the service is bound by bandwidth, and both tiers have been measured."""
    host = facts.host
    if facts.heat.service_class != "bandwidth" or not host.dram_gb_per_s or not host.slow_gb_per_s:
        return None
    share = balanced_share(host.dram_gb_per_s, host.slow_gb_per_s)
    weights = interleave_weights(share)
    paths = [(f"{INTERLEAVE}/node{host.dram_node}", 0), *((f"{INTERLEAVE}/node{node}", 1) for node in host.slow_nodes)]
    if weights is None or any(host.knobs.get(path) is None for path, _ in paths):
        return None
    changes = tuple(Change(path, str(host.knobs[path]), str(weights[which])) for path, which in paths)
    if all(change.current == change.proposed for change in changes):
        return None
    gain = (host.dram_gb_per_s + host.slow_gb_per_s) / host.dram_gb_per_s
    return Advice(
        rule="F9",
        title="Spread new pages over both tiers by bandwidth",
        changes=changes,
        evidence=(
            Evidence("share of bandwidth on the slow tier", share, "share"),
            Evidence("most that bandwidth can grow", gain, "ratio"),
        ),
        effect=f"Bandwidth up to {gain:.2f} times that of DRAM alone.",
        risk="Only new pages of tasks with weighted interleave; tasks bound by latency lose.",
        verify="Bandwidth per node lies near the weights.",
        note="Tasks take part by policy: numactl --weighted-interleave=<nodes>.",
    )


def zone_reclaim(facts: Facts) -> Advice | None:
    """F10: the allocator reclaims in DRAM before it uses the slow tier."""
    current = facts.host.number(ZONE_RECLAIM)
    if not current or facts.host.is_tpp:
        return None
    return Advice(
        rule="F10",
        title="Use the slow tier before reclaiming in DRAM",
        changes=(Change(ZONE_RECLAIM, str(int(current)), "0"),),
        evidence=(Evidence("vm.zone_reclaim_mode", current, "bits"),),
        effect="Allocations no longer wait for reclaim on their own node.",
        risk="New allocations may land on the slow tier when DRAM is full.",
        verify="zone_reclaim_success and zone_reclaim_failed stay flat, allocation stalls fall.",
    )


def nothing_to_do(facts: Facts) -> Advice | None:
    """F12: placement is within 2 points of the best, or the loss is already within its target."""
    gain, heat = gap(facts), facts.heat
    if gain is not None and gain < GAIN_MIN:
        found = Evidence("accesses that better placement would serve from DRAM", gain, "share")
    elif heat.loss_upper is not None and heat.loss_target is not None and heat.loss_upper <= heat.loss_target:
        found = Evidence("upper bound of the loss", heat.loss_upper, "share")
    else:
        return None
    return Advice(
        rule="F12",
        title="Leave the settings as they are",
        changes=(),
        evidence=(found,),
        effect="None: there is too little to gain.",
        risk="None.",
        verify="Nothing to verify.",
        note="No change is advised.",
    )
