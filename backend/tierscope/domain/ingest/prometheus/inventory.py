"""What series say of a machine: kernel, nodes with their memory, which of them have CPUs, settings.

The body has the field names of the contract's Inventory. node_exporter does not tell which node is in which tier, so
that it follows from the kernel's own counters: `local_node` of a node counts allocations by tasks that ran on its CPUs,
so a node that gave pages and never counted one has none. Nor does it print the page size: amounts that the kernel
prints in bytes and in pages tell it (`domain/base/page_size.py`). Whoever knows better says so with the label `tier` of
`tierscope_node_tier`, a gauge that a text file of node_exporter can hold.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from tierscope.domain.base.page_size import find_page_size
from tierscope.domain.counters.senders import is_node_exporter
from tierscope.domain.counters.unsent import find_offers, write_sender
from tierscope.domain.ingest.prometheus.counters import MEMORY_KEY

_NODE_SIZE = re.compile(r"^node:(\d+)\|meminfo\|MemTotal$")
_CLASSES = frozenset({"hbm", "dram", "cxl", "pmem", "gpu"})
_KNOBS = {
    "node_sysctl_kernel_numa_balancing": "proc/sys/kernel/numa_balancing",
    "node_sysctl_kernel_numa_balancing_promote_rate_limit_MBps": (
        "proc/sys/kernel/numa_balancing_promote_rate_limit_MBps"
    ),
    "node_sysctl_vm_zone_reclaim_mode": "proc/sys/vm/zone_reclaim_mode",
    "node_sysctl_vm_swappiness": "proc/sys/vm/swappiness",
    "tierscope_demotion_enabled": "sys/kernel/mm/numa/demotion_enabled",
}
_PART = "node_scrape_collector_success"
_BUILD = "node_exporter_build_info"
_RECORDED = ("sysstat_info", "pcp_info", "collectl_info")
"""Of recordings that are imported: what `node_uname_info` has, and the version of the program."""
INFO_METRICS = ("node_uname_info", "tierscope_node_tier", _PART, _BUILD, *_RECORDED, *_KNOBS)
"""Series whose labels or newest values an inventory is made of."""
_SETTINGS_BY_LOWER = {name.lower(): path for name, path in _KNOBS.items()}


def make_inventory(
    hostname: str,
    counters: Mapping[str, int],
    info: Sequence[tuple[Mapping[str, str], float]],
    senders: Mapping[str, Iterable[str]] = MappingProxyType({}),
) -> dict[str, Any]:
    """The inventory of a host from its newest counters by key and its newest info samples.

    `senders`: who sends the counters, with the keys of each.
    """
    body: dict[str, Any] = {"hostname": hostname, "source": "prometheus"}
    knobs: dict[str, str] = {}
    declared: dict[int, str] = {}
    parts: dict[str, bool] = {}
    versions: dict[str, str] = {}
    in_alloy = False
    for labels, value in info:
        metric = labels["__name__"]
        if metric in _RECORDED and labels.get("version"):
            versions[metric.removesuffix("_info")] = labels["version"]
        if metric in ("node_uname_info", *_RECORDED):
            body |= {
                "kernel_release": labels.get("release", ""),
                "kernel_version": labels.get("version", ""),
                "architecture": labels.get("machine", ""),
            }
        elif metric == "tierscope_node_tier" and labels.get("node", "").isdecimal() and labels.get("tier") in _CLASSES:
            declared[int(labels["node"])] = labels["tier"]
        elif metric == _PART:
            parts[labels.get("collector", "")] = value > 0
        elif metric == _BUILD:
            versions["node_exporter"] = labels.get("version", "")
            in_alloy = _is_of_alloy(labels)
        elif metric.lower() in _SETTINGS_BY_LOWER:
            knobs[_SETTINGS_BY_LOWER[metric.lower()]] = f"{value:.0f}"
    page = find_page_size(counters, release=body.get("kernel_release", ""), architecture=body.get("architecture", ""))
    if page is not None:
        body |= {"page_size_bytes": page.bytes, "page_size_evidence": page.evidence}
    if counters.get(MEMORY_KEY, 0) > 0:
        body["memory_bytes"] = counters[MEMORY_KEY]
    # What names itself nowhere prints series of the same names, with other settings: plugins of Fluent Bit and Fluentd.
    names_itself = bool(parts) or "node_exporter" in versions or is_node_exporter(senders.get("node_exporter", ()))
    node = "alloy" if in_alloy else "node_exporter" if names_itself else "node_series"
    sent = [
        find_offers(node if name == "node_exporter" else name, keys, parts, version=versions.get(name, ""))
        for name, keys in sorted(senders.items())
    ]
    body["senders"] = [write_sender(one) for one in sent]
    body["knobs"] = [{"path": path, "value": value} for path, value in sorted(knobs.items())]
    nodes = [
        _node(int(found[1]), size, counters, declared)
        for key, size in sorted(counters.items())
        if (found := _NODE_SIZE.match(key)) and size > 0
    ]
    body["nodes"] = sorted(nodes, key=lambda node: int(node["id"]))
    slow = [node["id"] for node in nodes if node["tier_class"] not in ("dram", "hbm", "gpu")]
    fast = [node["id"] for node in nodes if node["tier_class"] in ("dram", "hbm")]
    if fast and slow:
        body["tiers"] = [{"rank": 0, "nodes": sorted(fast)}, {"rank": 1, "nodes": sorted(slow)}]
    return body


def _is_of_alloy(build: Mapping[str, str]) -> bool:
    """Whether it is not node_exporter that says so but Grafana Alloy, which prints the same with a version of its own.

    It writes its version with `v` in front, and its exporters' targets have jobs of this name.
    """
    return build.get("version", "").startswith("v") and build.get("job", "").startswith("integrations/")


def _node(number: int, size: int, counters: Mapping[str, int], declared: Mapping[int, str]) -> dict[str, Any]:
    local = counters.get(f"node:{number}|numastat|local_node")
    if number in declared:
        tier, why = declared[number], "tierscope_node_tier says so"
    elif local is None:
        # One node has the CPUs, or nothing runs; of several nothing is known.
        alone = sum(1 for key in counters if _NODE_SIZE.match(key)) == 1
        tier, why = ("dram", "the only node") if alone else ("unknown", "numastat of the node is not collected")
    elif local > 0:
        tier, why = "dram", "tasks on its own CPUs allocated from it (numastat local_node)"
    else:
        tier, why = "unknown", "no task on CPUs of its own ever allocated from it (numastat local_node is 0)"
    return {"id": number, "memory_bytes": size, "cpulist": "", "tier_class": tier, "tier_evidence": why}
