"""What is to be known of a host whose settings are right: where compressed pages lie, what a large tier costs DRAM."""

from tierscope.domain._generated.advice import CHARTERS, HAZARDS
from tierscope.domain.knobs.facts import ZSWAP, Facts
from tierscope.domain.knobs.hazards import is_there
from tierscope.domain.knobs.shapes import Advice, Evidence

STRUCT_PAGE_BYTES = 64
LARGE_TIER = 4.0
"""Movable memory to memory of the kernel up to which the kernel's documentation calls ratios fine."""


def zswap(facts: Facts) -> Advice | None:
    """`zswap`: pages of the slower tier are compressed into DRAM."""
    if not is_there("zswap-placement", facts):
        return None
    charter, areas = CHARTERS["zswap"], sum(drive.is_zram for drive in facts.host.swap_drives)
    found = (
        *((Evidence("zswap, on", 1.0, "setting"),) if facts.host.is_on(ZSWAP) else ()),
        *((Evidence("swap areas on zram", float(areas), "areas"),) if areas else ()),
    )
    return Advice(
        rule="zswap",
        title=charter.title,
        changes=(),
        evidence=found,
        effect="Cold memory stays below DRAM. How much of what is compressed lies there is not counted by node.",
        risk=" ".join(charter.harm),
        verify=charter.measure,
        note=f"{HAZARDS['zswap-placement'].says} This kernel is {facts.host.kernel_release}. {charter.fix}",
    )


def metadata(facts: Facts) -> Advice | None:
    """`metadata`: the kernel's own data about a large slower tier lies in DRAM."""
    host = facts.host
    if not host.dram_bytes or not host.slow_bytes or host.page_bytes is None:
        return None
    if host.slow_bytes <= LARGE_TIER * host.dram_bytes:
        return None
    charter = CHARTERS["metadata"]
    struct_pages = host.slow_bytes / host.page_bytes * STRUCT_PAGE_BYTES
    in_dram = f"Up to {struct_pages / host.dram_bytes:.0%} of DRAM are struct pages of the slower tiers. "
    return Advice(
        rule="metadata",
        title=charter.title,
        changes=(),
        evidence=(
            Evidence("slower tiers against DRAM", host.slow_bytes / host.dram_bytes, "ratio"),
            Evidence("struct pages of the slower tiers", struct_pages, "bytes"),
        ),
        effect="Allocations of the kernel find DRAM.",
        risk=" ".join(charter.harm),
        verify=charter.measure,
        note=f"{'' if host.struct_pages_stay_below else in_dram}{charter.says} {charter.fix}",
    )
