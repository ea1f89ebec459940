"""From a counter layout to a plan: which places of the layout make each column, in which dialect, with which trust.

Dialects are told by the names that exist, never by a version: distributions backport counters.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from tierscope.domain.base.page_size import MODEL_PAGE_BYTES, NOT_KNOWN
from tierscope.domain.counters.monotonic import Ints
from tierscope.domain.counters.senders import NOT_WHOLE, is_whole
from tierscope.domain.counters.unsent import Sent, find_doubt, why_unsent
from tierscope.domain.ledger.columns import COLUMN_INDEX, COLUMNS, DAMON, LOADS, TRAFFIC, Column, Dialect, Terms, Trust

_LRU: Final[Mapping[str, frozenset[str]]] = {
    "vmstat": frozenset({"nr_inactive_anon", "nr_active_anon", "nr_inactive_file", "nr_active_file"}),
    "meminfo": frozenset({"Inactive(anon)", "Active(anon)", "Inactive(file)", "Active(file)"}),
}
"""The LRU lists of a node: in pages in its vmstat, in bytes in its meminfo."""
NO_TRAFFIC = "No counters of bytes at both fast and slow memory."
NO_SLOW_NODE = "The host has no slow node."
NO_GAUGE = "No node of this tier, or no counters of its LRU lists."
_NUMA_STAT = re.compile(r"^(anon|file)\[N(\d+)\]$")
_REMOTE = "loads_dram_remote"
_CXL_BYTES = re.compile(r"^host\|cxl_pmu\|(?:read|write)_bytes\[")
_DAMOS = re.compile(r"^host\|damos\|sz_applied\[.*\.(?:(pageout)|migrate_(?:hot|cold)\.N(\d+))\]$")
NO_DAMON = "No scheme of DAMON does this, or its statistics were not readable."
UNKNOWN_TIERS = "The host did not say which node is in which tier."
_TPP_MARKS = (
    "pgpromote_candidate_demoted",
    "pgpromote_tried",
    "pgmigrate_fail_dst_node_full",
    "pgmigrate_dst_node_full_fail",
)


@dataclass(frozen=True, slots=True)
class Tiers:
    """Which NUMA nodes form the top tier. `known` is False where the host did not say and all nodes count as top.

    `slow_nodes`: nodes whose accesses are slow. A node without processors is one though the kernel ranks it with DRAM.
    `remote_is_slow`: one node alone has processors, and all others are slow.
    """

    top_nodes: frozenset[int]
    known: bool
    slow_nodes: frozenset[int] = frozenset()
    remote_is_slow: bool = False


@dataclass(frozen=True, slots=True)
class ColumnPlan:
    """How one column is made of places in a layout. No `plus` means that the column is not supported there.

    `scale` is what a counter's unit is in the column's: bytes per page of a gauge whose counters are in pages.
    """

    column: Column
    plus: tuple[int, ...]
    minus: tuple[int, ...]
    counters: tuple[str, ...]
    trust: Trust
    note: str
    scale: int = 1


@dataclass(frozen=True, slots=True)
class Plan:
    """How the ledger of one scope is made of one layout."""

    dialect: Dialect
    variant: str
    columns: tuple[ColumnPlan, ...]


Likeness = tuple[object, ...]
"""Equal for plans that make the same columns of the same places of what they pick."""


@dataclass(frozen=True, slots=True)
class PickedPlan:
    """A plan over the places that it picks out of a layout: `columns` counts places within `places` [k]."""

    plan: Plan
    places: Ints
    columns: tuple[ColumnPlan, ...]
    likeness: Likeness


def pick(plan: Plan) -> PickedPlan:
    """What a plan needs of its layout."""
    wanted = sorted({place for column in plan.columns for place in (*column.plus, *column.minus)})
    at = {place: position for position, place in enumerate(wanted)}
    columns = tuple(
        replace(column, plus=tuple(at[p] for p in column.plus), minus=tuple(at[p] for p in column.minus))
        for column in plan.columns
    )
    made = tuple((column.plus, column.minus, column.scale) for column in columns)
    return PickedPlan(plan, np.array(wanted, np.int64), columns, (len(wanted), made))


def find_dialect(keys: Sequence[str]) -> tuple[Dialect, str]:
    """Return the dialect and, in words, what sets this kernel's counters apart."""
    host = {key.removeprefix("host|vmstat|") for key in keys if key.startswith("host|vmstat|")}
    if any(mark in host for mark in _TPP_MARKS):
        return "tpp", "TPP patches: moves by kind, events instead of pages"
    if "pgdemote_kswapd" not in host and "pgpromote_success" not in host:
        return "none", "no counters of tier moves"
    traits = []
    if "pgdemote_khugepaged" not in host:
        traits.append("no pgdemote_khugepaged")
    if not any("|vmstat|pgdemote_" in key and key.startswith("node:") for key in keys):
        traits.append("demotions for the whole host only")
    if "pgdemote_proactive" in host:
        traits.append("proactive demotions apart")
    if "pgpromote_candidate_nrl" in host:
        traits.append("candidates without rate limit apart")
    return "mainline", "mainline" + (": " + ", ".join(traits) if traits else "")


