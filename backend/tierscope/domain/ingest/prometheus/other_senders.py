"""Kernel counters under the names of Telegraf, PCP, hostmetrics of the OpenTelemetry collector, and of sysstat imports.

Taken are names that are the kernel's own, with its own values. Left out is what a sender sums or derives: `_total` of
Performance Co-Pilot (its pgdemote_total lacks pgdemote_proactive), `cached` and `used` of Telegraf and hostmetrics
(gopsutil counts SReclaimable as cached). Sources: Telegraf 1.37 `plugins/inputs/{kernel_vmstat,mem,kernel}`, PCP 7.2
`src/pmdas/linux/pmda.c` and `src/pmproxy`, hostmetricsreceiver 0.161.
"""

import re
from collections.abc import Mapping

_KIB = 1024.0
_NODE_NAME = re.compile(r"^(?:node)?(\d{1,4})$")
_TELEGRAF_MEMORY = {
    "total": "MemTotal",
    "free": "MemFree",
    "available": "MemAvailable",
    "buffered": "Buffers",
    "active": "Active",
    "inactive": "Inactive",
    "dirty": "Dirty",
    "mapped": "Mapped",
    "page_tables": "PageTables",
    "shared": "Shmem",
    "slab": "Slab",
    "sreclaimable": "SReclaimable",
    "sunreclaim": "SUnreclaim",
    "swap_cached": "SwapCached",
    "swap_free": "SwapFree",
    "swap_total": "SwapTotal",
    "write_back": "Writeback",
    "huge_pages_total": "HugePages_Total",
    "huge_pages_free": "HugePages_Free",
}
_TELEGRAF_STAT = {"boot_time": "btime", "context_switches": "ctxt", "processes_forked": "processes"}
_PCP_MEMORY = {
    "total": "MemTotal",
    "free": "MemFree",
    "available": "MemAvailable",
    "bufmem": "Buffers",
    "cached": "Cached",
    "swapCached": "SwapCached",
    "active": "Active",
    "inactive": "Inactive",
    "active_anon": "Active(anon)",
    "inactive_anon": "Inactive(anon)",
    "active_file": "Active(file)",
    "inactive_file": "Inactive(file)",
    "unevictable": "Unevictable",
    "mlocked": "Mlocked",
    "swapTotal": "SwapTotal",
    "swapFree": "SwapFree",
    "dirty": "Dirty",
    "writeback": "Writeback",
    "anonpages": "AnonPages",
    "anonPages": "AnonPages",
    "filePages": "FilePages",
    "mapped": "Mapped",
    "shmem": "Shmem",
    "slab": "Slab",
    "slabReclaimable": "SReclaimable",
    "slabUnreclaimable": "SUnreclaim",
    "pageTables": "PageTables",
    "kernelStack": "KernelStack",
}
_PCP_SUMS = frozenset(
    {
        "allocstall",
        "pgalloc",
        "pgdemote",
        "pgrefill",
        "pgscan",
        "pgscan_direct",
        "pgscan_kswapd",
        "pgskip",
        "pgsteal",
        "pgsteal_direct",
        "pgsteal_kswapd",
    }
)
"""What it sums itself, with `_total` behind it; behind all else OpenTelemetry puts that, because they are counters."""
_PCP_NUMASTAT = {
    "hit": "numa_hit",
    "miss": "numa_miss",
    "foreign": "numa_foreign",
    "interleave_hit": "interleave_hit",
    "local_node": "local_node",
    "other_node": "other_node",
}
_PCP_PRESSURE = re.compile(r"^kernel_all_pressure_(cpu|memory|io|irq)_(some|full)_total$")
_OTEL_STATES = {
    "free": "MemFree",
    "buffered": "Buffers",
    "inactive": "Inactive",
    "slab_reclaimable": "SReclaimable",
    "slab_unreclaimable": "SUnreclaim",
}
_OTEL_SIZES = {
    "system_memory_limit": "MemTotal",
    "system_linux_memory_available": "MemAvailable",
    "system_linux_memory_dirty": "Dirty",
}
_LISTS = re.compile(r"^(Active|Inactive)_(anon|file)$")
METRICS_LIKE = ("kernel\\_%", "mem\\_%", "pressure\\_total", "system\\_%", "sysstat\\_%", "pcp\\_%", "collectl\\_%")
"""Patterns of SQL that all of their metrics match."""

Found = tuple[tuple[str, float], ...]
"""Keys of counters, and what a value is multiplied by."""


def find_other(labels: Mapping[str, str]) -> tuple[str, Found] | None:
    """The program that prints a series, and the counters that it gives; None for a series of none of these."""
    metric = labels.get("__name__", "")
    word = metric.partition("_")[0]
    if word == "system":
        found = _hostmetrics(metric.removesuffix("_bytes"), labels)
        return ("hostmetrics", found) if found else None
    if word == "sysstat":
        found = _sysstat(metric.removeprefix("sysstat_"))
        return ("sysstat_rates" if labels.get("form") == "rates" else "sysstat", found) if found else None
    if word == "collectl":
        found = _collectl(metric.removeprefix("collectl_"), labels)
        return ("collectl", found) if found else None
    if metric == "pcp_boot_time_seconds":
        return "pcp", (("host|stat|btime", 1.0),)
    if word not in ("kernel", "mem", "pressure"):
        return None
    for sender, read in (("telegraf", _telegraf), ("pcp", _pcp)):
        found = read(metric, labels)
        if found:
            return sender, found
    return None


