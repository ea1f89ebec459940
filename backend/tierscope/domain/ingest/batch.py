"""A decoded batch: frozen records with array views. Everything in them was checked; nothing is trusted twice.

Arrays are little-endian views of the received bytes or fresh arrays, never written to. Times are int64 nanoseconds.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tierscope.domain.base.buckets import DAY_US
from tierscope.domain.base.figures import Origin
from tierscope.domain.heat.rows import Method

Int64 = npt.NDArray[np.int64]
Bits = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class ServiceKey:
    """Namespace and name of a service."""

    namespace: str
    name: str


@dataclass(frozen=True, slots=True)
class Layout:
    """Sorted counter keys and their hash (16 bytes)."""

    hash: bytes
    keys: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class CounterBlock:
    """n samples of k counters."""

    layout_hash: bytes
    end_wall_ns: Int64
    """(n,)"""
    end_boottime_ns: Int64 | None
    """(n,); None where unknown."""
    values: Int64
    """(n, k), absolute; 0 where missing."""
    present: Bits | None
    """(n, k); None = all."""
    boot_ids: tuple[str, ...] | None
    """n; None = the batch's."""


@dataclass(frozen=True, slots=True, eq=False)
class HeatBlock:
    """n rows of heat; each of its columns is one of `HEAT_COLUMNS`."""

    method: Method
    end_wall_ns: Int64
    end_boottime_ns: Int64 | None
    services: tuple[ServiceKey, ...]
    groups: tuple[str, ...]
    kinds: Int64
    page_sizes: Int64
    tiers: tuple[str, ...]
    """"" where unknown."""
    columns: dict[str, Int64]
    """By name: (n, width). Absent = not measured; a row that lacks the column alone holds what stands for that."""
    period_events: float | None
    duty_ratio: float | None
    bits_per_interval: int
    """Bits of a page's 64-bit history that one interval takes."""


GAP_BINS = 63


@dataclass(frozen=True, slots=True, eq=False)
class GapBlock:
    """Reuse gaps of n (service, group, kind) over one block of intervals, in bytes; arrays (n, 63)."""

    method: Method
    end_wall_ns: int
    intervals: int
    services: tuple[ServiceKey, ...]
    groups: tuple[str, ...]
    kinds: Int64
    closed_bytes: Int64
    freed_bytes: Int64
    open_bytes: Int64
    censored_bytes: Int64 | None


@dataclass(frozen=True, slots=True, eq=False)
class TileEpoch:
    """The m rows of the tiles of one process group. `epoch_id` is signed: the same bits as the contract's."""

    epoch_id: int
    service: ServiceKey
    group: str
    method: Method
    region_bytes: int
    cell_log2_base: float
    cell_unit: float
    cell_measure: str
    kinds: Int64
    mappings: tuple[str, ...]
    offsets_bytes: Int64
    sizes_bytes: Int64
    start_wall_ns: int


@dataclass(frozen=True, slots=True)
class TileColumn:
    """One interval of an epoch: one byte per row."""

    epoch_id: int
    end_wall_ns: int
    cells: bytes


@dataclass(frozen=True, slots=True)
class PageSample:
    """Sampled pages of one process group over a block of intervals; `body` is what `domain.traces` packed."""

    service: ServiceKey
    group: str
    method: Method
    end_wall_ns: int
    """The end of the block's last interval."""
    sampled_ratio: float
    """Share of the group's pages that the hash selects."""
    counts: bool
    """Whether loads and stores are counts; else a load of 1 says that the page was active."""
    period_events: float | None
    duty_ratio: float | None
    n_intervals: int
    n_pages: int
    n_rows: int
    body: bytes


@dataclass(frozen=True, slots=True)
class InventoryService:
    """A service as the inventory lists it."""

    key: ServiceKey
    rule: str
    processes: int
    heat_measured: bool
    heat_reason: str


@dataclass(frozen=True, slots=True)
class Finding:
    """Something wrong or noteworthy, as the agent says."""

    id: str
    severity: str
    cause: str
    fix: str
    confidence: str


@dataclass(frozen=True, slots=True)
class Pod:
    """A pod that runs on the host; None where something is not known."""

    uid: str
    namespace: str | None
    name: str | None
    owner_kind: str | None
    owner: str | None
    owner_source: str | None
    """How the owner is known: `api` or `name`. `api` without an owner: the cluster says that it has none."""
    service: ServiceKey | None
    labels: dict[str, str] | None
    """Those that the agent's settings list; None where the cluster was not asked or did not answer."""


@dataclass(frozen=True, slots=True)
class PodList:
    """Pods of a node of a Kubernetes cluster."""

    pods: tuple[Pod, ...]
    left_out: int
    unavailable: str | None
    """Why something of them is not known as the agent's settings want it."""


@dataclass(frozen=True, slots=True)
class Inventory:
    """What a host is. `body` is the message with the contract's field names, without what changes by itself: pods."""

    body: dict[str, Any]
    services: tuple[InventoryService, ...]
    findings: tuple[Finding, ...]
    labels: dict[str, str]
    """Of the agent's own file."""
    kubernetes_labels: dict[str, str]
    labels_complete: bool
    """Whether labels that the host told before and are not here are gone."""
    interval_seconds: int
    """Nominal time between collections; 0 where the agent does not say."""
    kubernetes_labels_partial: bool
    """Whether labels that the cluster told before and are not here stay."""
    pods: PodList | None
    """None for a host that runs none."""


@dataclass(frozen=True, slots=True)
class SelfReport:
    """What the agent knows of itself; `collectors` with the contract's field names."""

    end_wall_ns: int
    window_ns: int
    cpu_ns: int
    rss_bytes: int
    spool_bytes: int
    spool_batches: int
    dropped_batches: int
    sent_bytes: int
    counters_dropped: int
    services_dropped: int
    budget_state: str
    """"" where the agent does not say; within | backed_off | stopped."""
    heat_rung: str
    """The heat back end in use, "" for none."""
    budget_reason: str
    guard_paused_intervals: int
    samples_taken: int
    samples_lost: int
    throttles: int
    collectors: tuple[dict[str, Any], ...]


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """One upload of one host."""

    host_id: str
    stream_id: bytes
    seq: int
    boot_id: str
    agent_version: str
    origin: Origin
    sealed_wall_ns: int
    sealed_boottime_ns: int | None
    inventory: Inventory | None
    layouts: tuple[Layout, ...]
    counters: tuple[CounterBlock, ...]
    heat: tuple[HeatBlock, ...]
    gaps: tuple[GapBlock, ...]
    tile_epochs: tuple[TileEpoch, ...]
    tile_columns: tuple[TileColumn, ...]
    page_samples: tuple[PageSample, ...]
    self_report: SelfReport | None
    inflated_bytes: int

    def day_starts_us(self) -> set[int]:
        """The days, by their first microsecond, in which its points end; of one that ends at midnight also that before.

        That is the day in which its minute is counted (`data_quality.minute_of`).
        """
        single = [part.end_wall_ns for part in self.gaps]
        single += [part.end_wall_ns for part in self.tile_columns]
        single += [part.end_wall_ns for part in self.page_samples]
        single += [epoch.start_wall_ns for epoch in self.tile_epochs]
        if self.self_report is not None:
            single.append(self.self_report.end_wall_ns)
        blocks = [block.end_wall_ns for block in self.counters] + [block.end_wall_ns for block in self.heat]
        times_us = np.concatenate([np.array(single, np.int64), *blocks]) // 1000
        return set(np.unique(np.concatenate([times_us, times_us - 1]) // DAY_US * DAY_US).tolist())
