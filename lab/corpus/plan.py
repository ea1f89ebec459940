"""What the corpus is to hold: one recording for each combination of kernel, memory layout, size, load and scanner."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, product
from typing import Literal

KERNELS = ("6.12", "7.2", "6.1")
"""In the order in which they are recorded."""
LAYOUTS = ("hmat", "nvdimm", "cxl")
"""How the kernel learns of the slow node: firmware tables at boot, an NVDIMM, an emulated CXL device."""
MOST_BYTES = 60_000
"""Of a packed recording."""


@dataclass(frozen=True, slots=True)
class Memory:
    """Memory of the guest, and how long an instruction takes it in layouts whose clock counts them.

    `slow_mib` is twice the DRAM, so that no load runs out of memory unless it is to swap.
    """

    name: str
    dram_mib: int
    slow_mib: int
    instruction_ns: Literal[8, 16] = 8


@dataclass(frozen=True, slots=True)
class Act:
    """A stretch of a load. `hot_ratio`: hot pages as a share of DRAM. `is_flooded`: a disk is read end to end beside.

    `move_s`: seconds between moves of the hot set, 0 for none. `is_filled`: other memory fills the slow node.
    """

    hot_ratio: float
    move_s: int
    seconds: int
    is_flooded: bool = False
    is_filled: bool = False


@dataclass(frozen=True, slots=True)
class Load:
    """What the guest runs, and under which settings of the kernel.

    `memory_ratio`: all its pages as a share of DRAM. `is_huge`: in huge pages. `balancing`: `numa_balancing`.
    `is_demoting`: `demotion_enabled`. `promote_limit_mib_per_s`: None leaves it as the kernel has it. `swap_ratio`:
    compressed memory to swap to (zram), as a share of DRAM before it is compressed; 0 for none.
    """

    name: str
    memory_ratio: float
    acts: tuple[Act, ...]
    is_huge: bool = False
    balancing: int = 2
    is_demoting: bool = True
    promote_limit_mib_per_s: int | None = None
    swap_ratio: float = 0.0


@dataclass(frozen=True, slots=True)
class Scanner:
    """How fast the kernel looks for hot pages; `None` leaves a setting as the kernel has it."""

    name: str
    scan_period_max_ms: int | None = None
    hot_threshold_ms: int | None = None
    watermark_scale_factor: int | None = None


MEMORIES = (Memory("small", 384, 768), Memory("large", 768, 1536), Memory("slower", 256, 512, instruction_ns=16))
SCANNERS = (
    Scanner("default"),
    Scanner("fast", scan_period_max_ms=1_000, hot_threshold_ms=5_000, watermark_scale_factor=100),
)
LOADS = (
    Load("moves-slower", 1.5, (Act(0.35, 40, 80),)),
    Load("moves-faster", 1.5, (Act(0.35, 5, 80),)),
    Load("still-too-large", 1.5, (Act(1.2, 0, 80),)),
    Load("flood-beside-moves", 1.2, (Act(0.35, 20, 80, is_flooded=True),)),
    Load("two-acts", 1.5, (Act(0.3, 0, 50), Act(0.35, 10, 50))),
    Load("huge-pages", 1.3, (Act(0.4, 40, 80),), is_huge=True),
    Load("slow-node-full", 1.5, (Act(0.35, 20, 60, is_filled=True),)),
    Load("promotion-limited", 1.5, (Act(0.7, 0, 25),), promote_limit_mib_per_s=1),
    Load("moves-limited", 1.5, (Act(0.7, 12, 25),), promote_limit_mib_per_s=1),
    Load("swapping", 3.1, (Act(0.7, 12, 80),), swap_ratio=2.0),
    Load("balancing-only", 1.5, (Act(0.35, 12, 25),), balancing=1, is_demoting=False),
    Load("tiering-off", 1.5, (Act(0.35, 12, 25),), balancing=0, is_demoting=False),
)
"""A pass of the fast scanner takes a few seconds: sets move slower than it, and faster.

Of loads that share a boot those without demotion come last: kswapd gives up where it can free nothing, and what runs
after them finds it so.
"""


@dataclass(frozen=True, slots=True)
class Scenario:
    kernel: str
    layout: str
    memory: Memory
    load: Load
    scanner: Scanner

    @property
    def name(self) -> str:
        """Says all that was chosen, and names the file."""
        return f"{self.kernel}-{self.layout}-{self.memory.name}-{self.load.name}-{self.scanner.name}"

    @property
    def seconds(self) -> int:
        """How long the load runs, in the guest's time."""
        return sum(act.seconds for act in self.load.acts)


def matrix() -> Iterator[Scenario]:
    """Yield all recordings of the corpus, the most telling ones first: each load on one guest, then on the others."""
    for memory, layout, kernel, scanner, load in product(MEMORIES, LAYOUTS, KERNELS, reversed(SCANNERS), LOADS):
        # In mode 1 the scanner arms pages of both nodes, and 6.1 hides where an armed page is.
        if (kernel, load.balancing) != ("6.1", 1):
            yield Scenario(kernel, layout, memory, load, scanner)


def choose(
    scenarios: Sequence[Scenario], done: frozenset[str], *, only: Sequence[str] = (), limit: int | None = None
) -> list[Scenario]:
    """Return what to record: what is not `done`, of the names that begin with one of `only`, at most `limit`."""
    wanted = [
        scenario
        for scenario in scenarios
        if scenario.name not in done and (not only or scenario.name.startswith(tuple(only)))
    ]
    return wanted[:limit]


def by_guest(scenarios: Sequence[Scenario]) -> list[list[Scenario]]:
    """Return the scenarios by the boot that records them: neighbours that differ in load and scanner share one.

    Those that leave the scanner as it is come first.
    """

    def guest(scenario: Scenario) -> tuple[str, str, Memory]:
        return scenario.kernel, scenario.layout, scenario.memory

    def is_set(scenario: Scenario) -> bool:
        return scenario.scanner.scan_period_max_ms is not None

    return [sorted(group, key=is_set) for _, group in groupby(scenarios, key=guest)]
