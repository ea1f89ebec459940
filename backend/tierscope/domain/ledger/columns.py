"""The columns of the ledger: what each means and which kernel counters it is made of, per dialect.

A flow is a difference over an interval; a gauge is a state at the interval's end. Sources are names of one file in one
scope; `Terms.names` are added and `Terms.minus` subtracted. docs/method/tier-moves.md has the table in words.
"""

from dataclasses import dataclass
from typing import Literal, TypedDict

Trust = Literal["exact", "bound", "sampled", "partial", "not_supported", "not_collected"]
ABSENT: frozenset[Trust] = frozenset({"not_supported", "not_collected"})
"""Of columns without a number: the kernel does not count them, or whoever reports the host does not send them."""
MOVED = ("promoted_pages", "demoted_pages")
Dialect = Literal["mainline", "tpp", "none"]

_DEMOTED = ("pgdemote_kswapd", "pgdemote_direct", "pgdemote_khugepaged", "pgdemote_proactive")
_STEAL = ("pgsteal_anon", "pgsteal_file")
_STEAL_WHO = ("pgsteal_kswapd", "pgsteal_direct", "pgsteal_khugepaged", "pgsteal_proactive")
_STALLS = (
    "allocstall_normal",
    "allocstall_dma",
    "allocstall_dma32",
    "allocstall_high",
    "allocstall_movable",
    "allocstall_device",
)


