"""What the promotion rate limit lets pass: it holds for each destination node (kernel/sched/fair.c, 6.1)."""

from collections.abc import Collection, Iterable, Mapping
from typing import Any

MIB = 1 << 20


def limited_bytes_per_s(limit_mib_per_s: float, nodes: int) -> float:
    """Bytes a second that a host may promote to so many nodes, each of which has the limit for itself."""
    return limit_mib_per_s * MIB * max(nodes, 1)


def count_promotion_nodes(nodes: Iterable[Mapping[str, Any]], top_nodes: Collection[int]) -> int:
    """How many nodes of an inventory take promotions: a page goes to the node of the processor that touched it.

    0 where the inventory does not say.
    """
    return sum(
        node.get("id") in top_nodes
        and bool(str(node.get("cpulist") or "").strip())
        and node.get("memory_bytes") not in (0, "0")
        for node in nodes
    )