def plan_host(keys: Sequence[str], tiers: Tiers, *, page_bytes: int | None, senders: Sequence[Sent] = ()) -> Plan:
    """Plan the ledger of the whole host over a layout's `keys`. `page_bytes`: what its kernel counts LRU lists in.

    Where that is not known or unusual, and where vmstat does not have them, the lists are taken in bytes from the
    nodes' meminfo: so they do not depend on what told the size.
    `senders`: who sends its counters, where no agent does.
    """
    dialect, variant = find_dialect(keys)
    index = {key: place for place, key in enumerate(keys)}
    columns = []
    for column in COLUMNS:
        if column.gauge:
            columns.append(_plan_host_gauge(column, index, tiers, page_bytes))
            continue
        if column.key in TRAFFIC:
            columns.append(_plan_traffic(column, index, tiers))
            continue
        if column.key in DAMON:
            columns.append(_plan_damon(column, index, tiers))
            continue
        terms = column.tpp if dialect == "tpp" and column.tpp is not None else column.host
        columns.append(_plan_terms(column, terms, index, ("host",)))
        if columns[-1].trust == "not_supported" and column.summed in index:
            name = column.summed.rpartition("|")[2]
            columns[-1] = ColumnPlan(column, (index[column.summed],), (), (name,), "exact", terms.note)
    return Plan(dialect, variant, tuple(_unsent(column, tiers, keys, senders) for column in columns))


def why_column_unsent(senders: Sequence[Sent], column: str) -> str | None:
    """Why nobody sends what a column of counters is made of; None where it comes, or the kernel lacks it."""
    one = COLUMNS[COLUMN_INDEX[column]]
    keys = [f"host|{one.host.source}|{name}" for name in one.host.names]
    found = why_unsent(senders, keys) if keys else None
    if found is not None and found.setting is None and one.summed:
        # A release that prints the sum of all is the way to what no release prints by parts.
        summed = why_unsent(senders, [one.summed])
        found = summed if summed is not None and summed.setting else found
    return None if found is None else found.reason


def _is_unsent(senders: Sequence[Sent], terms: Terms, name: str) -> bool:
    return why_unsent(senders, [f"host|{terms.source}|{name}"]) is not None


def _unsent(plan: ColumnPlan, tiers: Tiers, keys: Sequence[str], senders: Sequence[Sent]) -> ColumnPlan:
    """A column that nobody sends as just that: whether the kernel counts it is not known."""
    terms = plan.column.host
    if plan.plus and plan.trust == "exact" and not plan.column.gauge and (doubt := find_doubt(senders)):
        plan = replace(plan, trust="sampled", note=f"{plan.note} {doubt}".strip())
    if terms.any_of and plan.plus and plan.counters[0] in terms.names:
        # A sum of what comes of several counters: some may be counted and not sent.
        left_out = [name for name in terms.names if name not in plan.counters and _is_unsent(senders, terms, name)]
        note = f"{plan.note} Not sent, and not in it: {', '.join(left_out)}.".strip()
        return replace(plan, trust="partial", note=note) if left_out else plan
    if plan.trust != "not_supported" or (terms.trust == "not_supported" and not plan.column.gauge):
        return plan
    if not senders:
        is_cut = terms.source == "vmstat" and not plan.column.gauge and not is_whole(keys)
        return replace(plan, trust="not_collected", note=NOT_WHOLE) if is_cut else plan
    if not plan.column.gauge:
        reason = why_column_unsent(senders, plan.column.key)
        return plan if reason is None else replace(plan, trust="not_collected", note=reason)
    if not tiers.known:
        wanted = ["node:0|meminfo|MemTotal"]
    elif any(key.endswith("|vmstat|nr_active_anon") for key in keys):
        return plan
    else:
        wanted = ["node:0|vmstat|nr_active_anon"]
    found = why_unsent(senders, wanted)
    return plan if found is None else replace(plan, trust="not_collected", note=found.reason)


