"""What an inventory says of a host's settings, tiers and measured bandwidth."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tierscope.domain.base.page_size import NOT_KNOWN
from tierscope.domain.fleet.host_facts import NOT_MEMORY, HostFacts, read_facts
from tierscope.domain.fleet.settings import selected
from tierscope.domain.knobs.facts import DAMON_MTIER, DEMOTE_SCALE, LRU_GEN, Host, SwapDrive
from tierscope.domain.ledger import count_promotion_nodes

Body = Mapping[str, Any]

GB = 1e9
MIB = 1 << 20
_POLICIES = ("membind", "policy-passed-over")
_LACKS_BALANCING = "built without NUMA balancing"
"""The agent's words for a kernel that has nothing to promote with but DAMON."""
NOT_THERE = "no such setting"
"""The agent's words for a setting that does not exist, as against one that it may not read."""


@dataclass(frozen=True, slots=True)
class SubtractedMemory:
    """Memory that no setting moves: what it is, its bytes where known, and why it stays or why it is not known."""

    what: str
    bytes: float | None
    why: str


def read_host(inventory: Body | None) -> Host:
    """The host as its inventory tells; what only counters tell is left None."""
    body = inventory or {}
    facts = read_facts(body)
    nodes = {int(node["id"]): node for node in body.get("nodes") or () if node.get("id") is not None}
    top = [number for number in sorted(nodes) if number in facts.machine.tiers.top_nodes]
    slow = [
        number
        for number in sorted(nodes)
        if number not in facts.machine.tiers.top_nodes
        and _size(nodes[number]) != 0
        and nodes[number].get("tier_class") not in NOT_MEMORY
    ]
    benches = list(body.get("benches") or ())
    knobs = read_knobs(body)
    promoted_to = count_promotion_nodes(nodes.values(), top)
    ways = _damon_ways(body, knobs, slow)
    # An agent lists every setting that it knows, with the reason where a kernel has none; other senders list few.
    told = any(knob.get("path") == LRU_GEN for knob in body.get("knobs") or ())
    return Host(
        knobs=knobs,
        has_slow_tier=_has_slow_tier(facts, slow),
        sockets=max(promoted_to, 1),
        is_tpp=DEMOTE_SCALE in knobs,
        top_nodes=tuple(top),
        slow_nodes=tuple(slow),
        dram_bytes=facts.dram_bytes,
        slow_bytes=_total([_size(nodes[number]) for number in slow]),
        unmovable_bytes=_unmovable(body, top, facts.machine.page_bytes),
        dram_gb_per_s=_bandwidth(nodes, top, benches, "read"),
        slow_gb_per_s=_bandwidth(nodes, slow, benches, "read"),
        slow_write_gb_per_s=_bandwidth(nodes, slow, benches, "write"),
        bandwidth_measured=any(bench.get("memory_node") in slow for bench in benches),
        swap_drives=read_swap_drives(body),
        kernel_release=str(body.get("kernel_release") or ""),
        slow_classes=tuple(str(nodes[number].get("tier_class") or "") for number in slow),
        promotion_nodes=promoted_to or None,
        cpus=body.get("cpus_online") or None,
        damon_promotes="promotes" in ways,
        damon_demotes="demotes" in ways,
        damon_spreads="spreads" in ways,
        barring=_cause(body, "cpuset-bars-slow-tier"),
        mover=_cause(body, "user-space-mover"),
        bound=" and ".join(filter(None, (_cause(body, name) for name in _POLICIES))) or None,
        gpus=_cause(body, "gpu-driver"),
        policies_seen=told and _sees_policies(body),
        gave_up=_cause(body, "kswapd-gave-up") is not None,
        pages_out="pages_out" in ways,
        cannot_promote=_LACKS_BALANCING in (_cause(body, "promotion-off") or ""),
        cgroup_version=str(body.get("cgroup_version") or ""),
        processes_seen=told and bool(body.get("services")),
        agent_told=told,
        page_bytes=facts.machine.page_bytes,
    )


def _findings(body: Body, name: str) -> list[Body]:
    return [finding for finding in body.get("findings") or () if finding.get("id") == name and finding.get("cause")]


def _cause(body: Body, name: str) -> str | None:
    return next((finding["cause"] for finding in _findings(body, name)), None)


def _sees_policies(body: Body) -> bool:
    """On its own host, with the right to look at processes of others."""
    limited = any(finding.get("id") == "limited-rights" for finding in body.get("findings") or ())
    return bool(body.get("services")) and not body.get("tree") and not limited


_MIGRATES = re.compile(r"migrate_(hot|cold)(?: to (?:node ([0-9]+)|(several) nodes))?")


