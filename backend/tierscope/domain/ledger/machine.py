"""What a host's inventory says that the ledger and its verdict need: tiers, the size of the top one, settings."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from tierscope.domain.base.page_size import huge_pages_of, page_bytes_of
from tierscope.domain.counters.unsent import Sent, read_senders
from tierscope.domain.ledger.columns import MOVED
from tierscope.domain.ledger.doubt import doubt_plan, read_doubts
from tierscope.domain.ledger.plan import PickedPlan, Plan, Tiers, pick, plan_host, plan_service, why_column_unsent
from tierscope.domain.ledger.promotion_limit import count_promotion_nodes
from tierscope.domain.ledger.words import Context

FAST_TIERS = frozenset({"dram", "hbm"})
_GPU = "gpu"
_OF_PROCESS = re.compile(r"/proc/[0-9]+/")
_PLANS_KEPT = 20_000
"""A layout has one for each scope, and a fleet a layout for each set of services that share a host."""
_WHOLE_PLANS_KEPT = 2_000
"""Of the hosts and services that people look at: each keeps the names of a window's counters."""
_BALANCING = "kernel/numa_balancing"
_PROMOTE_LIMIT = "kernel/numa_balancing_promote_rate_limit_MBps"
_DEMOTION = "mm/numa/demotion_enabled"


@dataclass(frozen=True, slots=True)
class Machine:
    """None where the inventory does not say."""

    tiers: Tiers
    top_bytes: float | None
    slow_bytes: float | None
    promote_limit_mib_per_s: float | None
    balancing: int | None
    demotion: bool | None
    page_bytes: int | None
    huge_pages: int
    """Base pages of a transparent huge page."""
    senders: tuple[Sent, ...] = ()
    """Who sends the host's counters, where no agent of ours does."""
    has_slow_tier: bool | None = None
    promotion_nodes: int = 1
    doubts: tuple[str, ...] = ()
    """Files with problems, in words: what stands on one is not exact, and no verdict certain."""

    def plan(self, keys: Sequence[str], scope: str | None = None) -> Plan:
        """How the ledger of the whole host, or of one service's `scope` on it, is made of a layout's `keys`."""
        return _plan(tuple(keys), self.tiers, self.page_bytes, scope, self.senders, self.doubts)

    def pick(self, keys: tuple[str, ...], scope: str | None = None) -> PickedPlan:
        """The same over the places that it needs: one plan for all hosts whose kernels count alike."""
        return _pick(keys, self.tiers, self.page_bytes, scope, self.senders, self.doubts)

    def pick_each(
        self, keys: tuple[str, ...], services: Mapping[int, str]
    ) -> Iterator[tuple[int, str | None, PickedPlan]]:
        """Plans of the whole host (service 0, no scope) and then of those services that the layout counts apart."""
        yield 0, None, self.pick(keys)
        counted = _counted_scopes(keys)
        for service_id, scope in services.items():
            if scope in counted:
                yield service_id, scope, self.pick(keys, scope)

    def unsent(self, column: str) -> str | None:
        """Why nobody sends what a column of counters is made of; None where it comes, or the kernel lacks it."""
        return why_column_unsent(self.senders, column)

    def context(self, limit_events: int | None) -> Context:
        """What a verdict on the host's ledger needs to know beside it."""
        return Context(
            self.top_bytes,
            self.promote_limit_mib_per_s,
            limit_events,
            balancing=self.balancing,
            demotion=self.demotion,
            slow_bytes=self.slow_bytes,
            one_tier=bool(self.tiers.slow_nodes & self.tiers.top_nodes),
            has_slow_tier=self.has_slow_tier,
            promotion_nodes=self.promotion_nodes,
            page_bytes=self.page_bytes,
            huge_pages=self.huge_pages,
            unsent=next(filter(None, map(self.unsent, MOVED)), None),
            doubts=tuple(doubt for doubt in self.doubts if _OF_PROCESS.search(doubt) is None),
        )


@lru_cache(maxsize=_WHOLE_PLANS_KEPT)
def _plan(
    keys: tuple[str, ...],
    tiers: Tiers,
    page_bytes: int | None,
    scope: str | None,
    senders: tuple[Sent, ...],
    doubts: tuple[str, ...],
) -> Plan:
    if scope is None:
        plan = plan_host(keys, tiers, page_bytes=page_bytes, senders=senders)
    else:
        plan = plan_service(keys, [scope], tiers, senders=senders)
    return doubt_plan(plan, keys, doubts) if doubts else plan


