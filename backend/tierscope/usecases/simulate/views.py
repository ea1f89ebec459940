"""What answers about sweeps hold; attributes are those of the API's models."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from tierscope.domain.base.figures import Figure, Window

Status = Literal["queued", "running", "done", "failed", "cancelled"]
SourceKind = Literal["service", "workload", "upload"]


@dataclass(frozen=True, slots=True)
class SourceView:
    """What a sweep replays. `host_id` None: all sampled hosts of the service; `name` is for people."""

    kind: SourceKind
    name: str
    service_id: str | None
    host_id: str | None
    workload: str | None
    pages: int | None
    intervals: int | None
    upload_id: str | None
    window: Window | None


@dataclass(frozen=True, slots=True)
class TaskView:
    """One policy of a sweep: `done` of `total` runs."""

    policy: str
    label: str
    status: Status
    done: int
    total: int
    error: str | None


@dataclass(frozen=True, slots=True)
class PricesView:
    """Price of a byte over that of DRAM."""

    slow_price_ratio: float
    swap_price_ratio: float


@dataclass(frozen=True, slots=True)
class SweepView:
    """A sweep as asked, and how far it is."""

    id: str
    name: str
    source: SourceView
    policies: tuple[str, ...]
    dram_ratios: tuple[float, ...]
    settings: dict[str, float]
    search: dict[str, tuple[float, ...]]
    seed: int | None
    cpu_seconds: float | None
    cost: PricesView
    status: Status
    tasks: tuple[TaskView, ...]
    done: int
    total: int
    progress_ratio: float
    created_by: str
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    origin: Literal["simulated"]


@dataclass(frozen=True, slots=True)
class SweepPage:
    """One page of the list."""

    items: tuple[SweepView, ...]
    next_cursor: str | None


@dataclass(frozen=True, slots=True)
class CellView:
    """One run. Rates and bytes are those of the mean host; `error`: why there are no figures."""

    run_id: str
    policy: str
    label: str
    dram_ratio: float
    settings: dict[str, float]
    local_ratio: Figure
    loss: Figure
    promoted_pages_per_s: Figure
    demoted_pages_per_s: Figure
    tier_move_mb_per_s: Figure
    ping_pong_ratio: Figure
    major_faults_per_s: Figure
    cost_ratio: float
    error: str | None


@dataclass(frozen=True, slots=True)
class OraclePoint:
    """The bound of all policies at a DRAM share."""

    dram_ratio: float
    local_ratio: float | None


@dataclass(frozen=True, slots=True)
class FrontierPoint:
    """A run that no other one beats in both cost and loss."""

    run_id: str
    policy: str
    dram_ratio: float
    cost_ratio: float
    loss: float


@dataclass(frozen=True, slots=True)
class SearchPoint:
    """Settings that were tried; `loss` None where not known."""

    run_id: str
    settings: dict[str, float]
    loss: float | None
    tier_move_mb_per_s: float | None


@dataclass(frozen=True, slots=True)
class SearchBest:
    """The best of what was tried."""

    run_id: str
    settings: dict[str, float]
    loss: float


@dataclass(frozen=True, slots=True)
class FlatnessView:
    """How flat the optimum is: `n_within` of `n` settings are as good; `spans` says how far each key can go."""

    within_ratio: float
    n_within: int
    n: int
    spans: dict[str, tuple[float, float]]
    at_edge: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SearchView:
    """The search of one policy at one DRAM share. `best` and `flatness` None until a loss is known."""

    policy: str
    label: str
    dram_ratio: float
    keys: tuple[str, ...]
    points: tuple[SearchPoint, ...]
    best: SearchBest | None
    flatness: FlatnessView | None


@dataclass(frozen=True, slots=True)
class ResultsView:
    """All that a sweep has found so far."""

    sweep_id: str
    origin: Literal["simulated"]
    peak_bytes: float | None
    pages: int | None
    intervals: int | None
    interval_seconds: float | None
    sampled_ratio: float | None
    n_hosts: int | None
    window: Window | None
    cells: tuple[CellView, ...]
    oracle: tuple[OraclePoint, ...]
    frontier: tuple[FrontierPoint, ...]
    searches: tuple[SearchView, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class StallView:
    """Seconds that the mean host waits beyond DRAM, by cause."""

    slow_accesses: float
    faults: float
    hint_faults: float
    tier_moves: float
    total: float


@dataclass(frozen=True, slots=True)
class KindShares:
    """Local share by page kind over the intervals."""

    anon: tuple[float | None, ...]
    file: tuple[float | None, ...]
    tmpfs: tuple[float | None, ...]


@dataclass(frozen=True, slots=True)
class RunSeries:
    """Figures of intervals, of the mean host; `interval` is the first one of each point."""

    interval: tuple[float, ...]
    local_ratio: tuple[float | None, ...]
    local_ratio_by_kind: KindShares
    promoted_pages: tuple[float | None, ...]
    demoted_pages: tuple[float | None, ...]
    ping_pong_pages: tuple[float | None, ...]
    dram_free_bytes: tuple[float | None, ...]
    swap_written_bytes: tuple[float | None, ...]
    failed_promotion_pages: tuple[float | None, ...]
    tier_move_mb_per_s: tuple[float | None, ...]


@dataclass(frozen=True, slots=True)
class RunView(CellView):
    """One run with all its totals and its series; these are None where the run has an error."""

    sweep_id: str
    origin: Literal["simulated"]
    searched: bool
    totals: dict[str, float | None] | None
    local_ratio_by_kind: dict[str, float | None] | None
    stall_seconds: StallView | None
    series: RunSeries | None


@dataclass(frozen=True, slots=True)
class HeatRow:
    """A band of pages of one kind, by first use."""

    label: str
    kind: str
    pages: int


@dataclass(frozen=True, slots=True)
class SweepHeat:
    """The trace's heat: log2 of 1 + accesses by band and column; None where no page of the band was there.

    `reason`: why there is none yet.
    """

    sweep_id: str
    origin: Literal["simulated"]
    rows: tuple[HeatRow, ...]
    interval: tuple[int, ...]
    accesses: tuple[tuple[float | None, ...], ...]
    log2: Literal[True]
    host_name: str | None
    reason: str | None


@dataclass(frozen=True, slots=True)
class SettingView:
    """Something that can be set; switches are 0 and 1."""

    name: str
    default: float
    lowest: float
    highest: float
    unit: str
    source: str


@dataclass(frozen=True, slots=True)
class PolicyView:
    """A policy with its settings."""

    name: str
    label: str
    has_slow_tier: bool
    settings: tuple[SettingView, ...]


@dataclass(frozen=True, slots=True)
class PoliciesView:
    """All policies, and what all of them share."""

    policies: tuple[PolicyView, ...]
    machine_settings: tuple[SettingView, ...]
    cost_settings: tuple[SettingView, ...]


@dataclass(frozen=True, slots=True)
class SampledHost:
    """A host with page samples of a service, from and to when."""

    host_id: str
    name: str
    n_pages: int
    n_intervals: int
    sampled_ratio: float
    from_: datetime
    to: datetime


@dataclass(frozen=True, slots=True)
class SampledService:
    """A service with page samples."""

    service_id: str
    name: str
    origin: str
    hosts: tuple[SampledHost, ...]


@dataclass(frozen=True, slots=True)
class WorkloadView:
    """A synthetic workload."""

    name: str
    label: str
    source: str
    simulated: Literal[True]


@dataclass(frozen=True, slots=True)
class UploadView:
    """An uploaded page trace."""

    id: str
    name: str
    bytes: int
    pages: int
    intervals: int
    accesses: int
    created_by: str
    created_at: datetime


@dataclass(frozen=True, slots=True)
class SourcesView:
    """What can be replayed."""

    services: tuple[SampledService, ...]
    workloads: tuple[WorkloadView, ...]
    uploads: tuple[UploadView, ...]
