"""What programs other than our agent could send of a host's counters: absent because of whom?

An agent sends every counter that the kernel prints, so that what is absent does not exist. Other programs print what
they choose to. `SENDERS` says of each which counters it prints, by which setting, and by which counters it is seen that
the setting is there; `unsent.py` says it of a host. Sources: `collector/*_linux.go` of node_exporter 1.5 to 1.12,
`internal/build` and `internal/static/integrations/node_exporter` of Grafana Alloy 1.19, `plugins/inputs` of Telegraf
1.37, `src/pmdas/linux/pmda.c` of PCP 6.0 and 7.2, `hostmetricsreceiver` of the OpenTelemetry collector 0.161, cAdvisor
0.60, `getProc` of collectl 4.3.1.
"""

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace

CADVISOR_COUNTERS = {
    "container_memory_usage_bytes": "memory.current|current",
    "container_memory_rss": "memory.stat|anon",
    "container_memory_cache": "memory.stat|file",
    "container_memory_mapped_file": "memory.stat|file_mapped",
    "container_memory_swap": "memory.swap.current|current",
}
"""Counters of services by the metrics of cAdvisor that give them."""
VMSTAT_FIELDS = (
    "--collector.vmstat.fields='^(oom_kill|pg|numa_|nr_|pswp|zswp|workingset_|allocstall|compact_|thp_|slabs_scanned"
    "|kswapd_).*'"
)


@dataclass(frozen=True, slots=True)
class Offer:
    """Counters that a sender prints. `keys`: pattern of their keys.

    `setting`: what makes it print them, '' where no release does. `witnesses`: counters of every kernel that come with
    the others; all of them there, what is absent is the kernel's. `part`: what of the sender prints them, where it says
    so itself. `series`: what it calls them, where they are known to be dropped on the way. `by_default`: it prints them
    without any setting.
    """

    name: str
    keys: str
    setting: str
    witnesses: tuple[str, ...]
    part: str = ""
    series: str = ""
    by_default: bool = False

    def covers(self, key: str) -> bool:
        """Whether a counter is one of these."""
        return re.match(self.keys, key) is not None


@dataclass(frozen=True, slots=True)
class Sender:
    """A program. `verb`: how settings are added to it; `instead`: what to do for counters that it never prints.

    `between`: what stands between two settings. `doubt`: why its counters are not exact, '' where they are.
    `of_containers`: it tells of services alone, and others tell nothing of them; it prints all that it can, so that
    what is absent of it is never the kernel's doing.
    """

    name: str
    title: str
    verb: str
    offers: tuple[Offer, ...]
    instead: str = "Run our agent on the host, which reads them."
    between: str = ", "
    doubt: str = ""
    of_containers: bool = False


def _vmstat(*names: str) -> tuple[str, ...]:
    return tuple(f"host|vmstat|{name}" for name in names)


def _vmstat_fields(name: str, start: str, *witnesses: str) -> Offer:
    """Lines of /proc/vmstat that node_exporter prints where its pattern of fields takes them."""
    return Offer(name, rf"host\|vmstat\|{start}", VMSTAT_FIELDS, _vmstat(*witnesses), series="node_vmstat_.*")


_WHOLE_VMSTAT = frozenset(_vmstat("nr_free_pages", "pgfault", "unevictable_pgs_stranded"))
"""Counters of every kernel from 2.6.28 on, whatever its configuration: of the list's first lines, its middle and its
last ones, after those of promotion, demotion and NUMA balancing (mm/vmstat.c `vmstat_text`)."""
NOT_WHOLE = (
    "The list of /proc/vmstat did not come whole: it was cut off, masked or not read, so that nothing says whether the "
    "kernel counts it. Read it as root outside of a container: `tierscope-agent once` names what is wrong with it."
)


def is_whole(keys: Collection[str]) -> bool:
    """Whether an agent's counters hold the whole of `/proc/vmstat`, so that what is absent is the kernel's."""
    return all(key in keys for key in _WHOLE_VMSTAT)


