"""What rules look at: a host, its flows and its heat. None means that it is not known, and no rule fires on it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from tierscope.domain.ledger import Word
from tierscope.domain.ratio import ServiceClass
from tierscope.domain.ratio.memory_bound import MemoryBound

PingPong = Literal["ok", "warn", "crit"]

NUMA_BALANCING = "/proc/sys/kernel/numa_balancing"
DEMOTION = "/sys/kernel/mm/numa/demotion_enabled"
WATERMARK_SCALE = "/proc/sys/vm/watermark_scale_factor"
DEMOTE_SCALE = "/proc/sys/vm/demote_scale_factor"
RATE_LIMIT = "/proc/sys/kernel/numa_balancing_promote_rate_limit_MBps"
SCHED = "/sys/kernel/debug/sched/numa_balancing"
HOT_THRESHOLD = f"{SCHED}/hot_threshold_ms"
SCAN_PERIOD_MIN = f"{SCHED}/scan_period_min_ms"
SCAN_PERIOD_MAX = f"{SCHED}/scan_period_max_ms"
SCAN_SIZE = f"{SCHED}/scan_size_mb"
SWAPPINESS = "/proc/sys/vm/swappiness"
ZONE_RECLAIM = "/proc/sys/vm/zone_reclaim_mode"
INTERLEAVE = "/sys/kernel/mm/mempolicy/weighted_interleave"
INTERLEAVE_AUTO = (f"{INTERLEAVE}/auto", f"{INTERLEAVE}/__auto_type")
"""The switch under its name, and under that of kernel builds in which a macro swallowed it."""
LRU_GEN = "/sys/kernel/mm/lru_gen/enabled"
MIN_TTL = "/sys/kernel/mm/lru_gen/min_ttl_ms"
THP = "/sys/kernel/mm/transparent_hugepage"
KSM_RUN = "/sys/kernel/mm/ksm/run"
KEPT_CPUS = ("/sys/devices/system/cpu/isolated", "/sys/devices/system/cpu/nohz_full")
ZSWAP = "/sys/module/zswap/parameters/enabled"
DAMON_MTIER = ("/sys/module/damon_sample_mtier/parameters/enabled", "/sys/module/mtier/parameters/enable")
"""The switch of a module of the kernel's samples that tiers by DAMON, and what it had at first."""
MEMMAP_ON_MEMORY = "/sys/module/memory_hotplug/parameters/memmap_on_memory"
_DAX = "/sys/bus/dax/devices/"

TIERING_BIT = 2
"""The bit of kernel.numa_balancing that promotes from slower tiers."""
CLASSIC_BIT = 1
"""The bit that moves pages and tasks together, between nodes of one tier too."""
SWAP_FULL = 0.95
"""Use from which swap takes hardly anything more."""
NOT_FASTER = frozenset({"dram", "cxl", "pmem", "unknown", ""})
"""Classes of memory that a tier below DRAM may have without being faster than it."""
FREE_SLOW_MIN = 0.10
"""A slower tier with more than this share free has room."""
FREE_DRAM_FULL = 0.05
FULL_WATERMARKS = 1.5
"""DRAM counts as full up to so many times its highest watermark: there the kernel reclaims, demotes or spills."""

STATED = "The bandwidth of the tiers is what firmware states; `tierscope-agent bench` measures it."

_WHOLE = re.compile(r"[0-9]{1,10}")
_ON, _OFF = frozenset({"1", "y", "Y", "true", "on"}), frozenset({"0", "n", "N", "false", "off"})


def is_same_value(one: str, other: str) -> bool:
    """Whether two texts of a setting say the same: a switch that is written as `1` reads as `true`."""
    return one == other or any({one, other} <= words for words in (_ON, _OFF))


@dataclass(frozen=True, slots=True)
class SwapDrive:
    """A swap area: `kind` as the kernel names it (`partition`, `file`) or `zram`; the rest None where not known.

    `zoned` is `none`, `host-aware` or `host-managed`; `discard` says whether the device takes TRIM.
    """

    name: str
    kind: str
    used_ratio: float | None
    zoned: str | None = None
    rotational: bool | None = None
    discard: bool | None = None

    @property
    def is_zoned(self) -> bool:
        """Whether the host writes to zones."""
        return self.zoned in ("host-aware", "host-managed")

    @property
    def is_zram(self) -> bool:
        """Whether it is compressed memory: by its kind, or by its name where the kernel calls it a partition."""
        return self.kind == "zram" or self.name.removeprefix("/dev/").removeprefix("block/").startswith("zram")

    @property
    def is_block_flash(self) -> bool:
        """Whether it is known to be a solid-state drive with a translation layer of its own."""
        return not self.is_zram and not self.is_zoned and self.rotational is False


