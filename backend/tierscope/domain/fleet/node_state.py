"""NUMA nodes: what the inventory says of them, with their newest counters."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tierscope.domain.counters.packing import Block


@dataclass(frozen=True, slots=True)
class NodeInfo:
    """One NUMA node with its tier and current use. None where the host does not say."""

    id: int
    tier_class: str
    tier_evidence: str
    tier_rank: int | None
    cpulist: str
    memory_bytes: int | None
    free_bytes: int | None
    watermark_low_bytes: int | None
    watermark_high_bytes: int | None
    watermark_promo_bytes: int | None
    anon_bytes: int | None
    file_bytes: int | None
    distances: tuple[int, ...]
    read_latency_ns: int | None
    write_latency_ns: int | None
    read_bandwidth_mib_per_s: int | None
    write_bandwidth_mib_per_s: int | None


def describe_nodes(body: Mapping[str, Any], newest: Block | None, *, page_bytes: int | None) -> tuple[NodeInfo, ...]:
    """Describe all nodes by id; `newest` is a block whose last sample is the current one."""
    values = _last_values(newest)
    ranks = {
        int(node): int(tier.get("rank") or 0) for tier in body.get("tiers") or () for node in tier.get("nodes") or ()
    }
    return tuple(
        _describe(node, values, ranks, page_bytes)
        for node in sorted(body.get("nodes") or (), key=lambda node: int(node["id"]))
    )


def _describe(
    node: Mapping[str, Any], values: Mapping[str, int], ranks: Mapping[int, int], page: int | None
) -> NodeInfo:
    number = int(node["id"])
    size = node.get("memory_bytes")
    return NodeInfo(
        id=number,
        tier_class=str(node.get("tier_class") or "unknown"),
        tier_evidence=str(node.get("tier_evidence") or ""),
        tier_rank=ranks.get(number),
        cpulist=str(node.get("cpulist") or ""),
        memory_bytes=values.get(f"node:{number}|meminfo|MemTotal") if size is None else int(size),
        free_bytes=_bytes_of(values, number, "MemFree", "nr_free_pages", page),
        watermark_low_bytes=_watermark(values, number, "low", page),
        watermark_high_bytes=_watermark(values, number, "high", page),
        watermark_promo_bytes=_watermark(values, number, "promo", page),
        anon_bytes=_bytes_of(values, number, "AnonPages", "nr_anon_pages", page),
        file_bytes=_bytes_of(values, number, "FilePages", "nr_file_pages", page),
        distances=tuple(int(distance) for distance in node.get("distances") or ()),
        read_latency_ns=node.get("read_latency_ns"),
        write_latency_ns=node.get("write_latency_ns"),
        read_bandwidth_mib_per_s=node.get("read_bandwidth_mib_per_s"),
        write_bandwidth_mib_per_s=node.get("write_bandwidth_mib_per_s"),
    )


def _last_values(newest: Block | None) -> dict[str, int]:
    if newest is None or len(newest) == 0:
        return {}
    cells = zip(newest.keys, newest.values[-1].tolist(), newest.present[-1].tolist(), strict=True)
    return {key: value for key, value, present in cells if present}


def _bytes_of(values: Mapping[str, int], node: int, meminfo: str, vmstat: str, page_bytes: int | None) -> int | None:
    found = values.get(f"node:{node}|meminfo|{meminfo}")
    if found is not None:
        return found
    pages = values.get(f"node:{node}|vmstat|{vmstat}")
    return None if pages is None or page_bytes is None else pages * page_bytes


def _watermark(values: Mapping[str, int], node: int, name: str, page_bytes: int | None) -> int | None:
    """The sum of the node's zones: kswapd judges zones one by one, so that this is a guide, not a trigger."""
    prefix, suffix = f"zone:{node}/", f"|zoneinfo|{name}"
    zones = [value for key, value in values.items() if key.startswith(prefix) and key.endswith(suffix)]
    return sum(zones) * page_bytes if zones and page_bytes is not None else None