_NODE_EXPORTER = Sender(
    "node_exporter",
    "node_exporter",
    "start it with",
    (
        Offer(
            "vmstat",
            r"host\|vmstat\|(oom_kill|pgpg|pswp|pg.*fault)",
            "--collector.vmstat",
            _vmstat("pgfault"),
            series="node_vmstat_.*",
            by_default=True,
        ),
        _vmstat_fields("vmstat_pg", r"pg", "pgactivate", "pgdeactivate", "pgfree", "pgrotated"),
        _vmstat_fields("vmstat_numa", r"numa_", "numa_hit", "numa_local"),
        _vmstat_fields("vmstat_workingset", r"workingset_", "workingset_nodereclaim"),
        _vmstat_fields("vmstat_nr", r"nr_", "nr_free_pages", "nr_dirty"),
        _vmstat_fields("vmstat_rest", r"", "slabs_scanned", "kswapd_inodesteal"),
        Offer(
            "pressure",
            r"host\|pressure\.",
            "--collector.pressure",
            ("host|pressure.cpu|some_total_us",),
            part="pressure",
            series="node_pressure_.*",
            by_default=True,
        ),
        Offer(
            "meminfo",
            r"host\|meminfo\|",
            "--collector.meminfo",
            ("host|meminfo|MemTotal",),
            part="meminfo",
            series="node_memory_.*",
            by_default=True,
        ),
        Offer(
            "stat",
            r"host\|stat\|",
            "--collector.stat",
            ("host|stat|ctxt",),
            part="stat",
            series="node_(boot|context|forks|procs)_.*",
            by_default=True,
        ),
        Offer(
            "zoneinfo",
            r"zone:|node:\d+\|vmstat\|nr_",
            "--collector.zoneinfo",
            (),
            part="zoneinfo",
            series="node_zoneinfo_.*",
        ),
        Offer(
            "meminfo_numa",
            r"node:\d+\|(meminfo|numastat)\|",
            "--collector.meminfo_numa",
            (),
            part="meminfo_numa",
            series="node_memory_numa_.*",
        ),
    ),
    between=" ",
)
_NODE_SERIES = replace(
    _NODE_EXPORTER,
    name="node_series",
    title="A sender of series node_* (Fluent Bit, or a node_exporter that sends what Fluent Bit does)",
    verb="Fluent Bit has a fixed list; start node_exporter with",
)

_FIXED_LIST = frozenset({"vmstat", "meminfo", "stat"})
"""Offers of node_exporter that plugins of Fluent Bit (`plugins/in_node_exporter_metrics`) and Fluentd print too."""


def is_node_exporter(keys: Iterable[str]) -> bool:
    """Whether counters came that only node_exporter prints under its names, not a plugin with a fixed list."""
    first = (next((offer for offer in _NODE_EXPORTER.offers if offer.covers(key)), None) for key in keys)
    return any(offer is not None and offer.name not in _FIXED_LIST for offer in first)


def _of_alloy(offer: Offer) -> Offer:
    """The same offer with the argument of `prometheus.exporter.unix` for a flag of node_exporter."""
    if offer.setting == VMSTAT_FIELDS:
        _, _, pattern = VMSTAT_FIELDS.partition("=")
        return replace(offer, setting=f'vmstat {{ fields = "{pattern.strip(chr(39))}" }}')
    name = offer.setting.removeprefix("--collector.")
    extra = name in ("zoneinfo", "meminfo_numa")
    setting = f'enable_collectors = ["{name}"]' if extra else f'no "{name}" in disable_collectors'
    return replace(offer, setting=setting)