@dataclass(frozen=True, slots=True)
class Host:
    """A host as it stands. `knobs` holds the values of settings that exist; None for one that cannot be read.

    `sockets`: nodes of the top tier with processors. Without `bandwidth_measured` the bandwidth of the slow tier is
    what firmware states. Counts of pages are in pages of `page_bytes`, None where the host does not say.
    `promotion_nodes`: how many nodes take promotions, where it was seen. `damon_promotes`, `damon_demotes` and
    `damon_spreads` say whether DAMON moves hot pages up, cold ones down, and hot ones down, `barring` who is kept off
    slower nodes by a cpuset, `mover` what else moves pages, `bound` whose memory a policy places, `gpus` whose driver
    follows mappings, each in words; `pages_out` says whether DAMON reclaims, `policies_seen` says whether the agent
    could look at the policies of processes, `gave_up` whether kswapd sleeps on a node because it got nowhere.
    `cannot_promote`: the kernel is built without NUMA balancing. `agent_told` is False where no agent made the
    inventory: what it lacks is then not known to be absent.
    """

    knobs: Mapping[str, str | None]
    has_slow_tier: bool
    sockets: int = 1
    is_tpp: bool = False
    top_nodes: tuple[int, ...] = (0,)
    slow_nodes: tuple[int, ...] = ()
    dram_bytes: float | None = None
    dram_managed_bytes: float | None = None
    dram_free_bytes: float | None = None
    dram_watermark_bytes: float | None = None
    slow_bytes: float | None = None
    slow_free_bytes: float | None = None
    unmovable_bytes: float | None = None
    dram_gb_per_s: float | None = None
    slow_gb_per_s: float | None = None
    slow_write_gb_per_s: float | None = None
    bandwidth_measured: bool = True
    swap_drives: tuple[SwapDrive, ...] = ()
    page_bytes: int | None = None
    kernel_release: str = ""
    slow_classes: tuple[str, ...] = ()
    promotion_nodes: int | None = None
    cpus: int | None = None
    damon_promotes: bool = False
    damon_demotes: bool = False
    damon_spreads: bool = False
    cannot_promote: bool = False
    barring: str | None = None
    mover: str | None = None
    bound: str | None = None
    gpus: str | None = None
    policies_seen: bool = False
    gave_up: bool = False
    pages_out: bool = False
    cgroup_version: str = ""
    processes_seen: bool = False
    agent_told: bool = False

    def number(self, path: str) -> int | None:
        """The value of a setting; None where it does not exist, cannot be read, or is no whole number."""
        value = (self.knobs.get(path) or "").strip()
        return int(value) if _WHOLE.fullmatch(value) else None

    def is_on(self, path: str) -> bool | None:
        """Whether a switch is on; None where it does not exist, cannot be read, or says neither."""
        value = (self.knobs.get(path) or "").strip()
        return True if value in _ON else False if value in _OFF else None

    @property
    def struct_pages_stay_below(self) -> bool:
        """Whether struct pages of devices' memory lie on it: by the kernel's parameter and each device's setting."""
        devices = [path for path in self.knobs if path.startswith(_DAX) and path.endswith("/memmap_on_memory")]
        paths = (MEMMAP_ON_MEMORY, *devices)
        return bool(devices) and all(self.is_on(path) or self.knobs.get(path) == "force" for path in paths)

    @property
    def limited_nodes(self) -> int:
        """Nodes each of which has the promotion limit for itself (kernel/sched/fair.c numa_promotion_rate_limit)."""
        return self.promotion_nodes or max(self.sockets, len(self.top_nodes), 1)

    @property
    def promotes(self) -> bool | None:
        """Whether the kernel moves hot pages up: by NUMA balancing or DAMON. None where the setting is not known."""
        mode = self.number(NUMA_BALANCING)
        return True if self.damon_promotes else None if mode is None else bool(mode & TIERING_BIT)

    @property
    def demotes(self) -> bool | None:
        """Whether the kernel moves cold pages down: in reclaim or by DAMON. None where the setting is not known."""
        return True if self.damon_demotes else self.is_on(DEMOTION)

    def unreadable(self, *paths: str) -> tuple[str, ...]:
        """Those settings that exist and could not be read, in words."""
        return tuple(f"the value of {path}" for path in paths if path in self.knobs and self.knobs[path] is None)

    @property
    def bandwidth_note(self) -> str | None:
        """What to say beside advice that stands on the bandwidth of the tiers; None where it was measured."""
        return None if self.bandwidth_measured else STATED

    @property
    def slow_free_ratio(self) -> float | None:
        """Free share of the slower tiers."""
        return self.slow_free_bytes / self.slow_bytes if self.slow_bytes and self.slow_free_bytes is not None else None

    @property
    def slow_has_room(self) -> bool | None:
        """Whether the slower tiers could take more."""
        free = self.slow_free_ratio
        return None if free is None else free > FREE_SLOW_MIN

    @property
    def dram_is_full(self) -> bool | None:
        """Whether DRAM has no more free than the kernel itself keeps: by its share, or by its watermarks."""
        if not self.dram_bytes or self.dram_free_bytes is None:
            return None
        kept = max(FREE_DRAM_FULL * self.dram_bytes, FULL_WATERMARKS * (self.dram_watermark_bytes or 0.0))
        return self.dram_free_bytes <= kept


