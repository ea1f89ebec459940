"""Rules on free memory: headroom for allocations, on mainline and on TPP kernels."""

import math

from tierscope.domain.knobs.facts import DEMOTE_SCALE, DEMOTION, WATERMARK_SCALE, Facts
from tierscope.domain.knobs.shapes import Advice, Change, Effect, Evidence, Unknown

HEADROOM_SECONDS = 1.0
SCALE_MIN, SCALE_MAX = 10, 200
SCALE_UNIT = 10_000
TPP_DEFAULT, TPP_UP, TPP_DOWN = 200, 400, 100
COLD_SHARE_MIN = 0.05
DIRECT_MAX = 0.05
"""Share of demotions made by allocating tasks themselves from which kswapd is too late."""
STEP_UP = 50
"""Smallest factor that a step up proposes: the kernel's default of 10 is raised by 50, then doubled."""


def watermark_factor(allocation_bytes_per_s: float, managed_bytes: float, seconds: float = HEADROOM_SECONDS) -> int:
    """`vm.watermark_scale_factor` that keeps so many seconds of allocation free, within 10..200 (ten-thousandths)."""
    wanted = math.ceil(SCALE_UNIT * allocation_bytes_per_s * seconds / managed_bytes)
    return min(max(wanted, SCALE_MIN), SCALE_MAX)


def headroom_mainline(facts: Facts) -> Advice | Unknown | None:
    """F3: new pages spill, or their tasks must demote by themselves, because DRAM has too little free.

    More headroom is made by demotion: without it, or with the slow tier full, pages would go to swap instead.
    """
    host, flows = facts.host, facts.flows
    current = host.number(WATERMARK_SCALE)
    if current is None or host.is_tpp or host.is_on(DEMOTION) is False or host.slow_has_room is False:
        return None
    if facts.verdict == "limit_reclaim":
        return None
    found = _late(facts) or _refused(facts)
    if found:
        return _raise(current, min(max(current * 2, STEP_UP), SCALE_MAX), found)
    if not flows.spilled_pages_per_s:
        return None
    rate, free = flows.allocation_p99_bytes_per_s, host.dram_free_bytes
    if rate is None or not host.dram_managed_bytes or free is None:
        return Unknown("F3", ("rate of allocation in DRAM, and free memory of it",))
    if free >= rate * HEADROOM_SECONDS:
        return None
    evidence = (
        Evidence("allocations that spilled to the slow tier", flows.spilled_pages_per_s, "pages/s"),
        Evidence("99th percentile of allocation", rate, "bytes/s"),
        Evidence("DRAM free", free, "bytes"),
    )
    return _raise(current, watermark_factor(rate, host.dram_managed_bytes), evidence, host.dram_managed_bytes)


def _late(facts: Facts) -> tuple[Evidence, ...]:
    """The kernel's own demotion comes too late: allocating tasks stall and demote by themselves."""
    direct, stalls = facts.flows.direct_demoted_ratio, facts.flows.allocation_stalls_per_s
    if direct is None or not stalls or direct <= DIRECT_MAX:
        return ()
    return (
        Evidence("demotions by allocating tasks", direct, "share"),
        Evidence("allocation stalls", stalls, "events/s"),
    )


def _refused(facts: Facts) -> tuple[Evidence, ...]:
    """Promotions find hot pages and no room: DRAM has no more free than its watermarks."""
    flows = facts.flows
    if facts.verdict != "promotion_failing" or not facts.host.dram_is_full or not flows.candidate_pages_per_s:
        return ()
    return (
        Evidence("promotion candidates", flows.candidate_pages_per_s, "pages/s"),
        Evidence("promoted pages", flows.promoted_pages_per_s or 0.0, "pages/s"),
    )


def _raise(current: int, proposed: int, found: tuple[Evidence, ...], managed: float | None = None) -> Advice | None:
    if proposed <= current:
        return None
    return Advice(
        rule="F3",
        title="Keep more of DRAM free for bursts of allocation",
        changes=(Change(WATERMARK_SCALE, str(current), str(proposed)),),
        evidence=found,
        effect="Bursts of allocation and promotions find DRAM free.",
        risk=f"Up to {3 * proposed / SCALE_UNIT:.1%} of each node is kept free, the slow one too; demotions rise.",
        verify="Allocation stalls stay at zero and the local share of new pages rises.",
        effect_size=None
        if managed is None
        else Effect(
            "DRAM kept free",
            proposed / SCALE_UNIT * managed,
            proposed / SCALE_UNIT * managed,
            3 * proposed / SCALE_UNIT * managed,
            None,
            "bytes",
            "L kernel text: one step of the watermarks, up to three",
        ),
    )


def headroom_tpp(facts: Facts) -> Advice | None:
    """F3b: the same on a TPP kernel, or its opposite where the hot set does not fit."""
    host, heat = facts.host, facts.heat
    current = host.number(DEMOTE_SCALE)
    if current is None or not host.dram_bytes:
        return None
    hot_outside = heat.hot_outside_dram_bytes or 0.0
    cold = (heat.cold_in_dram_bytes or 0.0) / host.dram_bytes
    if heat.cold_in_dram_bytes is not None and cold > COLD_SHARE_MIN and facts.flows.spilled_pages_per_s:
        proposed, found = TPP_UP, Evidence("cold memory in DRAM", cold, "share")
    elif hot_outside > 0 and heat.cold_in_dram_bytes == 0:
        proposed, found = TPP_DOWN, Evidence("hot memory outside DRAM", hot_outside, "bytes")
    else:
        return None
    if proposed == current or (proposed == TPP_UP and current > TPP_UP):
        return None
    return Advice(
        rule="F3b",
        title="Demote earlier" if proposed == TPP_UP else "Give more of DRAM to the hot set",
        changes=(Change(DEMOTE_SCALE, str(current), str(proposed)),),
        evidence=(found,),
        effect="Allocations find DRAM free." if proposed == TPP_UP else "Less of DRAM is kept free.",
        risk="Traffic between the tiers grows." if proposed == TPP_UP else "Bursts of allocation may spill.",
        verify="Ping-pong stays below 0.10.",
    )