_ALLOY = replace(
    _NODE_EXPORTER,
    name="alloy",
    title="Grafana Alloy",
    verb="set in its prometheus.exporter.unix",
    offers=tuple(map(_of_alloy, _NODE_EXPORTER.offers)),
    between=", ",
)
_TELEGRAF = Sender(
    "telegraf",
    "Telegraf",
    "add to its configuration",
    (
        Offer("vmstat", r"host\|vmstat\|", "[[inputs.kernel_vmstat]]", _vmstat("pgactivate", "pgfault", "pgfree")),
        Offer(
            "pressure",
            r"host\|pressure\.",
            '[[inputs.kernel]] with collect = ["psi"]',
            ("host|pressure.cpu|some_total_us",),
        ),
        Offer("meminfo", r"host\|meminfo\|", "[[inputs.mem]]", ("host|meminfo|MemTotal",)),
        Offer("stat", r"host\|stat\|(btime|ctxt|processes)$", "[[inputs.kernel]]", ("host|stat|btime",)),
    ),
    "Telegraf reads no memory by node: our agent or node_exporter with --collector.meminfo_numa does.",
)
_PCP = Sender(
    "pcp",
    "Performance Co-Pilot",
    "log, or ask pmproxy for,",
    (
        # It reads the lines that its list has (pmdas/linux/proc_vmstat.c) and no others: what is not in it is not the
        # kernel's doing. Of refaults it has the one counter of kernels before 5.9 (6.0.3 and 7.2.2).
        Offer(
            "unlisted",
            r"host\|vmstat\|(pg(demote|steal)_proactive|pgpromote_candidate_nrl|pgrefill|workingset_refault_\w+"
            r"|zswp\w+|allocstall_device)$",
            "",
            (),
        ),
        Offer(
            "moves",
            r"host\|vmstat\|(pgpromote_|pgdemote_|pgscan_(anon|file)$|pgsteal_(anon|khugepaged)$)",
            "mem.vmstat of PCP 7 or later",
            (),
        ),
        Offer("vmstat", r"host\|vmstat\|", "mem.vmstat", _vmstat("pgactivate", "pgfault", "pgfree")),
        Offer("pressure", r"host\|pressure\.", "kernel.all.pressure", ()),
        Offer("meminfo", r"host\|meminfo\|", "mem.physmem,mem.util", ("host|meminfo|MemTotal",)),
        Offer("nodes", r"node:\d+\|meminfo\|", "mem.numa.util", ()),
        Offer("numastat", r"node:\d+\|numastat\|", "mem.numa.alloc", ()),
    ),
)
_HOSTMETRICS = Sender(
    "hostmetrics",
    "hostmetrics of the OpenTelemetry collector",
    "enable in it",
    (
        Offer(
            "faults",
            r"host\|vmstat\|pg(maj)?fault$",
            "the scraper paging",
            _vmstat("pgmajfault"),
        ),
        Offer("memory", r"host\|meminfo\|MemTotal$", "the metric system.memory.limit", ("host|meminfo|MemTotal",)),
    ),
    "Let the collector scrape node_exporter (receiver prometheus), or run our agent on the host.",
)
_SYSSTAT = Sender(
    "sysstat",
    "sysstat",
    "record with",
    (
        # One sum of all causes, which is no counter of the kernel.
        Offer("by_cause", r"host\|vmstat\|pgdemote_", "", ()),
        Offer(
            "moves",
            r"host\|(vmstat\|pgpromote_success|sysstat\|pgdem)$",
            "sysstat 12.7 or later on a kernel that counts them",
            (),
        ),
        Offer("paging", r"host\|vmstat\|(pgpg(in|out)|pg(maj)?fault|pgfree|pgscan_kswapd|pswp(in|out))$", "sadc", ()),
        Offer("pressure", r"host\|pressure\.", "sysstat 12.4 or later on a kernel with psi=1", ()),
        Offer("meminfo", r"host\|meminfo\|", "sadc", ("host|meminfo|MemTotal",)),
    ),
    "sysstat never records them: our agent or node_exporter does.",
)
_SYSSTAT_RATES = replace(
    _SYSSTAT,
    name="sysstat_rates",
    title="sysstat (rates of sadf -j)",
    doubt="Counted from rates per second times intervals in whole seconds.",
)
_COLLECTL = Sender(
    "collectl",
    "collectl",
    "record with",
    (
        Offer("unlisted", r"host\|vmstat\|(numa|nr_(?!sh))|host\|pressure\.", "", ()),
        # It stops at the first line that begins with `pgre`, behind which older kernels have demotions.
        Offer(
            "late",
            r"host\|vmstat\|(pg(re|steal|scan|demote|migrate|inode)|slabs|kswapd|compact|thp|zswp|oom)",
            "--memopts ps",
            _vmstat("pgsteal_kswapd"),
        ),
        Offer("vmstat", r"host\|vmstat\|", "-s+m", _vmstat("pgactivate", "pgfault", "pgfree")),
        Offer("meminfo", r"host\|meminfo\|", "-s+m", ("host|meminfo|MemTotal",)),
        Offer("nodes", r"node:\d+\|(meminfo|numastat)\|", "-s+M", ()),
    ),
    "collectl never records them: our agent or node_exporter does.",
    between=" ",
)
_CADVISOR = Sender(
    "cadvisor",
    "cAdvisor",
    "",
    # It prints all of them of each container at once (`metrics/prometheus.go`): one that is absent beside another was
    # dropped on the way.
    tuple(
        Offer(metric, rf"service[^|]*\|{re.escape(counter)}$", "", (), series=metric, by_default=True)
        for metric, counter in CADVISOR_COUNTERS.items()
    ),
    "It prints none: our agent on the machine reads them.",
    of_containers=True,
)
SENDERS: Mapping[str, Sender] = {
    sender.name: sender
    for sender in (
        _NODE_EXPORTER,
        _NODE_SERIES,
        _ALLOY,
        _TELEGRAF,
        _PCP,
        _HOSTMETRICS,
        _SYSSTAT,
        _SYSSTAT_RATES,
        _COLLECTL,
        _CADVISOR,
    )
}
