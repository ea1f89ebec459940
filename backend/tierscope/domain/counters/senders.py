"""What programs other than our agent could send of a host's counters: absent because of whom?

An agent sends every counter that the kernel prints, so that what is absent does not exist. Other programs print what
they choose to. `SENDERS` says of each which counters it prints, by which setting, and by which counters it is seen that
the setting is there. Sources: `collector/*_linux.go` of node_exporter 1.5 to 1.12, `internal/build` and
`internal/static/integrations/node_exporter` of Grafana Alloy 1.19, `plugins/inputs` of Telegraf 1.37,
`src/pmdas/linux/pmda.c` of PCP 6.0 and 7.2, `hostmetricsreceiver` of the OpenTelemetry collector 0.161, cAdvisor 0.60,
`getProc` of collectl 4.3.1.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

VMSTAT_FIELDS = (
    "--collector.vmstat.fields='^(oom_kill|pg|numa_|nr_|pswp|zswp|workingset_|allocstall|compact_|thp_|slabs_scanned"
    "|kswapd_).*'"
)


@dataclass(frozen=True, slots=True)
class Offer:
    """Counters that a sender prints. `keys`: pattern of their keys.

    `setting`: what makes it print them, '' where no release does. `witnesses`: counters of every kernel that come with
    the others; all of them there, what is absent is the kernel's. `part`: what of the sender prints them, where it says
    so itself.
    """

    name: str
    keys: str
    setting: str
    witnesses: tuple[str, ...]
    part: str = ""

    def covers(self, key: str) -> bool:
        """Whether a counter is one of these."""
        return re.match(self.keys, key) is not None


@dataclass(frozen=True, slots=True)
class Sender:
    """A program. `verb`: how settings are added to it; `instead`: what to do for counters that it never prints.

    `between`: what stands between two settings. `doubt`: why its counters are not exact, '' where they are.
    """

    name: str
    title: str
    verb: str
    offers: tuple[Offer, ...]
    instead: str = "Run our agent on the host, which reads them."
    between: str = ", "
    doubt: str = ""


def _vmstat(*names: str) -> tuple[str, ...]:
    return tuple(f"host|vmstat|{name}" for name in names)


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
        Offer("vmstat", r"host\|vmstat\|(oom_kill|pgpg|pswp|pg.*fault)", "--collector.vmstat", _vmstat("pgfault")),
        Offer(
            "vmstat_pg",
            r"host\|vmstat\|pg",
            VMSTAT_FIELDS,
            _vmstat("pgactivate", "pgdeactivate", "pgfree", "pgrotated"),
        ),
        Offer("vmstat_numa", r"host\|vmstat\|numa_", VMSTAT_FIELDS, _vmstat("numa_hit", "numa_local")),
        Offer("vmstat_workingset", r"host\|vmstat\|workingset_", VMSTAT_FIELDS, _vmstat("workingset_nodereclaim")),
        Offer("vmstat_nr", r"host\|vmstat\|nr_", VMSTAT_FIELDS, _vmstat("nr_free_pages", "nr_dirty")),
        Offer("vmstat_rest", r"host\|vmstat\|", VMSTAT_FIELDS, _vmstat("slabs_scanned", "kswapd_inodesteal")),
        Offer(
            "pressure",
            r"host\|pressure\.",
            "--collector.pressure",
            ("host|pressure.cpu|some_total_us",),
            part="pressure",
        ),
        Offer("meminfo", r"host\|meminfo\|", "--collector.meminfo", ("host|meminfo|MemTotal",), part="meminfo"),
        Offer("stat", r"host\|stat\|", "--collector.stat", ("host|stat|ctxt",), part="stat"),
        Offer(
            "zoneinfo",
            r"zone:|node:\d+\|vmstat\|nr_",
            "--collector.zoneinfo",
            (),
            part="zoneinfo",
        ),
        Offer(
            "meminfo_numa",
            r"node:\d+\|(meminfo|numastat)\|",
            "--collector.meminfo_numa",
            (),
            part="meminfo_numa",
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
            r"host\|vmstat\|(pgpromote_|pgdemote_|pgscan_(anon|file)$|pgsteal_(anon|file|khugepaged)$)",
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
_CADVISOR = Sender("cadvisor", "cAdvisor", "", (), "Scrape node_exporter on the same machine, or run our agent there.")
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


@dataclass(frozen=True, slots=True)
class Sent:
    """A sender of a host, the offers that came of it, and those that it says it could not make. `version` may be ''."""

    sender: str
    offers: frozenset[str] = frozenset()
    refused: frozenset[str] = frozenset()
    version: str = ""


@dataclass(frozen=True, slots=True)
class Unsent:
    """Why a counter did not come though the kernel may count it, and what to do about it."""

    reason: str
    setting: str | None


def find_offers(sender: str, keys: Iterable[str], parts: Mapping[str, bool], *, version: str = "") -> Sent:
    """What came of a sender: `keys` of its counters, `parts` whether each part of it found what it looks for."""
    known = set(keys)
    offers = SENDERS[sender].offers
    came = {
        offer.name
        for offer in offers
        if (offer.witnesses and known.issuperset(offer.witnesses))
        or (not offer.witnesses and any(offer.covers(key) for key in known))
    }
    refused = {offer.name for offer in offers if parts.get(offer.part) is False}
    return Sent(sender, frozenset(came), frozenset(refused - came), version)


def write_sender(sent: Sent) -> dict[str, Any]:
    """A sender as an inventory has it."""
    return {
        "name": sent.sender,
        "version": sent.version,
        "offers": sorted(sent.offers),
        "refused": sorted(sent.refused),
    }


def find_doubt(sent: Sequence[Sent]) -> str:
    """Why counters of these senders are not exact, '' where they are."""
    return next((SENDERS[one.sender].doubt for one in sent if SENDERS[one.sender].doubt), "")


def read_senders(body: Mapping[str, Any]) -> tuple[Sent, ...]:
    """The senders that an inventory names: none where an agent reports the host."""
    return tuple(
        Sent(
            str(one["name"]),
            frozenset(one.get("offers") or ()),
            frozenset(one.get("refused") or ()),
            str(one.get("version") or ""),
        )
        for one in body.get("senders") or ()
        if one.get("name") in SENDERS
    )


def why_unsent(sent: Sequence[Sent], keys: Sequence[str]) -> Unsent | None:
    """Why none of some counters came; None where the kernel is known to lack them, or an agent would have sent them."""
    if not sent:
        return None
    offered = [
        (SENDERS[one.sender], one, offer)
        for one in sent
        for offer in [next((offer for offer in SENDERS[one.sender].offers if offer.covers(keys[0])), None)]
        if offer is not None
    ]
    if any(offer.name in one.offers | one.refused for _, one, offer in offered):
        return None
    titles = _titles(sent)
    says = f"{_join(titles)} {_send(titles)} no such series"
    offered = [one for one in offered if one[2].setting]
    if offered:
        sender, _, offer = offered[0]
        return Unsent(f"{says}: {sender.verb} {offer.setting}{_of(sender, titles)}.", offer.setting)
    return Unsent(f"{says}. {SENDERS[sent[0].sender].instead}", None)


NEEDED = {
    "promotions": ("host|vmstat|pgpromote_success",),
    "demotions": ("host|vmstat|pgdemote_kswapd", "host|sysstat|pgdem"),
    "hint faults": ("host|vmstat|numa_hint_faults",),
    "memory by node": ("node:0|meminfo|MemTotal",),
}
"""What the ledger and its verdicts rest on, by counters of which one is enough."""


@dataclass(frozen=True, slots=True)
class Lack:
    """What of `NEEDED` did not come, from whom, and the settings that bring it; `fix` says so."""

    titles: tuple[str, ...]
    lacking: tuple[str, ...]
    fix: str

    @property
    def cause(self) -> str:
        """What nobody sends, in a sentence or two."""
        what = f"{_join(self.titles)} {_send(self.titles)} nothing of: {', '.join(self.lacking)}."
        return f"{what} Whether the kernel counts them is not known."


def find_lack(sent: Sequence[Sent], came: Iterable[str]) -> Lack | None:
    """What a host's senders leave out of what the ledger needs; None where nothing, or nothing that they could send."""
    known = set(came)
    unsent: dict[str, Unsent] = {}
    for name, keys in NEEDED.items():
        found = [] if known.intersection(keys) else [why_unsent(sent, [key]) for key in keys]
        missed = [one for one in found if one is not None]
        if missed and len(missed) == len(found):
            unsent[name] = next((one for one in missed if one.setting), missed[0])
    if not unsent:
        return None
    settings = dict.fromkeys(found.setting for found in unsent.values() if found.setting)
    sender = SENDERS[sent[0].sender]
    # Settings are of the sender that offers most: one program to restart brings all that it can.
    for one in sent:
        if any(offer.setting in settings for offer in SENDERS[one.sender].offers):
            sender = SENDERS[one.sender]
            break
    titles = _titles(sent)
    start = f"{sender.verb[:1].upper()}{sender.verb[1:]} {sender.between.join(settings)}{_of(sender, titles)}."
    fixes = [start] if settings else []
    if any(found.setting is None for found in unsent.values()):
        fixes.append(sender.instead)
    return Lack(titles, tuple(unsent), " ".join(fixes))


def _titles(sent: Sequence[Sent]) -> tuple[str, ...]:
    telling = [SENDERS[one.sender] for one in sent]
    # What tells of containers alone is not to blame for what is missing of the host.
    return tuple(dict.fromkeys(one.title for one in telling if one.offers) or (one.title for one in telling))


def _join(titles: Sequence[str]) -> str:
    return " and ".join(titles)


def _send(titles: Sequence[str]) -> str:
    return "send" if len(titles) > 1 else "sends"


def _of(sender: Sender, titles: Sequence[str]) -> str:
    """Whose setting it is, where that is not clear."""
    return f" ({sender.title})" if len(titles) > 1 else ""
