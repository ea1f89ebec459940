"""What is to be known of a host whose settings are right: where zswap puts pages, what a large tier costs DRAM."""

from tierscope.domain._generated.advice import CHARTERS, HAZARDS
from tierscope.domain.knobs.facts import MEMMAP_ON_MEMORY, ZSWAP, Facts
from tierscope.domain.knobs.hazards import is_there
from tierscope.domain.knobs.shapes import Advice, Evidence

STRUCT_PAGE_BYTES = 64
LARGE_TIER = 4.0
"""Movable memory to memory of the kernel up to which the kernel's documentation calls ratios fine."""


def zswap(facts: Facts) -> Advice | None:
    """`zswap`: pages of the slower tier are compressed into DRAM."""
    if not is_there("zswap-placement", facts) or not facts.host.is_on(ZSWAP):
        return None
    charter = CHARTERS["zswap"]
    return Advice(
        rule="zswap",
        title=charter.title,
        changes=(),
        evidence=(Evidence("zswap, on", 1.0, "setting"),),
        effect="Cold memory stays below DRAM. How much zswap holds there is not counted by node.",
        risk=" ".join(charter.harm),
        verify=charter.measure,
        note=f"{HAZARDS['zswap-placement'].says} This kernel is {facts.host.kernel_release}. Take 6.16 or later, or "
        "switch zswap off while the slower tiers have room and demotion is on.",
    )


def metadata(facts: Facts) -> Advice | None:
    """`metadata`: the kernel's own data about a large slower tier lies in DRAM."""
    host = facts.host
    if not host.dram_bytes or not host.slow_bytes or host.page_bytes is None:
        return None
    if host.slow_bytes <= LARGE_TIER * host.dram_bytes:
        return None
    charter = CHARTERS["metadata"]
    beside = host.is_on(MEMMAP_ON_MEMORY)
    struct_pages = host.slow_bytes / host.page_bytes * STRUCT_PAGE_BYTES
    in_dram = "" if beside else f", up to {struct_pages / host.dram_bytes:.0%} of DRAM"
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
        note=f"Each page has a struct page of {STRUCT_PAGE_BYTES} bytes{in_dram}"
        + (" (memmap_on_memory keeps them on the tier itself)." if beside else ", unless memmap_on_memory is set.")
        + " Memory that is online as movable takes no data of the kernel: page tables, slab and pinned pages stay in "
        "DRAM. Documentation calls movable to kernel memory fine up to 3:1 or 4:1, and impossible at 63:1.",
    )