@lru_cache(maxsize=_PLANS_KEPT)
def _counted_scopes(keys: tuple[str, ...]) -> frozenset[str]:
    """Scopes of services in a layout."""
    return frozenset(key.partition("|")[0] for key in keys if key.startswith("service:"))


@lru_cache(maxsize=_PLANS_KEPT)
def _pick(
    keys: tuple[str, ...],
    tiers: Tiers,
    page_bytes: int | None,
    scope: str | None,
    senders: tuple[Sent, ...],
    doubts: tuple[str, ...],
) -> PickedPlan:
    return pick(_plan(keys, tiers, page_bytes, scope, senders, doubts))


def read_machine(inventory: Mapping[str, Any] | None, problems: Sequence[str] = ()) -> Machine:
    """Read an inventory (field names of the contract). Without one the top tier is not known.

    `problems`: what was wrong with the files of a recording, where more is known than the inventory says.
    """
    body = inventory or {}
    nodes = [node for node in body.get("nodes", ()) if node.get("id") is not None and node.get("tier_class") != _GPU]
    top = _top_nodes(body, nodes)
    tiers = _tiers(nodes, top)
    sizes = {int(node["id"]): float(node.get("memory_bytes") or 0) for node in nodes}
    top_bytes = sum(size for node, size in sizes.items() if node in top - tiers.slow_nodes)
    demotion = _knob(body, _DEMOTION)
    return Machine(
        tiers=tiers,
        top_bytes=top_bytes or None,
        slow_bytes=(sum(sizes.values()) - top_bytes or None) if top else None,
        promote_limit_mib_per_s=_whole(_knob(body, _PROMOTE_LIMIT)),
        balancing=_whole(_knob(body, _BALANCING)),
        demotion=None if demotion is None else demotion.strip().lower() in ("1", "true", "y", "on"),
        page_bytes=page_bytes_of(body),
        huge_pages=huge_pages_of(page_bytes_of(body), body.get("huge_page_bytes")),
        has_slow_tier=bool(sizes.keys() - top) if top else None,
        promotion_nodes=count_promotion_nodes(nodes, top) or max(len(top), 1),
        senders=read_senders(body),
        doubts=tuple(dict.fromkeys((*read_doubts(body), *problems))),
    )


def _top_nodes(body: Mapping[str, Any], nodes: list[Mapping[str, Any]]) -> frozenset[int]:
    """The nodes of the fastest tier that the kernel ranks, and all of a fast class; without either the only node."""
    ranked = sorted(body.get("tiers", ()), key=lambda tier: int(tier.get("rank") or 0))
    fast = frozenset(int(node["id"]) for node in nodes if node.get("tier_class") in FAST_TIERS)
    if ranked and ranked[0].get("nodes"):
        ids = {int(node["id"]) for node in nodes}
        return fast | (ids & {int(node) for node in ranked[0]["nodes"]})
    return fast or (frozenset({int(nodes[0]["id"])}) if len(nodes) == 1 else frozenset())


def _tiers(nodes: list[Mapping[str, Any]], top: frozenset[int]) -> Tiers:
    slow = _slow_nodes(nodes, top)
    near = {int(node["id"]) for node in nodes if node.get("cpulist")}
    return Tiers(top, bool(top), slow, remote_is_slow=bool(slow) and len(near) == 1 and not near & slow)


def _slow_nodes(nodes: list[Mapping[str, Any]], top: frozenset[int]) -> frozenset[int]:
    """Nodes whose accesses are slow: of slower tiers, and those without processors beside nodes that have some."""
    if not top:
        return frozenset()
    far = {int(node["id"]) for node in nodes if not node.get("cpulist") and node.get("tier_class") != "hbm"}
    slow = {int(node["id"]) for node in nodes if int(node["id"]) not in top}
    return frozenset(slow if len(far) == len(nodes) else slow | far)


def _knob(body: Mapping[str, Any], path_end: str) -> str | None:
    for knob in body.get("knobs") or ():
        if str(knob.get("path", "")).endswith(path_end):
            value = knob.get("value")
            return None if value is None else str(value)
    return None


def _whole(text: str | None) -> int | None:
    try:
        return None if text is None else int(text)
    except ValueError:
        return None
