"""What is right to say of a machine, written down from documentation before the product is asked."""

from collections.abc import Mapping
from dataclasses import dataclass

from machines.trees import Machine

ABOUT_MEMORY = frozenset(
    {
        "container-view",
        "count-above-memory",
        "count-below-zero",
        "cpuless-node-in-top-tier",
        "cxl-persistent-only",
        "demotion-off",
        "device-memory-idle",
        "faster-memory-above-dram",
        "faster-memory-below-dram",
        "file-not-understood",
        "gpu-driver",
        "gpu-memory-node",
        "hot-pages-in-a-circle",
        "large-slow-tier",
        "lower-tier-not-known",
        "memory-ballooned",
        "memory-offline",
        "memory-standby",
        "mixed-node",
        "no-cgroup-v2",
        "no-memory-controller",
        "no-pressure",
        "not-in-tree",
        "one-tier",
        "promotion-off",
        "tiering-mode-without-tier",
        "user-space-mover",
    }
)
"""Findings that bear on what memory is and on what the kernel makes of it; others are not judged here."""


@dataclass(frozen=True, slots=True)
class Right:
    """Classes of nodes with memory, sizes in GiB, findings of ABOUT_MEMORY; `dram` None where no figure may be made."""

    classes: Mapping[int, str]
    dram: float | None
    tiering: str
    state: str
    findings: frozenset[str] = frozenset()
    slower: float = 0
    faster: float = 0
    gpu: float = 0
    unknown: float = 0
    certain: frozenset[str] = frozenset()
    likely: frozenset[str] = frozenset()
    likely_nodes: frozenset[str] = frozenset()
    certain_nodes: frozenset[str] = frozenset()
    """Findings that are certain, and that are not, and nodes whose class is not, and is; others may be either."""
    page_kib: int | None = None
    """Size of a base page, where the files tell it."""
    needed_at_least: float | None = None
    """The bound from below of the DRAM that is needed, in GiB, where programs hold far less than is in use."""
    in_use: float | None = None
    """Memory in use, in GiB, where a count that is wrong could tell another size."""
    hypervisor: str | None = None
    """What the machine is said to run on, where its files tell."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of machine, with the document that says what it shows."""

    name: str
    source: str
    machine: Machine
    right: Right


def ids(*names: str) -> frozenset[str]:
    return frozenset(names)


def dram_on(*nodes: int) -> dict[int, str]:
    """Return the classes of a host that has nothing but DRAM."""
    return dict.fromkeys(nodes, "dram")