@dataclass(frozen=True, slots=True)
class Terms:
    """Counters to add and to subtract. With `any_of` only the first name is needed, the others where they exist.

    Of those to subtract the first `minus_needed` are needed: without them too much would be left.
    """

    names: tuple[str, ...]
    minus: tuple[str, ...] = ()
    minus_needed: int = 0
    source: str = "vmstat"
    any_of: bool = False
    trust: Trust = "exact"
    note: str = ""

    @property
    def missing(self) -> str:
        """What is said where none of the counters is there."""
        return NOT_FOLLOWED if self.source == _FOLLOWED else f"This kernel has no {', '.join(self.names)}."


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the ledger. `service` is None where the kernel keeps no such counter per cgroup."""

    key: str
    label: str
    unit: str
    host: Terms
    service: Terms | None = None
    tpp: Terms | None = None
    gauge: bool = False
    summed: str = ""
    """The key of a sum of all of these counters, as another program makes it."""


class _Both(TypedDict):
    host: Terms
    service: Terms


def _same(*names: str, any_of: bool = False, note: str = "") -> _Both:
    """Terms for a counter of one name in /proc/vmstat and in memory.stat."""
    return {
        "host": Terms(names, any_of=any_of, note=note),
        "service": Terms(names, source="memory.stat", any_of=any_of, note=note),
    }


_FOLLOWED = "page_moves"
NOT_FOLLOWED = "No pages are followed: it takes an agent that may read page frames, and memory in a lower tier."


def _followed(name: str, note: str = "") -> _Both:
    """Terms for what the agent counts of the pages that it follows, of both kinds."""
    terms = Terms((f"{name}[anon]", f"{name}[file]"), source=_FOLLOWED, trust="sampled", note=note)
    return {"host": terms, "service": terms}


_DAMON = "In pgmigrate_success alone, beside promotions and demotions."
_DAMON_OF_HOST = "DAMON counts by scheme, not by cgroup."
_TRAFFIC = ("read_bytes", "write_bytes")
_SERVED = "Of the loads that a sampler saw memory serve; caches are left out."
_WHOLE_HOST = "Of the whole host: memory controllers do not tell whose accesses they serve."
_OF_SERVICES = "Samplers measure services: see those of the host."
_TPP_CANDIDATES = "TPP counts promotion decisions (hint faults), not pages, and before the hotness test."
_TPP_EVENTS = "TPP counts one event per successful promotion, a huge page too: a lower bound in pages."

COLUMNS: tuple[Column, ...] = (
    Column(
        "promoted_pages",
        "Promoted",
        "pages",
        **_same(
            "pgpromote_success",
            note="Counted while kernel.numa_balancing has bit 2; a huge page counts its base pages.",
        ),
        tpp=Terms(("pgpromote_anon", "pgpromote_file"), trust="bound", note=_TPP_EVENTS),
    ),
    Column(
        "promoted_anon_pages",
        "Promoted, anon",
        "pages",
        Terms((), trust="not_supported", note="Mainline does not split promotions by kind."),
        tpp=Terms(("pgpromote_anon",), trust="bound", note=_TPP_EVENTS),
    ),
    Column(
        "promoted_file_pages",
        "Promoted, file",
        "pages",
        Terms((), trust="not_supported", note="Mainline does not split promotions by kind."),
        tpp=Terms(("pgpromote_file",), trust="bound", note=_TPP_EVENTS),
    ),
    Column(
        "promotion_candidates_pages",
        "Promotion candidates",
        "pages",
        Terms(
            ("pgpromote_candidate",),
            note="Counted before the rate limiter decides, and without the fast path for free memory: "
            "promotions can exceed candidates.",
        ),
        tpp=Terms(("pgpromote_candidate",), trust="partial", note=_TPP_CANDIDATES),
    ),
    Column(
        "promotion_candidates_unlimited_pages",
        "Candidates not rate limited",
        "pages",
        Terms(
            ("pgpromote_candidate_nrl",), note="Granted because the top tier had plenty free; not tested for hotness."
        ),
    ),
    Column(
        "candidates_demoted",
        "Candidates demoted before",
        "events",
        Terms((), trust="not_supported", note="Mainline keeps no flag of an earlier demotion."),
        tpp=Terms(
            ("pgpromote_candidate_demoted",),
            trust="partial",
            note="The flag clears at the first decision, so that later tries of a failed promotion look fresh.",
        ),
    ),
    Column(
        "followed_promotions",
        "Followed pages promoted",
        "events",
        **_followed("promotions", "Of a random sample of pages, each followed for ten minutes at least."),
    ),
    Column("followed_promotions_squared", "The same, squared by page", "events", **_followed("promotions_squared")),
    Column(
        "followed_round_trips",
        "Followed pages that went round",
        "events",
        **_followed("round_trips", "Promoted within ten minutes of their demotion."),
    ),
    Column(
        "followed_unsure",
        "Followed pages whose moves are unsure",
        "events",
        **_followed(
            "unsure_moves", "Frames that changed within their tier: mapped anew, compacted, or there and back."
        ),
    ),
    Column("demoted_kswapd_pages", "Demoted by kswapd", "pages", **_same("pgdemote_kswapd")),
    Column(
        "demoted_direct_pages",
        "Demoted by allocating tasks",
        "pages",
        **_same("pgdemote_direct", note="Holds memory.reclaim work too where pgdemote_proactive does not exist."),
    ),
    Column("demoted_khugepaged_pages", "Demoted by khugepaged", "pages", **_same("pgdemote_khugepaged")),
    Column("demoted_proactive_pages", "Demoted proactively", "pages", **_same("pgdemote_proactive")),
    Column(
        "demoted_pages",
        "Demoted",
        "pages",
        **_same(*_DEMOTED, any_of=True, note="The sum of all pgdemote lines that this kernel has."),
        tpp=Terms(("pgdemote_anon", "pgdemote_file"), note="The sum by kind; equals kswapd + direct."),
        summed="host|sysstat|pgdem",
    ),
    Column(
        "demoted_anon_pages",
        "Demoted, anon",
        "pages",
        Terms((), trust="not_supported", note="Mainline does not split demotions by kind."),
        tpp=Terms(("pgdemote_anon",), trust="partial", note="The kind is that of the first page of a batch."),
    ),
    Column(
        "demoted_file_pages",
        "Demoted, file",
        "pages",
        Terms((), trust="not_supported", note="Mainline does not split demotions by kind."),
        tpp=Terms(("pgdemote_file",), trust="partial", note="The kind is that of the first page of a batch."),
    ),
    Column(
        "numa_migrated_pages",
        "Moved by NUMA balancing",
        "pages",
        **_same("numa_pages_migrated", note="All moves of NUMA balancing, those within one tier too."),
    ),
    Column(
        "migrate_success_pages",
        "Migrations of all causes",
        "pages",
        Terms(("pgmigrate_success",), note="Compaction, mbind, hotplug and DAMON are in it."),
    ),
    Column(
        "migrate_fail_pages",
        "Failed migrations",
        "pages",
        Terms(
            ("pgmigrate_fail",), trust="partial", note="Promotions refused before a move is tried are in no counter."
        ),
    ),
    Column(
        "other_moves_pages",
        "Moves of other causes",
        "pages",
        Terms(
            ("pgmigrate_success",),
            minus=("pgpromote_success", *_DEMOTED),
            any_of=True,
            trust="bound",
            note="All moves less promotions and demotions: compaction and DAMON, and demotions that a kernel "
            "with multi-generation LRU failed to count.",
        ),
        tpp=Terms((), trust="not_supported", note="TPP counts promotions in events, moves in pages."),
    ),
    Column(
        "damon_promoted_bytes",
        "Moved to the top tier by DAMON",
        "bytes",
        Terms(
            ("sz_applied",),
            source="damos",
            trust="bound",
            note=f"Moved by schemes to nodes of the top tier, from any other node. {_DAMON}",
        ),
        service=Terms((), trust="not_supported", note=_DAMON_OF_HOST),
    ),
    Column(
        "damon_demoted_bytes",
        "Moved to slower tiers by DAMON",
        "bytes",
        Terms(
            ("sz_applied",),
            source="damos",
            trust="bound",
            note=f"Moved by schemes to nodes of slower tiers, from any other node. {_DAMON}",
        ),
        service=Terms((), trust="not_supported", note=_DAMON_OF_HOST),
    ),
    Column(
        "damon_paged_out_bytes",
        "Reclaimed by DAMON",
        "bytes",
        Terms(
            ("sz_applied",),
            source="damos",
            trust="partial",
            note="What pageout schemes reclaimed; where demotion is on, some of it was demoted.",
        ),
        service=Terms((), trust="not_supported", note=_DAMON_OF_HOST),
    ),
    Column("hint_faults", "Hint faults", "faults", **_same("numa_hint_faults", note="One per fault, a huge page too.")),
    Column(
        "hint_faults_local",
        "Local hint faults",
        "faults",
        Terms(
            ("numa_hint_faults_local",), trust="partial", note="About 0 by design in tiering mode: no locality measure."
        ),
    ),
    Column("pte_updates", "Page-table entries scanned", "entries", **_same("numa_pte_updates")),
    Column("swap_in_pages", "Swapped in", "pages", **_same("pswpin", "zswpin", any_of=True)),
    Column(
        "swap_out_pages",
        "Swapped out",
        "pages",
        **_same("pswpout", "zswpout", any_of=True, note="Device swap and zswap; written back from zswap counts twice."),
    ),
    Column("refault_anon_pages", "Refaults, anon", "pages", **_same("workingset_refault_anon")),
    Column("refault_file_pages", "Refaults, file", "pages", **_same("workingset_refault_file")),
    Column(
        "reclaimed_pages",
        "Reclaimed, demotions included",
        "pages",
        Terms(_STEAL, note="Demoted pages count as reclaimed in the kernel."),
        service=Terms(("pgsteal",), source="memory.stat", note="Demoted pages count as reclaimed in the kernel."),
    ),
    Column(
        "reclaimed_true_pages",
        "Evicted from memory",
        "pages",
        Terms(_STEAL, minus=_DEMOTED, note="Reclaimed less demoted."),
        service=Terms(("pgsteal",), minus=_DEMOTED, source="memory.stat", note="Reclaimed less demoted."),
        tpp=Terms(_STEAL, minus=("pgdemote_anon", "pgdemote_file"), note="Reclaimed less demoted."),
    ),
    Column(
        "limit_reclaimed_pages",
        "Reclaimed for cgroup limits",
        "pages",
        Terms(
            _STEAL,
            minus=_STEAL_WHO,
            minus_needed=2,
            trust="bound",
            note="Reclaim by kind less reclaim by who: work for memory.high, memory.max and memory.reclaim, which "
            "kernels before 7.2 leave out of the lines by who.",
        ),
    ),
    Column(
        "allocation_spill",
        "Allocations off their node (numa_foreign)",
        "allocations",
        Terms(("numa_foreign",), note="Allocations, not pages: wanted on one node, given by another."),
    ),
    Column(
        "reclaim_scanned_pages",
        "Scanned (pgscan)",
        "pages",
        Terms(("pgscan_anon", "pgscan_file"), note="Candidates to leave, cgroup work and demotions included."),
        service=Terms(("pgscan",), source="memory.stat", note="Candidates to leave, demotions included."),
    ),
    Column(
        "reclaim_passed_over_pages",
        "Rotated or kept (pgrefill)",
        "pages",
        **_same(
            "pgrefill",
            note="In use when reclaim looked: with multi-generation LRU, pages found younger than the list they were "
            "on; with the classic LRU, active pages that were examined.",
        ),
    ),
    Column(
        "huge_pte_updates",
        "Huge page-table entries scanned",
        "entries",
        Terms(("numa_huge_pte_updates",), note="Each counts as 512 page-table entries scanned, and faults once."),
    ),
    Column("direct_scan_pages", "Scanned by allocating tasks", "pages", Terms(("pgscan_direct",))),
    Column("direct_reclaim_stalls", "Direct reclaim stalls", "events", Terms(_STALLS, any_of=True)),
    Column(
        "psi_some_us",
        "Memory pressure, some",
        "us",
        Terms(
            ("some_total_us",),
            source="pressure.memory",
            trust="partial",
            note="kswapd's own demotion work counts as pressure on the host: judge a service by its cgroup.",
        ),
        service=Terms(("some_total_us",), source="memory.pressure"),
    ),
    Column(
        "psi_full_us",
        "Memory pressure, full",
        "us",
        Terms(("full_total_us",), source="pressure.memory", trust="partial", note="As for some."),
        service=Terms(("full_total_us",), source="memory.pressure"),
    ),
    Column(
        "oom_kills", "OOM kills", "events", Terms(("oom_kill",)), service=Terms(("oom_kill",), source="memory.events")
    ),
    Column(
        "limit_events",
        "Memory limit reached",
        "events",
        Terms((), trust="not_supported", note="Limits belong to cgroups: see the services of the host."),
        service=Terms(("high", "max"), source="memory.events"),
    ),
    Column(
        "fast_traffic_bytes",
        "Read and written at fast memory",
        "bytes",
        Terms(_TRAFFIC, note="Bytes at the memory controllers of the other nodes; page moves are in it."),
        service=Terms(_TRAFFIC, note=_WHOLE_HOST),
    ),
    Column(
        "slow_traffic_bytes",
        "Read and written at slow memory",
        "bytes",
        Terms(
            _TRAFFIC,
            note="Bytes at memory of slower tiers, and of nodes without processors, whatever their tier.",
        ),
        service=Terms(_TRAFFIC, note=_WHOLE_HOST),
    ),
    Column(
        "fast_loads",
        "Sampled loads from fast memory",
        "loads",
        Terms((), trust="not_supported", note=_OF_SERVICES),
        service=Terms(("loads_dram_local", "loads_dram_remote"), source="served_loads", trust="sampled", note=_SERVED),
    ),
    Column(
        "slow_loads",
        "Sampled loads from slow memory",
        "loads",
        Terms((), trust="not_supported", note=_OF_SERVICES),
        service=Terms(("loads_cxl", "loads_pmem"), source="served_loads", trust="sampled", note=_SERVED),
    ),
    Column(
        "top_resident_bytes",
        "Resident on the top tier",
        "bytes",
        Terms((), note="LRU pages of the nodes of the top tier."),
        service=Terms((), note="anon + file of memory.numa_stat on the nodes of the top tier."),
        gauge=True,
    ),
    Column(
        "slow_resident_bytes",
        "Resident on slower tiers",
        "bytes",
        Terms((), note="LRU pages of all other nodes."),
        service=Terms((), note="anon + file of memory.numa_stat on all other nodes."),
        gauge=True,
    ),
)

COLUMN_KEYS: tuple[str, ...] = tuple(column.key for column in COLUMNS)
COLUMN_INDEX: dict[str, int] = {key: index for index, key in enumerate(COLUMN_KEYS)}
SHARES = tuple(column.key for column in COLUMNS if column.unit == "us")
"""Time that tasks waited: per second a share, of which hosts have a mean and no sum."""
TRAFFIC = ("fast_traffic_bytes", "slow_traffic_bytes")
"""Bytes at memory controllers: what measures how many accesses are slow. Of a service, those of its whole hosts."""
LOADS = ("fast_loads", "slow_loads")
"""Sampled loads by what served them: the same of a service alone."""
DAMON = ("damon_promoted_bytes", "damon_demoted_bytes", "damon_paged_out_bytes")
"""What the schemes of DAMON moved, which no other counter tells from moves of other causes."""
