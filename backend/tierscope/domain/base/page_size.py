"""Sizes of pages: that of a host by what it says of itself, and the unit of models and traces.

Kernels of one release count in pages of different sizes: arm64 is built with 4, 16 or 64 KiB, POWER with 64 KiB mostly.
Nothing else in the service knows a size of a page by itself (`tests/architecture/test_page_size.py`).
"""

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

MODEL_PAGE_BYTES: Final = 4096
"""The unit of page traces, of the simulator's machines and of models of swap devices, whatever host they stand for."""
LARGEST_BASE_PAGE_BYTES: Final = 65536
"""No kernel that tiers memory has larger base pages: whatever is larger is a huge page."""
NOT_KNOWN: Final = (
    "The page size of the host is not known, so that pages are no bytes: MemFree of /proc/meminfo and nr_free_pages of "
    "/proc/vmstat together, or /proc/zoneinfo, would tell."
)

_ONE_SIZE = re.compile(r"^(x86_64|amd64|x86|i[3-6]86|s390x?|riscv(32|64)|armv\w+)$")
"""Architectures with base pages of 4 KiB alone."""
_ARCHITECTURE_SIZES: Final[Mapping[str, frozenset[int]]] = {
    "aarch64": frozenset({4096, 16384, 65536}),
    "arm64": frozenset({4096, 16384, 65536}),
    "ppc64": frozenset({4096, 65536}),
    "ppc64le": frozenset({4096, 65536}),
}
_ANY_SIZE = frozenset({4096, 8192, 16384, 32768, 65536})
_FLAVOUR = re.compile(r"[+-](4|16|64)kb?(?![0-9A-Za-z])", re.IGNORECASE)
"""Of releases: `5.14.0-427.el9.aarch64+64k`, `6.8.0-31-generic-64k`, `6.4.0-150600.21-64kb`."""
_EL_ARM = re.compile(r"\.el[78]\w*\.aarch64$")
"""Kernels of RHEL 7 and 8 for ARM have pages of 64 KiB; later releases name such a kernel."""
_PAIRS = (
    ("MemFree", "nr_free_pages"),
    ("AnonPages", "nr_anon_pages"),
    ("Mapped", "nr_mapped"),
    ("Shmem", "nr_shmem"),
    ("Active(anon)", "nr_active_anon"),
    ("Inactive(anon)", "nr_inactive_anon"),
    ("Active(file)", "nr_active_file"),
    ("Inactive(file)", "nr_inactive_file"),
)
"""One amount in kB in /proc/meminfo and in pages in /proc/vmstat (fs/proc/meminfo.c, mm/vmstat.c)."""
_UNANIMOUS = 3
"""So many amounts that agree go before what the architecture could have."""
_PAGES_MIN = 64
"""Fewer pages than these are no measure of their size."""
_NEAR = 0.3
"""How far the binary logarithm of a ratio may be from a whole number: both files are read one after the other."""
_NODE_SIZE = re.compile(r"^node:(\d+)\|meminfo\|MemTotal$")


@dataclass(frozen=True, slots=True)
class PageSize:
    """The bytes of a base page, and what says so."""

    bytes: int
    evidence: str


def page_bytes_of(inventory: Mapping[str, Any]) -> int | None:
    """The page size of an inventory (field names of the contract); None where it says none."""
    return int(inventory.get("page_size_bytes") or 0) or None


def bytes_of(pages: float | None, page_bytes: int | None) -> float | None:
    """Pages in bytes; None where either is not known."""
    return None if pages is None or page_bytes is None else pages * page_bytes


def sum_known(sizes: Iterable[float | None]) -> float | None:
    """The sum of sizes; None where one is not known."""
    found = list(sizes)
    known = [size for size in found if size is not None]
    return sum(known) if len(known) == len(found) else None


def huge_pages_of(page_bytes: int | None, huge_page_bytes: int | None = None) -> int:
    """Base pages of a transparent huge page: one table of page table entries at most, of eight bytes each.

    `huge_page_bytes`: what the host says of its huge pages. Those of 1 GiB are not transparent.
    """
    page = page_bytes or MODEL_PAGE_BYTES
    return max(min(huge_page_bytes or page * page // 8, page * page // 8) // page, 1)


def find_page_size(counters: Mapping[str, int], *, release: str, architecture: str) -> PageSize | None:
    """The page size of a host from its counters by key (meminfo in bytes), and from the names of its kernel.

    Amounts that the kernel prints in both units go before names, and decide nothing where they contradict each other.
    One alone may be a container's view beside its host's: it decides among what the architecture can have. The agent
    has the same rule for recordings (`crates/sample/src/inventory/page_size.rs`).
    """
    told: dict[int, list[str]] = {}
    for size, why in _sizes(counters):
        told.setdefault(size, []).append(why)
    if len(told) == 1 and all(len(whys) >= _UNANIMOUS for whys in told.values()):
        return _counted(told)
    if _ONE_SIZE.match(architecture):
        return PageSize(MODEL_PAGE_BYTES, f"{architecture} has no other")
    possible = _ARCHITECTURE_SIZES.get(architecture, _ANY_SIZE)
    told = {size: whys for size, whys in told.items() if size in possible}
    if len(told) > 1:
        return None
    return _counted(told) if told else _named(release, architecture)


def _counted(told: Mapping[int, Sequence[str]]) -> PageSize:
    size, whys = next(iter(told.items()))
    return PageSize(size, whys[0])


def _named(release: str, architecture: str) -> PageSize | None:
    if flavour := _FLAVOUR.search(release):
        return PageSize(int(flavour[1]) << 10, f"kernel release {release}")
    if _EL_ARM.search(release) and "uek" not in release:
        return PageSize(64 << 10, f"kernel release {release}")
    return PageSize(64 << 10, "the default of ppc64le") if architecture == "ppc64le" else None


def _sizes(counters: Mapping[str, int]) -> Iterator[tuple[int, str]]:
    """Sizes that pairs of amounts tell, with the names of the pair."""
    for meminfo, vmstat in _PAIRS:
        size = _size(counters.get(f"host|meminfo|{meminfo}"), counters.get(f"host|vmstat|{vmstat}"))
        if size is not None:
            yield size, f"{meminfo} of /proc/meminfo over {vmstat} of /proc/vmstat"
    for key, memory_bytes in counters.items():
        if node := _NODE_SIZE.match(key):
            zone = f"zone:{node[1]}/"
            managed = [
                pages
                for name, pages in counters.items()
                if name.startswith(zone) and name.endswith("|zoneinfo|managed")
            ]
            size = _size(memory_bytes, sum(managed))
            if size is not None:
                yield size, f"MemTotal of node {node[1]} over its managed pages of /proc/zoneinfo"


def _size(amount_bytes: int | None, pages: int | None) -> int | None:
    """The nearest power of two of a ratio, None where it is near to none."""
    if not amount_bytes or not pages or pages < _PAGES_MIN or amount_bytes < 0:
        return None
    power = math.log2(amount_bytes / pages)
    return 1 << round(power) if power > 0 and abs(power - round(power)) <= _NEAR else None