def plan_service(keys: Sequence[str], scopes: Sequence[str], tiers: Tiers, *, senders: Sequence[Sent] = ()) -> Plan:
    """Plan the ledger of a service over the cgroup `scopes` that belong to it (`cgroup:<path>`)."""
    dialect, variant = find_dialect(keys)
    index = {key: place for place, key in enumerate(keys)}
    columns = []
    for column in COLUMNS:
        if column.gauge:
            columns.append(_plan_service_gauge(column, index, scopes, tiers))
        elif column.key in TRAFFIC:
            columns.append(_plan_traffic(column, index, tiers, of_service=True))
        elif column.key in LOADS:
            columns.append(_plan_loads(column, index, tiers, scopes))
        elif column.service is None:
            note = "The kernel keeps no such counter per cgroup."
            columns.append(ColumnPlan(column, (), (), (), "not_supported", note))
        else:
            columns.append(_plan_terms(column, column.service, index, scopes))
            if columns[-1].trust == "not_supported" and column.service.trust != "not_supported":
                found = why_unsent(senders, [f"service|{column.service.source}|"])
                if found is not None:
                    columns[-1] = replace(columns[-1], trust="not_collected", note=found.reason)
    return Plan(dialect, variant, tuple(columns))


def _plan_terms(column: Column, terms: Terms, index: dict[str, int], scopes: Sequence[str]) -> ColumnPlan:
    plus: list[int] = []
    minus: list[int] = []
    used: list[str] = []
    for scope in scopes:
        found = [(name, index.get(f"{scope}|{terms.source}|{name}")) for name in terms.names]
        needed = found[:1] if terms.any_of else found
        taken = [(name, index.get(f"{scope}|{terms.source}|{name}")) for name in terms.minus]
        if not found or any(place is None for _, place in (*needed, *taken[: terms.minus_needed])):
            continue
        plus += [place for _, place in found if place is not None]
        used += [name for name, place in found if place is not None]
        minus += [place for _, place in taken if place is not None]
        used += [f"-{name}" for name, place in taken if place is not None]
    if not plus:
        note = terms.note if terms.trust == "not_supported" else terms.missing
        return ColumnPlan(column, (), (), terms.names, "not_supported", note)
    return ColumnPlan(column, tuple(plus), tuple(minus), tuple(dict.fromkeys(used)), terms.trust, terms.note)


def _plan_traffic(column: Column, index: dict[str, int], tiers: Tiers, *, of_service: bool = False) -> ColumnPlan:
    """Bytes at memory controllers by node, and at CXL devices, which the kernel counts for the host alone."""
    nodes: dict[int, list[int]] = {}
    for key, place in index.items():
        scope, _, rest = key.partition("|")
        node = scope.removeprefix("node:")
        if rest in ("uncore|read_bytes", "uncore|write_bytes") and node.isdigit():
            nodes.setdefault(int(node), []).append(place)
    devices = [place for key, place in index.items() if _CXL_BYTES.match(key)]
    fast = [place for node in sorted(nodes) if node not in tiers.slow_nodes for place in nodes[node]]
    slow = [place for node in sorted(tiers.slow_nodes & nodes.keys()) for place in nodes[node]]
    terms = column.service if of_service and column.service is not None else column.host
    if not tiers.slow_nodes or not fast or not (devices or tiers.slow_nodes <= nodes.keys()):
        return ColumnPlan(column, (), (), terms.names, "not_supported", NO_TRAFFIC)
    wanted = fast if column.key == "fast_traffic_bytes" else slow + devices
    return ColumnPlan(column, tuple(wanted), (), terms.names, "bound" if of_service else "partial", terms.note)


