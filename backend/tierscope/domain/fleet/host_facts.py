"""What an inventory says about a host's memory and tiering, in the terms that figures need.

The body is the contract's Inventory with its field names; every part of it may be missing.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal

from tierscope.domain.ledger.machine import Machine, read_machine

HostState = Literal["reporting", "late", "silent", "retired"]
HostSort = Literal["name", "state", "seen", "memory", "promoted", "demoted", "psi", "trouble", "findings", "kernel"]
"""By what a list of hosts is put in order."""

FAST_CLASSES = ("hbm", "dram")
NOT_MEMORY = ("gpu", "zswap", "swap")
"""Classes that are neither DRAM nor a slower tier of the host: memory of GPUs is their programs'."""
LATE_INTERVALS = 3.0
SILENT_SECONDS = 600.0
NOMINAL_SECONDS = 60.0
_TIERING_BIT = 2


@dataclass(frozen=True, slots=True)
class HostFacts:
    """What a host has. None where its inventory does not say."""

    memory_bytes: int | None
    dram_bytes: int | None
    tier_classes: tuple[str, ...]
    n_tiers: int
    machine: Machine

    @property
    def one_tier(self) -> bool:
        """Whether it is known to have no second tier."""
        return self.machine.tiers.known and self.n_tiers == 1

    @property
    def has_slower_class(self) -> bool:
        """Whether a node is of a class slower than DRAM."""
        return bool({*self.tier_classes} - {"unknown", *FAST_CLASSES, *NOT_MEMORY})

    @property
    def tiering_off(self) -> bool | None:
        """Whether slower tiers exist and the kernel is told not to use them; None where it does not say."""
        if self.n_tiers <= 1 or not {*self.tier_classes} - {*FAST_CLASSES, *NOT_MEMORY}:
            return False
        demotion, balancing = self.machine.demotion, self.machine.balancing
        if demotion is False or (balancing is not None and not balancing & _TIERING_BIT):
            # Whether memory of which nothing tells what it is should be tiered, nobody can say.
            return True if self.has_slower_class else None
        return None if demotion is None or balancing is None else False


def read_facts(body: Mapping[str, Any] | None) -> HostFacts:
    """Read an inventory; None reads as one that says nothing."""
    body = body or {}
    nodes = list(body.get("nodes") or ())
    sizes = [node.get("memory_bytes") for node in nodes]
    known = [size for size in sizes if size is not None]
    dram = [node for node in nodes if node.get("tier_class") == "dram"]
    fast = [_own_bytes(node) for node in dram or nodes if node.get("tier_class") in FAST_CLASSES]
    classes = dict.fromkeys(str(node.get("tier_class") or "unknown") for node in nodes if node.get("memory_bytes") != 0)
    return HostFacts(
        memory_bytes=sum(known) if known else body.get("memory_bytes"),
        dram_bytes=sum(size for size in fast if size is not None) if fast else None,
        tier_classes=tuple(sorted(classes, key=_speed)),
        n_tiers=_count_tiers(nodes, list(body.get("tiers") or ())),
        machine=read_machine(body),
    )


def _own_bytes(node: Mapping[str, Any]) -> int | None:
    """A node's memory without what devices of another class brought into it."""
    size = node.get("memory_bytes")
    return None if size is None else int(size) - sum(int(part.get("bytes") or 0) for part in node.get("parts") or ())


def late_before(now: datetime) -> datetime:
    """A host that was last seen before this moment is late."""
    return now - timedelta(seconds=LATE_INTERVALS * NOMINAL_SECONDS)


def silent_before(now: datetime) -> datetime:
    """A host that was last seen before this moment is silent."""
    return now - timedelta(seconds=SILENT_SECONDS)


def find_state(now: datetime, last_seen: datetime | None, retired: datetime | None, held_seconds: int = 0) -> HostState:
    """Whether a host reports: late after three intervals without a batch, silent after ten minutes.

    `held_seconds`: how long its plan lets it hold samples back, which it may be away beyond that.
    """
    if retired is not None:
        return "retired"
    if last_seen is None:
        return "silent"
    due = last_seen + timedelta(seconds=held_seconds)
    if due < silent_before(now):
        return "silent"
    return "late" if due < late_before(now) else "reporting"


def _count_tiers(nodes: list[Any], tiers: list[Any]) -> int:
    """Tiers as the kernel ranks them, or by the classes of nodes where those tell more apart."""
    slow = {str(node.get("tier_class") or "unknown") for node in nodes} - {"unknown", *FAST_CLASSES, *NOT_MEMORY}
    fast = any(node.get("tier_class") in FAST_CLASSES for node in nodes)
    return max(len(tiers), len(slow) + fast, 1)


def _speed(tier_class: str) -> tuple[int, str]:
    order = ("hbm", "dram", "cxl", "pmem", "gpu", "zswap", "swap")
    return (order.index(tier_class) if tier_class in order else len(order), tier_class)
