"""What a host's inventory says that the ledger needs: its tiers, the size of the top one, the promotion limit."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tierscope.domain.tier_moves.plan import Tiers

FAST_TIERS = frozenset({"dram", "hbm"})
_PROMOTE_LIMIT = "kernel/numa_balancing_promote_rate_limit_MBps"


@dataclass(frozen=True, slots=True)
class Machine:
    """None where the inventory does not say."""

    tiers: Tiers
    top_bytes: float | None
    promote_limit_mib_per_s: float | None


def read_machine(inventory: Mapping[str, Any] | None) -> Machine:
    """Read an inventory (field names of the contract). Without one the top tier is not known."""
    body = inventory or {}
    nodes = [node for node in body.get("nodes", ()) if node.get("id") is not None]
    top = _top_nodes(body, nodes)
    sizes = [float(node.get("memory_bytes") or 0) for node in nodes if int(node["id"]) in top]
    return Machine(Tiers(top, bool(top)), sum(sizes) or None, _promote_limit(body))


def _top_nodes(body: Mapping[str, Any], nodes: list[Mapping[str, Any]]) -> frozenset[int]:
    """The nodes of the fastest tier that the kernel ranks, else those whose class is fast, else the only one."""
    ranked = sorted(body.get("tiers", ()), key=lambda tier: int(tier.get("rank") or 0))
    if ranked and ranked[0].get("nodes"):
        return frozenset(int(node) for node in ranked[0]["nodes"])
    fast = frozenset(int(node["id"]) for node in nodes if node.get("tier_class") in FAST_TIERS)
    return fast or (frozenset({int(nodes[0]["id"])}) if len(nodes) == 1 else frozenset())


def _promote_limit(body: Mapping[str, Any]) -> float | None:
    for knob in body.get("knobs", ()):
        if str(knob.get("path", "")).endswith(_PROMOTE_LIMIT):
            try:
                return float(knob["value"])
            except (TypeError, ValueError, KeyError):
                return None
    return None