def _plan_damon(column: Column, index: dict[str, int], tiers: Tiers) -> ColumnPlan:
    """Bytes that schemes of DAMON moved to nodes of one side, or reclaimed. The direction follows from the node."""
    terms = column.host
    is_reclaim = column.key == "damon_paged_out_bytes"
    if not is_reclaim and not tiers.known:
        return ColumnPlan(column, (), (), terms.names, "not_supported", UNKNOWN_TIERS)
    to_top = column.key == "damon_promoted_bytes"
    places: list[int] = []
    used: list[str] = []
    for key, place in index.items():
        found = _DAMOS.match(key)
        if not found or (found[1] is not None) != is_reclaim:
            continue
        if is_reclaim or (int(found[2]) in tiers.top_nodes) == to_top:
            places.append(place)
            used.append(key.rpartition("|")[2])
    if not places:
        return ColumnPlan(column, (), (), terms.names, "not_supported", NO_DAMON)
    return ColumnPlan(column, tuple(places), (), tuple(used), terms.trust, terms.note)


def _plan_loads(column: Column, index: dict[str, int], tiers: Tiers, scopes: Sequence[str]) -> ColumnPlan:
    """Sampled loads that memory served. Remote DRAM is slow where no other node than the slow ones is remote."""
    terms = column.service or column.host
    if not tiers.slow_nodes:
        return ColumnPlan(column, (), (), terms.names, "not_supported", NO_SLOW_NODE)
    names = [name for name in terms.names if name != _REMOTE]
    if tiers.remote_is_slow == (column.key == "slow_loads"):
        names.append(_REMOTE)
    return _plan_terms(column, replace(terms, names=tuple(names)), index, scopes)


def _plan_host_gauge(column: Column, index: dict[str, int], tiers: Tiers, page_bytes: int | None) -> ColumnPlan:
    top = column.key.startswith("top_")
    lists: dict[str, list[tuple[int, str]]] = {source: [] for source in _LRU}
    nodes: dict[str, set[str]] = {source: set() for source in _LRU}
    for key, place in index.items():
        scope, _, rest = key.partition("|")
        source, _, name = rest.partition("|")
        node = scope.removeprefix("node:")
        if scope.startswith("node:") and node.isdigit() and name in _LRU.get(source, ()):
            nodes[source].add(node)
            if (int(node) in tiers.top_nodes) == top:
                lists[source].append((place, name))
    in_pages = page_bytes is not None and nodes["vmstat"] >= nodes["meminfo"]
    in_bytes = page_bytes != MODEL_PAGE_BYTES and nodes["meminfo"] >= nodes["vmstat"]
    source = "vmstat" if in_pages and not in_bytes else "meminfo"
    of_side = {str(node) for node in (tiers.top_nodes if top else tiers.slow_nodes - tiers.top_nodes)}
    whole = of_side <= nodes[source]
    plan = _gauge(
        column,
        [place for place, _ in lists[source]] if whole else [],
        [name for _, name in lists[source]],
        tiers,
        page_bytes if source == "vmstat" and page_bytes is not None else 1,
    )
    in_pages_alone = page_bytes is None and not lists["meminfo"] and lists["vmstat"]
    return replace(plan, note=NOT_KNOWN) if in_pages_alone and plan.note == NO_GAUGE else plan


def _plan_service_gauge(column: Column, index: dict[str, int], scopes: Sequence[str], tiers: Tiers) -> ColumnPlan:
    top = column.key.startswith("top_")
    plus, counters = [], []
    for key, place in index.items():
        scope, _, rest = key.partition("|")
        source, _, name = rest.partition("|")
        found = _NUMA_STAT.match(name) if source == "memory.numa_stat" and scope in scopes else None
        if found and (int(found[2]) in tiers.top_nodes) == top:
            plus.append(place)
            counters.append(name)
    return _gauge(column, plus, counters, tiers)


def _gauge(column: Column, plus: list[int], counters: list[str], tiers: Tiers, scale: int = 1) -> ColumnPlan:
    if not tiers.known:
        return ColumnPlan(column, (), (), (), "not_supported", UNKNOWN_TIERS)
    if not plus:
        return ColumnPlan(column, (), (), (), "not_supported", NO_GAUGE)
    return ColumnPlan(column, tuple(plus), (), tuple(dict.fromkeys(counters)), "exact", column.host.note, scale)
