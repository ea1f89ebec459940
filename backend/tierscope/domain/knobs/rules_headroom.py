"""Rules on free memory: headroom for allocations, and room on the swap device."""

import math

from tierscope.domain.knobs.facts import DEMOTE_SCALE, WATERMARK_SCALE, Facts
from tierscope.domain.knobs.shapes import Advice, Change, Evidence

HEADROOM_SECONDS = 1.0
SCALE_MIN, SCALE_MAX = 10, 200
SCALE_UNIT = 10_000
TPP_DEFAULT, TPP_UP, TPP_DOWN = 200, 400, 100
COLD_SHARE_MIN = 0.05
WAF_MAX = 2.0
SWAP_USED_MAX = 0.5


def watermark_factor(allocation_bytes_per_s: float, managed_bytes: float, seconds: float = HEADROOM_SECONDS) -> int:
    """`vm.watermark_scale_factor` that keeps so many seconds of allocation free, within 10..200 (ten-thousandths)."""
    wanted = math.ceil(SCALE_UNIT * allocation_bytes_per_s * seconds / managed_bytes)
    return min(max(wanted, SCALE_MIN), SCALE_MAX)


def headroom_mainline(facts: Facts) -> Advice | None:
    """F3: new pages spill to the slow tier because DRAM has less free than a second of allocation."""
    host, flows = facts.host, facts.flows
    current = host.number(WATERMARK_SCALE)
    if current is None or host.is_tpp or not flows.spilled_pages_per_s:
        return None
    if not flows.allocation_p99_bytes_per_s or not host.dram_managed_bytes or host.dram_free_bytes is None:
        return None
    if host.dram_free_bytes >= flows.allocation_p99_bytes_per_s * HEADROOM_SECONDS:
        return None
    proposed = watermark_factor(flows.allocation_p99_bytes_per_s, host.dram_managed_bytes)
    if proposed <= current:
        return None
    return Advice(
        rule="F3",
        title="Keep more of DRAM free for bursts of allocation",
        changes=(Change(WATERMARK_SCALE, str(int(current)), str(proposed)),),
        evidence=(
            Evidence("allocations that spilled to the slow tier", flows.spilled_pages_per_s, "pages/s"),
            Evidence("99th percentile of allocation", flows.allocation_p99_bytes_per_s, "bytes/s"),
            Evidence("DRAM free", host.dram_free_bytes, "bytes"),
        ),
        effect="Bursts of allocation stay in DRAM.",
        risk=f"Up to {proposed / SCALE_UNIT:.1%} of each node is kept free, the slow one too.",
        verify="Allocation stalls stay at zero and the local share of new pages rises.",
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
    if proposed == int(current) or (proposed == TPP_UP and current > TPP_UP):
        return None
    return Advice(
        rule="F3b",
        title="Demote earlier" if proposed == TPP_UP else "Give more of DRAM to the hot set",
        changes=(Change(DEMOTE_SCALE, str(int(current)), str(proposed)),),
        evidence=(found,),
        effect="Allocations find DRAM free." if proposed == TPP_UP else "Less of DRAM is kept free.",
        risk="Traffic between the tiers grows." if proposed == TPP_UP else "Bursts of allocation may spill.",
        verify="Ping-pong stays below 0.10.",
    )


def swap_tier(facts: Facts) -> Advice | None:
    """F11: the swap device writes much more than it is given, or is more than half full."""
    flows = facts.flows
    found = [
        Evidence(name, value, unit)
        for name, value, limit, unit in (
            ("write amplification of the swap device", flows.swap_write_amplification, WAF_MAX, "ratio"),
            ("swap space in use", flows.swap_used_ratio, SWAP_USED_MAX, "share"),
        )
        if value is not None and value > limit
    ]
    if not found:
        return None
    return Advice(
        rule="F11",
        title="Give swap more room",
        changes=(),
        evidence=tuple(found),
        effect="Clean copies stay in swap, so that the same page is not written again.",
        risk="Cost of the device.",
        verify="Write amplification and the 99th percentile of swap-in time fall.",
        note="Above half use the kernel frees a slot as soon as its page is read. Keep use below half: a larger or a "
        "zoned device, or half of the device spare.",
    )
