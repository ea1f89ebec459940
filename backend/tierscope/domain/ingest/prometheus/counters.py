"""Which kernel counter a series is, and what its value is multiplied by to be an integer.

node_exporter prints seconds where the kernel counts microseconds or ticks, and bytes where it prints kB; all of these
come back exactly, since a double holds integers up to 2^53. Names are those of node_exporter 1.5 to 1.12;
those of other programs are in `other_senders.py`.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from tierscope.domain.counters.senders import CADVISOR_COUNTERS
from tierscope.domain.ingest.prometheus.containers import HELD_MS, container_counter
from tierscope.domain.ingest.prometheus.other_senders import find_other
from tierscope.domain.ingest.prometheus.targets import own_label

BOOT_TIME_KEY = "host|stat|btime"
"""Seconds since 1970 at which the machine booted: tells boots apart."""
MEMORY_KEY = "host|meminfo|MemTotal"
"""Bytes of memory that the kernel has."""


@dataclass(frozen=True, slots=True)
class MappedCounter:
    """A counter that a series gives. Of several series for one counter, those of the least `rank` are taken.

    Series of one counter and rank add up where one exporter sends them, such as CPUs. `held_ms`: how long a value
    stands where series are stamped with times of their own; 0 where a value belongs to its scrape.
    """

    key: str
    scale: float = 1.0
    rank: int = 0
    held_ms: int = 0


_MICRO, _TICKS = 1e6, 100.0
_PRESSURE = {
    "node_pressure_memory_waiting_seconds_total": "host|pressure.memory|some_total_us",
    "node_pressure_memory_stalled_seconds_total": "host|pressure.memory|full_total_us",
    "node_pressure_cpu_waiting_seconds_total": "host|pressure.cpu|some_total_us",
    "node_pressure_io_waiting_seconds_total": "host|pressure.io|some_total_us",
    "node_pressure_io_stalled_seconds_total": "host|pressure.io|full_total_us",
    "node_pressure_irq_stalled_seconds_total": "host|pressure.irq|full_total_us",
}
_STAT = {
    "node_context_switches_total": "ctxt",
    "node_forks_total": "processes",
    "node_procs_running": "procs_running",
    "node_procs_blocked": "procs_blocked",
    "node_boot_time_seconds": "btime",
}
_CPU_MODES = frozenset({"user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal"})
_LISTS = re.compile(r"^(Active|Inactive)_(anon|file)$")
_NODE_NUMBER = re.compile(r"^\d{1,4}$")
_ZONE_NAMES = {"min_pages": "min", "low_pages": "low", "high_pages": "high"}
_ZONE_SIZES = {"spanned_pages": "spanned", "present_pages": "present", "managed_pages": "managed"}
_NODE_GAUGES = frozenset(
    f"nr_{name}"
    for name in (
        "active_anon",
        "inactive_anon",
        "active_file",
        "inactive_file",
        "anon",
        "file",
        "isolated_anon",
        "isolated_file",
        "mapped",
        "shmem",
        "unevictable",
    )
)
_PRINTED = {"nr_anon": "nr_anon_pages", "nr_file": "nr_file_pages"}
_OF_TEXT_FILES = frozenset({"tierscope_node_tier", "tierscope_demotion_enabled"})
"""What people add to a node_exporter of theirs."""
_TYPE_BEHIND = re.compile(r"^((?:node|container_memory|tierscope)_.+)_(?:counter|gauge|value)$")


def as_printed(labels: Mapping[str, str]) -> Mapping[str, str]:
    """The labels under which an exporter printed a series.

    Telegraf's `inputs.prometheus` puts the type of a metric behind its name unless `metric_version` is 2
    (`plugins/parsers/prometheus/metric_v1.go` of 1.37). No exporter that is read here has a name that ends so.
    """
    found = _TYPE_BEHIND.match(labels.get("__name__", ""))
    return labels if found is None else {**labels, "__name__": found[1]}


def map_series(labels: Mapping[str, str]) -> tuple[MappedCounter, ...]:
    """The kernel counters that a series gives: none for most series, two where one line says two things.

    A name with a colon is of a recording rule or of stream aggregation: no counter of the kernel is in it any more.
    """
    metric = labels.get("__name__", "")
    if ":" in metric:
        return ()
    if metric in CADVISOR_COUNTERS:
        key = container_counter(labels)
        return () if key is None else (MappedCounter(key, held_ms=HELD_MS),)
    if not metric.startswith("node_"):
        other = find_other(labels)
        return () if other is None else tuple(MappedCounter(key, scale) for key, scale in other[1])
    if metric.startswith("node_vmstat_"):
        return (MappedCounter(f"host|vmstat|{metric.removeprefix('node_vmstat_')}"),)
    if metric in _PRESSURE:
        return (MappedCounter(_PRESSURE[metric], _MICRO),)
    if metric in _STAT:
        return (MappedCounter(f"host|stat|{_STAT[metric]}"),)
    if metric == "node_cpu_seconds_total" and labels.get("mode") in _CPU_MODES:
        return (MappedCounter(f"host|stat|cpu_{labels['mode']}", _TICKS),)
    if metric.startswith("node_memory_numa_"):
        return _map_node(metric.removeprefix("node_memory_numa_"), own_label(labels, "node"))
    if metric.startswith("node_memory_"):
        name = _meminfo_name(metric.removeprefix("node_memory_"))
        # All lines of /proc/meminfo begin so. The kubelet prints `node_memory_working_set_bytes`, and node_exporter on
        # other systems what these have.
        return (MappedCounter(f"host|meminfo|{name}"),) if name[:1].isupper() else ()
    if metric.startswith("node_zoneinfo_"):
        return _map_zone(metric.removeprefix("node_zoneinfo_"), own_label(labels, "node"), own_label(labels, "zone"))
    return ()


def sender_of(labels: Mapping[str, str]) -> str | None:
    """The program that prints a series, as `domain/counters/senders.py` names it; None for one that gives no counter.

    Of node_exporter and cAdvisor also series that give none.
    """
    metric = labels.get("__name__", "")
    if ":" in metric:
        return None
    if metric.startswith("node_") or metric in _OF_TEXT_FILES:
        return "node_exporter"
    if metric.startswith("container_memory_"):
        return "cadvisor"
    other = find_other(labels)
    return None if other is None else other[0]


def _meminfo_name(name: str) -> str:
    """`Active(anon)` of `Active_anon_bytes`."""
    return _LISTS.sub(r"\1(\2)", name.removesuffix("_bytes"))


def _map_node(name: str, node: str) -> tuple[MappedCounter, ...]:
    if not _NODE_NUMBER.match(node):
        return ()
    if name.endswith("_total"):
        return (MappedCounter(f"node:{node}|numastat|{name.removesuffix('_total')}"),)
    return (MappedCounter(f"node:{node}|meminfo|{_meminfo_name(name)}"),)


def _map_zone(name: str, node: str, zone: str) -> tuple[MappedCounter, ...]:
    if not _NODE_NUMBER.match(node) or not zone:
        return ()
    scope = f"zone:{node}/{zone}|zoneinfo|"
    if name in _ZONE_NAMES or name in _ZONE_SIZES:
        return (MappedCounter(scope + (_ZONE_NAMES.get(name) or _ZONE_SIZES[name])),)
    if name == "nr_free_pages":
        return (MappedCounter(scope + name),)
    if name.startswith("numa_"):
        return (MappedCounter(scope + name.removesuffix("_total")),)
    plain = name.removesuffix("_pages")
    if plain in _NODE_GAUGES:
        # Printed once per node, with its first zone.
        return (MappedCounter(f"node:{node}|vmstat|{_PRINTED.get(plain, plain)}"),)
    return ()