def _damon_ways(body: Body, knobs: Mapping[str, str | None], slow: Sequence[int]) -> frozenset[str]:
    """Which ways DAMON moves pages: the agent's finding on DAMON lists what each scheme does, and to which nodes.

    The node decides; the action does where the node is not told.
    """
    ways = {"promotes", "demotes"} if any(knobs.get(path) in ("Y", "1") for path in DAMON_MTIER) else set()
    for finding in _findings(body, "damon-in-use"):
        cause = str(finding["cause"])
        for heat, node, several in _MIGRATES.findall(cause):
            down = int(node) in slow if node else bool(several) or heat == "cold"
            ways.add("promotes" if not down else "spreads" if heat == "hot" else "demotes")
        if "pageout" in cause or "damon_reclaim" in cause:
            ways.add("pages_out")
    return frozenset(ways)


def read_swap_drives(inventory: Body | None) -> tuple[SwapDrive, ...]:
    """The swap areas that the host lists."""
    drives = []
    for swap in (inventory or {}).get("swaps") or ():
        size, used = swap.get("size_bytes"), swap.get("used_bytes")
        drives.append(
            SwapDrive(
                name=str(swap.get("name") or ""),
                kind=str(swap.get("kind") or ""),
                used_ratio=used / size if size and used is not None else None,
                zoned=swap.get("zoned"),
                rotational=swap.get("rotational"),
                discard=swap.get("discard"),
            )
        )
    return tuple(drives)


def read_knobs(inventory: Body | None) -> dict[str, str | None]:
    """The settings that exist, by path, as they are written; None for one that cannot be read."""
    found: dict[str, str | None] = {}
    for knob in (inventory or {}).get("knobs") or ():
        path, value = knob.get("path"), knob.get("value")
        if path and (value is not None or NOT_THERE not in str(knob.get("unavailable") or "")):
            found[str(path)] = None if value is None else selected(str(value))
    return found


def is_unsupported(knobs: Sequence[Body], path: str) -> bool:
    """Whether the host said that its kernel has no such setting."""
    return any(knob.get("path") == path and NOT_THERE in str(knob.get("unavailable") or "") for knob in knobs)


def list_subtracted(inventory: Body | None) -> tuple[SubtractedMemory, ...]:
    """What stays where it is, whatever is advised, in DRAM."""
    body = inventory or {}
    facts = read_facts(body)
    rows = [row for row in body.get("unmovable") or () if row.get("node") in facts.machine.tiers.top_nodes]
    named = (
        ("hugetlb", "hugetlb_bytes", 1, "Reserved huge pages are neither demoted nor promoted."),
        ("mlock", "mlocked_bytes", 1, "Locked memory is unevictable: it is not demoted."),
        ("pinned", "pinned_pages", facts.machine.page_bytes, "Pinned pages cannot be moved while devices use them."),
    )
    found = []
    for what, field, unit, why in named:
        known = [row[field] for row in rows if row.get(field) is not None]
        if known and unit is not None:
            found.append(SubtractedMemory(what, float(sum(known)) * unit, why))
        else:
            found.append(SubtractedMemory(what, None, NOT_KNOWN if known else _NOT_TOLD))
    return (*found, SubtractedMemory("memory policies and cpusets", None, _bindings(body)))


_NOT_TOLD = "The host does not say how much of it there is."
_BINDINGS = "How much is bound to nodes by numactl, NUMAPolicy= or cpuset.mems is not collected."


def _bindings(body: Body) -> str:
    found = [cause for name in (*_POLICIES, "cpuset-bars-slow-tier") if (cause := _cause(body, name)) is not None]
    return " ".join([_BINDINGS, *(f"{cause[:1].upper()}{cause[1:]}." for cause in found)])


def _has_slow_tier(facts: HostFacts, slow: Sequence[int]) -> bool:
    return facts.machine.tiers.known and bool(slow) and facts.n_tiers > 1


def _size(node: Body) -> int | None:
    size = node.get("memory_bytes")
    return None if size is None else int(size)


def _total(sizes: Sequence[int | None]) -> float | None:
    known = [size for size in sizes if size is not None]
    return float(sum(known)) if known and len(known) == len(sizes) else None


def _unmovable(body: Body, top: Sequence[int], page_bytes: int | None) -> float | None:
    known = [
        float(row.get(field) or 0) * unit
        for row in body.get("unmovable") or ()
        if row.get("node") in top
        for field, unit in (("hugetlb_bytes", 1), ("mlocked_bytes", 1), ("pinned_pages", page_bytes))
        if row.get(field) is not None and unit is not None
    ]
    return sum(known) if known else None


def _bandwidth(nodes: Mapping[int, Body], chosen: Sequence[int], benches: Sequence[Body], way: str) -> float | None:
    """GB/s of these nodes together: the best that was measured of each, else what firmware states."""
    total = 0.0
    for number in chosen:
        measured = [
            float(figure["median"])
            for bench in benches
            if bench.get("memory_node") == number
            for figure in bench.get("figures") or ()
            if figure.get("name") == f"{way}_bandwidth"
        ]
        stated = nodes[number].get(f"{way}_bandwidth_mib_per_s")
        if measured:
            total += max(measured) / GB
        elif stated:
            total += float(stated) * MIB / GB
        else:
            return None
    return total or None
