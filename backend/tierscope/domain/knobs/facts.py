"""What rules look at: a host, its flows and its heat. None means that it is not known, and no rule fires on it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

PingPong = Literal["ok", "warn", "crit"]
ServiceClass = Literal["latency", "bandwidth", "mixed", "insensitive"]

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


@dataclass(frozen=True, slots=True)
class Host:
    """A host as it stands. `knobs` holds the values of settings that exist; None for one that cannot be read."""

    knobs: Mapping[str, str | None]
    has_slow_tier: bool
    sockets: int = 1
    is_tpp: bool = False
    dram_node: int = 0
    slow_nodes: tuple[int, ...] = ()
    dram_bytes: float | None = None
    dram_managed_bytes: float | None = None
    dram_free_bytes: float | None = None
    slow_bytes: float | None = None
    slow_free_bytes: float | None = None
    unmovable_bytes: float | None = None
    dram_gb_per_s: float | None = None
    slow_gb_per_s: float | None = None
    slow_write_gb_per_s: float | None = None

    def number(self, path: str) -> float | None:
        """The value of a setting as a number; None where it does not exist, cannot be read, or is none."""
        try:
            return float(self.knobs.get(path) or "")
        except ValueError:
            return None

    def is_on(self, path: str) -> bool | None:
        """Whether a switch is on; None where it does not exist or cannot be read."""
        value = self.knobs.get(path)
        return None if value is None else value.strip().lower() in {"1", "y", "true"}


@dataclass(frozen=True, slots=True)
class Flows:
    """Rates over the window; pages a second unless the name says otherwise."""

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


@dataclass(frozen=True, slots=True)
class Heat:
    """What heat says. Shares are in 0..1; `served_*` are shares of accesses that DRAM serves."""

    hot_outside_dram_bytes: float | None = None
    cold_in_dram_bytes: float | None = None
    served_now: float | None = None
    served_best: float | None = None
    density_anon: float | None = None
    density_file: float | None = None
    file_share_of_dram: float | None = None
    cold_anon_share: float | None = None
    cold_file_share: float | None = None
    hot_anon_share: float | None = None
    loss_upper: float | None = None
    loss_target: float | None = None
    service_class: ServiceClass | None = None


@dataclass(frozen=True, slots=True)
class Facts:
    """All of it."""

    host: Host
    flows: Flows = field(default_factory=Flows)
    heat: Heat = field(default_factory=Heat)
