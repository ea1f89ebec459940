"""Rules on kinds of pages and on bandwidth: file cache, swappiness, interleave."""

from tierscope.domain._generated.advice import CHARTERS
from tierscope.domain.base.page_size import bytes_of
from tierscope.domain.knobs.facts import DEMOTION, INTERLEAVE, INTERLEAVE_AUTO, SWAPPINESS, Facts
from tierscope.domain.knobs.rules_placement import FILE_ONLY
from tierscope.domain.knobs.shapes import Advice, Change, Effect, Evidence, Unknown
from tierscope.domain.ledger.measured import FEW_MOVES, FEW_MOVES_SECONDS
from tierscope.domain.ratio.memory_bound import MemoryBound
from tierscope.domain.slowdown.bandwidth import balanced_share, gain_bound, interleave_weights

DENSITY_RATIO = 4.0
FILE_SHARE_MIN = 0.20
COLD_GAP = 0.10
ANON_HOT = 0.60
SWAPPINESS_DEFAULT = 60
SWAPPINESS_UP = 100
SWAPPINESS_DOWN = 40
REFAULT_BYTES_PER_S_PER_GIB = 80.0 * 1024
"""File refaults from which the cache thrashes, per GiB of DRAM: a twentieth of a GiB is read again in ten minutes."""
LOPSIDED = 0.10
"""Refaults of one kind below this share of the other's are next to none."""
GIB = float(1 << 30)


def type_aware(facts: Facts) -> Advice | Unknown | None:
    """F7: anon memory is much denser in accesses than file memory, which takes much of DRAM."""
    heat = facts.heat
    if heat.density_anon is None or not heat.density_file or heat.file_share_of_dram is None:
        little = facts.flows.file_ratio_of_dram is not None and facts.flows.file_ratio_of_dram <= FILE_SHARE_MIN
        return None if little else Unknown("F7", ("access density of anon and file memory",))
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
        effect="DRAM is left to anon memory; published cases gained 7 points of local accesses, which other services "
        "need not.",
        risk=" ".join(CHARTERS["F7"].harm),
        verify=CHARTERS["F7"].measure,
        note=f"Mount tmpfs with mpol=prefer:{slow}, or prefer the slow node for units that mostly cache files "
        f"(systemd NUMAPolicy=preferred, NUMAMask={slow}). The kernel has no setting for page types.",
    )


def swappiness(facts: Facts) -> Advice | Unknown | None:
    """F8: the wrong type of page is cold in DRAM. Swappiness also decides which type is demoted."""
    host = facts.host
    current = host.number(SWAPPINESS)
    if current is None or host.is_on(DEMOTION) is not True:
        return None
    if current > FILE_ONLY or not host.dram_is_full or not host.slow_has_room:
        return _by_kind(facts, current)
    # One step: where to from the default, if anywhere, is known already.
    further = _by_kind(facts, SWAPPINESS_DEFAULT)
    proposed = int(further.changes[0].proposed) if isinstance(further, Advice) else SWAPPINESS_DEFAULT
    found = Evidence("vm.swappiness, at which anon memory is hardly ever demoted", float(current), "setting")
    return _swap_advice(current, proposed, (found,), "anon refaults may rise")


def _by_kind(facts: Facts, current: int) -> Advice | Unknown | None:
    """Which kind is the colder one, by heat, else by what is read again."""
    host, heat = facts.host, facts.heat
    if heat.hot_anon_share is not None and _is_still(facts):
        return None
    lead = 0.0
    if heat.cold_anon_share is not None and heat.cold_file_share is not None:
        lead = heat.cold_anon_share - heat.cold_file_share
        if lead > COLD_GAP and current < SWAPPINESS_UP:
            if host.slow_has_room is None:
                return Unknown("F8", ("free memory of each node",))
            if not host.slow_has_room:
                return None
            return _raise(current, (Evidence("anon colder than file by", lead, "share"),))
    if heat.hot_anon_share is not None:
        # Anon memory that is hot and colder than file memory all the same is no worse a kind to demote.
        if heat.hot_anon_share > ANON_HOT and current > SWAPPINESS_DOWN and lead <= 0.0:
            return _lower(current, (Evidence("anon memory that is hot", heat.hot_anon_share, "share"),))
        return None
    return _by_refaults(facts, current)


def _is_still(facts: Facts) -> bool:
    """Whether next to nothing of DRAM is demoted, as verdicts have it: which kind goes first then decides nothing."""
    demoted = bytes_of(facts.flows.demoted_pages_per_s, facts.host.page_bytes)
    return demoted is not None and demoted * FEW_MOVES_SECONDS < FEW_MOVES * (facts.host.dram_bytes or 0.0)


