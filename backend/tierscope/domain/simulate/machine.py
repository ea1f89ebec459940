"""The simulated machine: DRAM, a slower tier, swap, and the watermarks that its kernel would have."""

from dataclasses import dataclass
from typing import Literal

from tierscope.domain.base.page_size import MODEL_PAGE_BYTES

SwapDevice = Literal["ssd", "zns"]

SLACK_RATIO = 0.05
"""Memory beyond what the service has resident at its peak [A]: services fill 95 to 98 % of theirs (TPP)."""
WATERMARK_SCALE_FACTOR = 10
"""Kernel default of `vm.watermark_scale_factor`, in ten-thousandths of a zone."""
FAST_PATH_BYTES = 1 << 30
SCAN_PERIOD_MIN_S = 1.0
"""Kernel default of `scan_period_min_ms`: the least that a pass takes."""
SCAN_MOST_MIB_PER_S = 2560
"""`MAX_SCAN_WINDOW`: `task_scan_min` lets no pass be faster."""
SCAN_PASS_GROWTH = 2.0
"""`update_task_scan_period` doubles the period where no fault was counted, and in tiering mode those on the slower tier
are not (`task_numa_fault`). Where all that were are local, it adds three tenths."""
MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class Machine:
    """Sizes in base pages. `swap` None: off. `watermark_scale_factor` as in the kernel, 10 = 0.1 % a step.

    `sampled_ratio`: share of a machine's pages that the trace has. What the kernel holds in absolute numbers (rates and
    sizes of a whole machine) is as much smaller. `zone_watermarks`: low, high and promo in pages as the host's
    /proc/zoneinfo has them; None takes them from the scale factor. `scan_pass_s`: seconds in which the kernel's scanner
    comes to every page once, in pieces of `scan_size_mb` (of 2^20 bytes); None is as the kernel begins and adapts it.
    Up to `scan_pass_max_s` it takes `scan_pass_growth` times as long after each pass in which pages were promoted; None
    keeps the pace that was said.
    `demotion_page_s`, `demotion_unit_s`: what a demotion takes of kswapd's time, for the page and for each base page.
    `look_s`: what a look at a page takes, where the policy's `lru` looks at pages. `slow_zone_watermarks`: low and high
    of the slower tier; where no more than low is free, files there are dropped up to high. `kernel_page_ratio`: pages
    that the kernel needs for itself, by allocated page; they come from DRAM alone, and wake kswapd where that is low.
    """

    dram_pages: int
    slow_pages: int
    page_bytes: int = MODEL_PAGE_BYTES
    swap: SwapDevice | None = None
    swap_pages: int = 0
    watermark_scale_factor: float = WATERMARK_SCALE_FACTOR
    sampled_ratio: float = 1.0
    zone_watermarks: tuple[int, int, int] | None = None
    scan_pass_s: float | None = None
    scan_size_mb: float = 256
    scan_pass_max_s: float | None = None
    scan_pass_growth: float = SCAN_PASS_GROWTH
    demotion_page_s: float = 0.0
    demotion_unit_s: float = 0.0
    look_s: float = 0.0
    slow_zone_watermarks: tuple[int, int] = (0, 0)
    kernel_page_ratio: float = 1.0

    def __post_init__(self) -> None:
        """Refuse what no machine has.

        Raises:
            ValueError: names the size and what it must be.
        """
        if self.dram_pages < 1:
            raise ValueError("the machine has no DRAM: give it at least one page")
        if min(self.slow_pages, self.swap_pages) < 0:
            raise ValueError("the slower tier and swap cannot be smaller than nothing")
        if not 0 <= self.watermark_scale_factor <= 2500:  # noqa: PLR2004 - four steps must fit into DRAM
            raise ValueError("watermark_scale_factor must be 0..2500")
        marks = self.zone_watermarks
        if marks is not None and not 0 <= marks[0] <= marks[1] <= marks[2] <= self.dram_pages:
            raise ValueError("watermarks must be low <= high <= promo, and at most all of DRAM")
        self._check_reclaim()
        if self.scan_pass_s is not None and not 0 < self.scan_pass_s < float("inf"):
            raise ValueError("scan_pass_s must be a number of seconds above 0")
        if self.scan_pass_max_s is not None and not 0 < self.scan_pass_max_s < float("inf"):
            raise ValueError("scan_pass_max_s must be a number of seconds above 0")
        if not 1 <= self.scan_pass_growth <= 16:  # noqa: PLR2004 - the kernel doubles it at most
            raise ValueError("scan_pass_growth must be 1..16")
        if not 0 < self.scan_size_mb <= 1e6:  # noqa: PLR2004 - a terabyte at once
            raise ValueError("scan_size_mb must be above 0 and at most 1000000")
        if not 0.0 < self.sampled_ratio <= 1.0:
            raise ValueError("sampled_ratio must be above 0 and at most 1")

    def _check_reclaim(self) -> None:
        if not 0 <= min(self.demotion_page_s, self.demotion_unit_s, self.look_s) < float("inf"):
            raise ValueError("a demotion and a look take 0 or more seconds")
        if not 0 <= self.slow_zone_watermarks[0] <= self.slow_zone_watermarks[1] <= self.slow_pages:
            raise ValueError("slow_zone_watermarks must be low <= high, and at most all of the slower tier")
        if not 0 < self.kernel_page_ratio <= 1:
            raise ValueError("kernel_page_ratio must be above 0 and at most 1")

    @property
    def watermarks(self) -> tuple[int, int, int]:
        """Low, high and promo in pages: the host's, else two, three and four steps of the scale factor."""
        if self.zone_watermarks is not None:
            return self.zone_watermarks
        step = self.dram_pages * self.watermark_scale_factor / 10_000
        return int(2 * step), int(3 * step), int(4 * step)

    def scan_passes_s(self, interval_s: float, period_max_s: float) -> tuple[float, float]:
        """Seconds of the scanner's first pass and of its longest: as said, or as for one process with all this memory.

        `task_scan_min` and `task_scan_max` (kernel/sched/fair.c): all of a process in `scan_period_min_ms` to
        `scan_period_max_ms`, and no more than 2,560 MiB a second. An interval at least: accesses are known by
        intervals, and what is armed twice in one tells no more.
        """
        if self.scan_pass_s is not None:
            return self.scan_pass_s, self.scan_pass_max_s or self.scan_pass_s
        memory_mib = (self.dram_pages + self.slow_pages) * self.page_bytes / self.sampled_ratio / MIB
        first_s = max(SCAN_PERIOD_MIN_S, memory_mib / SCAN_MOST_MIB_PER_S, interval_s)
        return first_s, max(self.scan_pass_max_s or period_max_s, first_s)

    @property
    def scan_size_pages(self) -> int:
        """Pages that the scanner takes at once."""
        return max(int(self.scan_size_mb * MIB * self.sampled_ratio / self.page_bytes), 1)

    @property
    def fast_path_pages(self) -> int:
        """Free DRAM above the promo watermark that lifts the threshold: max(1 GiB, 1/16 of the node)."""
        return max(int(FAST_PATH_BYTES * self.sampled_ratio) // self.page_bytes, self.dram_pages // 16)


def split_machine(peak_pages: int, dram_ratio: float, *, page_bytes: int = MODEL_PAGE_BYTES) -> Machine:
    """A machine that holds the service with 5 % to spare, this share of the service's peak in DRAM.

    Raises:
        ValueError: the share is not above 0 and at most 1.
    """
    if not 0.0 < dram_ratio <= 1.0:
        raise ValueError(f"a DRAM share of {dram_ratio:g} cannot be: give one above 0 and at most 1")
    total = int(peak_pages * (1.0 + SLACK_RATIO)) + 1
    dram = max(round(peak_pages * dram_ratio), 1)
    return Machine(dram, max(total - dram, 0), page_bytes)