@dataclass(frozen=True, slots=True)
class Flows:
    """Rates over the steady part of the window; pages a second unless the name says otherwise.

    `hot_share_of_slow` is promotion candidates per hint fault: how much of what is touched on the slower tier is hot.
    `slow_ratio` and `slow_anon_ratio` are shares of resident and of anon memory that lie on slower tiers,
    `slow_shared_ratio` and `slow_cache_ratio` are those of shared memory and of file cache that no process maps in what
    lies there, the latter at least. `local_reclaim_failed_per_s`: reclaim of the
    own node, with vm.zone_reclaim_mode, that freed too little. `slow_access_ratio`: of the host's accesses, those that
    slow memory serves.
    """

    promoted_pages_per_s: float | None = None
    demoted_pages_per_s: float | None = None
    candidate_pages_per_s: float | None = None
    candidates_steady_minutes: float | None = None
    swapped_out_pages_per_s: float | None = None
    refaulted_file_pages_per_s: float | None = None
    spilled_pages_per_s: float | None = None
    allocation_p99_bytes_per_s: float | None = None
    hint_fault_cpu_ratio: float | None = None
    useful_promotion_p95_mb_per_s: float | None = None
    tier_move_slow_bandwidth_ratio: float | None = None
    promotion_lag_seconds: float | None = None
    ping_pong: PingPong | None = None
    swap_used_ratio: float | None = None
    swap_write_amplification: float | None = None
    swapped_in_pages_per_s: float | None = None
    refaulted_anon_pages_per_s: float | None = None
    allocation_stalls_per_s: float | None = None
    direct_demoted_ratio: float | None = None
    limit_reclaimed_ratio: float | None = None
    limit_events: int | None = None
    hot_share_of_slow: float | None = None
    slow_ratio: float | None = None
    slow_anon_ratio: float | None = None
    slow_shared_ratio: float | None = None
    slow_cache_ratio: float | None = None
    local_reclaim_failed_per_s: float | None = None
    file_ratio_of_dram: float | None = None
    slow_access_ratio: float | None = None
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Heat:
    """What heat says. Shares are in 0..1; `served_*` are shares that DRAM serves, of what `served_of` names.

    `served_best`: with cold memory in DRAM replaced, `served_most`: with all of it that is not hot.
    """

    hot_outside_dram_bytes: float | None = None
    cold_in_dram_bytes: float | None = None
    served_now: float | None = None
    served_best: float | None = None
    served_most: float | None = None
    served_of: str = "accesses"
    density_anon: float | None = None
    density_file: float | None = None
    file_share_of_dram: float | None = None
    cold_anon_share: float | None = None
    cold_file_share: float | None = None
    hot_anon_share: float | None = None
    loss_upper: float | None = None
    loss_target: float | None = None
    bound: MemoryBound | None = None

    @property
    def service_class(self) -> ServiceClass | None:
        """What limits the host's memory, None where it is not known."""
        return None if self.bound is None else self.bound.name


@dataclass(frozen=True, slots=True)
class Facts:
    """All of it. `verdict` is the word that the ledger of the same window got, None where it was not judged.

    `unsettled`: settings that had another value when the window began.
    """

    host: Host
    flows: Flows = field(default_factory=Flows)
    heat: Heat = field(default_factory=Heat)
    verdict: Word | None = None
    unsettled: frozenset[str] = frozenset()
