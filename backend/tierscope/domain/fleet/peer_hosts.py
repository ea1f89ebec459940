"""Which hosts are alike: the same kind of machine, memory ratio, kernel family and agent."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from tierscope.domain.fleet.host_facts import FAST_CLASSES, NOT_MEMORY

SKU_LABELS = ("sku", "instance_type", "instance-type", "node.kubernetes.io/instance-type", "machine_type")
_KERNEL = re.compile(r"^(\d+)\.(\d+)")
_GIB = 2**30
_CLOSE = 0.15
_WHOLE = 32


@dataclass(frozen=True, slots=True, order=True)
class LikeKey:
    """What peer hosts have in common. "" where a host does not say: those are alike in not saying."""

    sku: str
    ratio: str
    kernel: str
    agent_version: str

    def difference(self, other: "LikeKey") -> str:
        """In words, in what `self` differs from `other`; "" where it does not."""
        names = (("sku", "machine"), ("ratio", "DRAM ratio"), ("kernel", "kernel"), ("agent_version", "agent"))
        parts = [
            f"{label} {getattr(self, name) or 'unknown'} instead of {getattr(other, name) or 'unknown'}"
            for name, label in names
            if getattr(self, name) != getattr(other, name)
        ]
        return ", ".join(parts)


def like_key(labels: Mapping[str, str], inventory: Mapping[str, Any] | None, agent_version: str | None) -> LikeKey:
    """The key of a host from its labels and its inventory (field names of the contract)."""
    body = inventory or {}
    return LikeKey(_sku(labels, body), _ratio(body), _kernel(body), agent_version or "")


def told_key(of_inventory: LikeKey | None, labels: Mapping[str, str], agent_version: str | None) -> LikeKey:
    """The key of a host from what its inventory alone says (None: it has none), its labels and its agent."""
    told = like_key(labels, None, agent_version)
    return (
        told
        if of_inventory is None
        else replace(told, sku=told.sku or of_inventory.sku, ratio=of_inventory.ratio, kernel=of_inventory.kernel)
    )


def _sku(labels: Mapping[str, str], body: Mapping[str, Any]) -> str:
    for label in SKU_LABELS:
        if labels.get(label):
            return str(labels[label])
    sizes = [int(node.get("memory_bytes") or 0) for node in body.get("nodes") or ()]
    model = str(body.get("cpu_model") or "")
    if not model and not sum(sizes):
        return ""
    # The kernel keeps some memory for itself, a little more or less by version: 511 GiB and 512 GiB are one machine.
    gib = round(sum(sizes) / _GIB / 4) * 4 if sum(sizes) > _WHOLE * _GIB else round(sum(sizes) / _GIB)
    return f"{model or 'unknown processor'}, {gib} GiB"


def _ratio(body: Mapping[str, Any]) -> str:
    """DRAM to slower memory as small whole numbers, such as `8:1`; `1:0` without slower memory."""
    fast = slow = 0
    for node in body.get("nodes") or ():
        tier, size = str(node.get("tier_class") or "unknown"), int(node.get("memory_bytes") or 0)
        if tier in FAST_CLASSES:
            fast += size
        elif tier not in (*NOT_MEMORY, "unknown"):
            slow += size
    if not fast and not slow:
        return ""
    if not slow:
        return "1:0"
    if not fast:
        return "0:1"
    return _small(fast / slow)


def _small(share: float) -> str:
    """The nearest ratio of small whole numbers within 15 per cent, else one decimal."""
    for small in (1, 2, 3):
        for big in range(1, 33):
            for first, second in ((big, small), (small, big)):
                if abs(share / (first / second) - 1) <= _CLOSE / 2:
                    return f"{first}:{second}"
    return f"{share:.1f}:1" if share >= 1 else f"1:{1 / share:.1f}"


def _kernel(body: Mapping[str, Any]) -> str:
    found = _KERNEL.match(str(body.get("kernel_release") or ""))
    return f"{found[1]}.{found[2]}" if found else ""