def _telegraf(metric: str, labels: Mapping[str, str]) -> Found:
    if metric.startswith("kernel_vmstat_"):
        # Some relays put `_total` behind counters; no line of /proc/vmstat ends so.
        return ((f"host|vmstat|{metric.removeprefix('kernel_vmstat_').removesuffix('_total')}", 1.0),)
    if not ("host" in labels or "exported_host" in labels):
        # Other names are too common to be Telegraf's without its label.
        return ()
    if metric == "pressure_total" and labels.get("resource") and labels.get("type") in ("some", "full"):
        return ((f"host|pressure.{labels['resource']}|{labels['type']}_total_us", 1.0),)
    name = metric.partition("_")[2]
    if metric.startswith("mem_") and name in _TELEGRAF_MEMORY:
        return ((f"host|meminfo|{_TELEGRAF_MEMORY[name]}", 1.0),)
    if metric.startswith("kernel_") and name in _TELEGRAF_STAT:
        return ((f"host|stat|{_TELEGRAF_STAT[name]}", 1.0),)
    return ()


def _pcp(metric: str, labels: Mapping[str, str]) -> Found:
    if metric.startswith("mem_vmstat_"):
        name = metric.removeprefix("mem_vmstat_")
        plain = name.removesuffix("_total")
        return () if name != plain and plain in _PCP_SUMS else ((f"host|vmstat|{plain}", 1.0),)
    if metric == "mem_physmem":
        return (("host|meminfo|MemTotal", _KIB),)
    if metric == "kernel_all_pswitch":
        return (("host|stat|ctxt", 1.0),)
    pressure = _PCP_PRESSURE.match(metric)
    if pressure is not None:
        return ((f"host|pressure.{pressure[1]}|{pressure[2]}_total_us", 1.0),)
    if metric.startswith("mem_util_"):
        return _known("host|meminfo|", _PCP_MEMORY, metric.removeprefix("mem_util_"), _KIB)
    node = _NODE_NAME.match(labels.get("numa_node") or labels.get("instname", ""))
    if node is None:
        return ()
    if metric.startswith("mem_numa_util_"):
        return _known(f"node:{int(node[1])}|meminfo|", _PCP_MEMORY, metric.removeprefix("mem_numa_util_"), _KIB)
    if metric.startswith("mem_numa_alloc_"):
        return _known(f"node:{int(node[1])}|numastat|", _PCP_NUMASTAT, metric.removeprefix("mem_numa_alloc_"), 1.0)
    return ()


def _known(scope: str, names: Mapping[str, str], name: str, scale: float) -> Found:
    return ((scope + names[name], scale),) if name in names else ()


def _sysstat(name: str) -> Found:
    """Of series that `domain/ingest/history/sysstat.py` makes."""
    if name == "boot_time_seconds":
        return (("host|stat|btime", 1.0),)
    if name == "vmstat_pgdem":
        return (("host|sysstat|pgdem", 1.0),)
    source, _, rest = name.partition("_")
    if source == "pressure":
        resource, _, kind = rest.partition("_")
        return ((f"host|pressure.{resource}|{kind}_total_us", 1.0),)
    return ((f"host|{source}|{rest}", 1.0),) if source in ("vmstat", "meminfo") else ()


def _collectl(name: str, labels: Mapping[str, str]) -> Found:
    """Of series that `domain/ingest/history/collectl.py` makes."""
    if name == "boot_time_seconds":
        return (("host|stat|btime", 1.0),)
    scope = f"node:{labels['node']}" if labels.get("node", "").isdecimal() else "host"
    source, _, rest = name.partition("_")
    if source == "meminfo":
        rest = _LISTS.sub(r"\1(\2)", rest)
    return ((f"{scope}|{source}|{rest}", 1.0),) if source in ("vmstat", "meminfo", "numastat") else ()


def _hostmetrics(metric: str, labels: Mapping[str, str]) -> Found:
    # Libraries send the same names: of OSHI (Java) and of Node.js what is free is MemAvailable.
    if "hostmetricsreceiver" not in labels.get("otel_scope_name", "hostmetricsreceiver"):
        return ()
    if metric in _OTEL_SIZES:
        return ((f"host|meminfo|{_OTEL_SIZES[metric]}", 1.0),)
    if metric == "system_memory_usage" and labels.get("state") in _OTEL_STATES:
        return ((f"host|meminfo|{_OTEL_STATES[labels['state']]}", 1.0),)
    if metric.removesuffix("_total") == "system_paging_faults":
        # Minor faults are pgfault less pgmajfault there: both together are pgfault.
        every = (("host|vmstat|pgfault", 1.0),)
        return {"minor": every, "major": (*every, ("host|vmstat|pgmajfault", 1.0))}.get(labels.get("type", ""), ())
    return ()