def _by_refaults(facts: Facts, current: int) -> Advice | Unknown | None:
    """Without heat: pages of one kind are read again all the time, and next to none of the other."""
    host, flows = facts.host, facts.flows
    file_ = bytes_of(flows.refaulted_file_pages_per_s, host.page_bytes)
    anon = bytes_of(flows.refaulted_anon_pages_per_s, host.page_bytes)
    if file_ is None or anon is None or not host.dram_bytes or flows.file_ratio_of_dram is None:
        return Unknown("F8", ("heat by page kind, or refaults of anon and file pages and the page size",))
    floor = REFAULT_BYTES_PER_S_PER_GIB * host.dram_bytes / GIB
    again = (
        Evidence("file memory read again after reclaim", file_, "bytes/s"),
        Evidence("anon memory read again after reclaim", anon, "bytes/s"),
    )
    if file_ >= floor and anon < LOPSIDED * file_ and current < SWAPPINESS_UP and host.slow_has_room:
        return _raise(current, again)
    much_file = flows.file_ratio_of_dram > FILE_SHARE_MIN
    if anon >= floor and file_ < LOPSIDED * anon and current > SWAPPINESS_DOWN and much_file:
        return _lower(current, again)
    return None


def _raise(current: int, found: tuple[Evidence, ...]) -> Advice:
    return _swap_advice(current, SWAPPINESS_UP, found, "anon refaults may rise")


def _lower(current: int, found: tuple[Evidence, ...]) -> Advice:
    return _swap_advice(current, SWAPPINESS_DOWN, found, "file refaults may rise")


def _swap_advice(current: int, proposed: int, found: tuple[Evidence, ...], risk: str) -> Advice:
    return Advice(
        rule="F8",
        title="Shift demotion between anon and file pages",
        changes=(Change(SWAPPINESS, str(current), str(proposed)),),
        evidence=found,
        effect="Demotion takes more of the type that is colder. How much more no model tells.",
        risk=f"Where it is wrong, {risk}. A service that must not swap may swap once the slower tiers are full."
        if proposed > current
        else f"Where it is wrong, {risk}.",
        verify="workingset_refault_anon against workingset_refault_file.",
    )


def interleave(facts: Facts) -> Advice | Unknown | None:
    """F9: the service is bound by bandwidth, and both tiers have been measured."""
    host = facts.host
    paths = [(f"{INTERLEAVE}/node{node}", 0) for node in host.top_nodes]
    paths += [(f"{INTERLEAVE}/node{node}", 1) for node in host.slow_nodes]
    values = [host.number(path) for path, _ in paths]
    if not host.top_nodes or not host.slow_nodes or any(path not in host.knobs for path, _ in paths):
        return None
    bound = facts.heat.bound
    if facts.heat.service_class is None:
        reason = "memory bandwidth in use, and loaded latency of DRAM"
        return Unknown("F9", (reason if bound is None else bound.reason,))
    if facts.heat.service_class != "bandwidth":
        return None
    if not host.dram_gb_per_s or not host.slow_gb_per_s:
        return Unknown("F9", ("bandwidth of both tiers: run `tierscope-agent bench`",))
    share = balanced_share(host.dram_gb_per_s, host.slow_gb_per_s)
    # A weight is that of one node, and a tier may have several.
    weights = interleave_weights(
        balanced_share(host.dram_gb_per_s / len(host.top_nodes), host.slow_gb_per_s / len(host.slow_nodes))
    )
    if weights is None or any(value is None for value in values):
        return None
    changes = tuple(
        Change(path, str(value), str(weights[which]))
        for (path, which), value in zip(paths, values, strict=True)
        if value != weights[which]
    )
    if not changes:
        return None
    # The kernel leaves its own weights at the first write. Said aloud, the rollback ends by giving them back.
    auto = [path for path in INTERLEAVE_AUTO if host.is_on(path)]
    changes = (*(Change(path, str(host.knobs[path]).strip(), "false") for path in auto), *changes)
    gain = gain_bound(host.dram_gb_per_s, host.slow_gb_per_s)
    return Advice(
        rule="F9",
        title="Spread new pages over both tiers by bandwidth",
        changes=changes,
        evidence=(
            Evidence("share of bandwidth on the slow tier", share, "share"),
            Evidence("most that bandwidth can grow", gain, "ratio"),
            *_utilisation(bound),
        ),
        effect=f"Bandwidth up to {gain:.2f} times that of DRAM alone.",
        risk=" ".join(CHARTERS["F9"].harm),
        verify=CHARTERS["F9"].measure,
        note=" ".join(
            filter(
                None,
                (
                    "Tasks take part by policy: numactl --weighted-interleave=. Only their new pages follow.",
                    None if bound is None else f"{bound.sentence[:-1]} (grade: {bound.grade}).",
                    host.bandwidth_note,
                ),
            )
        ),
        effect_size=Effect(
            "bandwidth against DRAM alone", gain, 1.0, gain, None, "ratio", "L BATMAN, sum of both tiers"
        ),
    )


def _utilisation(bound: MemoryBound | None) -> tuple[Evidence, ...]:
    """How much of DRAM's bandwidth is in use, with the ends of its interval."""
    if bound is None:
        return ()
    named = (
        ("DRAM bandwidth in use, 95th percentile", bound.utilisation_p95),
        ("the same, low end of its 95 % interval", bound.low),
        ("the same, high end", bound.high),
        ("CXL bandwidth in use, 95th percentile", None if bound.slow is None else bound.slow.p95),
    )
    return tuple(Evidence(name, value, "share") for name, value in named if value is not None)
