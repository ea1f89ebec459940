"""What answers about sweeps hold; attributes are those of the API's models."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, ClassVar, Literal

from tierscope.domain.base.described import NAMES, Described
from tierscope.domain.base.figures import Figure, Origin, Window

Status = Literal["queued", "running", "done", "failed", "cancelled"]
SourceKind = Literal["service", "workload", "upload"]


@dataclass(frozen=True, slots=True)
class SweepSource:
    """What a sweep replays. `host_id` None: all sampled hosts of the service; `name` is for people."""

    kind: SourceKind
    name: Annotated[str, Described("For people.")]
    service_id: str | None
    host_id: Annotated[str | None, Described("Null: all sampled hosts of the service.")]
    workload: str | None
    pages: int | None
    intervals: int | None
    upload_id: str | None
    window: Annotated[Window | None, Described("Of a service's page samples.")]


@dataclass(frozen=True, slots=True)
class SweepTask:
    """One policy of a sweep: `done` of `total` runs."""

    policy: str
    label: str
    status: Status
    done: int
    total: int
    error: str | None


@dataclass(frozen=True, slots=True)
class SweepCost:
    """Price of a byte over that of DRAM."""

    slow_price_ratio: float
    swap_price_ratio: float


@dataclass(frozen=True, slots=True)
class Sweep:
    """A sweep as asked, and how far it is."""

    id: str
    name: str
    source: SweepSource
    policies: tuple[str, ...]
    dram_ratios: tuple[float, ...]
    settings: dict[str, float]
    search: dict[str, tuple[float, ...]]
    seed: int | None
    cpu_seconds: float | None
    cost: SweepCost
    status: Status
    tasks: tuple[SweepTask, ...]
    done: int
    total: int
    progress_ratio: float
    created_by: str
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    origin: Literal["simulated"]


@dataclass(frozen=True, slots=True)
class SweepSwap:
    """The policy's swap device under the traffic of the host that swaps most: docs/method/swap-devices.md."""

    device: str
    label: Annotated[str, Described("Name of the device for people.")]
    used_ratio: Annotated[Figure, Described("Share of the device that pages take at most which are nowhere else.")]
    write_amplification: Annotated[Figure, Described("Pages written to flash for each page written to swap.")]
    swap_out_bytes_per_s: Figure
    swap_in_bytes_per_s: Figure
    swap_in_p99_us: Annotated[Figure, Described("99 of 100 swap-ins take at most so long.")]
    flash_writes_per_day: Annotated[Figure, Described("Writes to flash, in sizes of the device.")]
    drive_life_years: Annotated[Figure, Described("By a rating of one drive size a day for five years.")]
    keeps_up_ratio: Annotated[Figure, Described("1: the device keeps up; 0.5: it needs twice the time.")]


@dataclass(frozen=True, slots=True)
class SweepCell:
    """One run. Rates and bytes are those of the mean host; `error`: why there are no figures."""

    run_id: str
    policy: str
    label: str
    dram_ratio: float
    settings: dict[str, float]
    local_ratio: Annotated[Figure, Described("Share of accesses that DRAM served.")]
    loss: Annotated[Figure, Described("Loss of throughput against all DRAM.")]
    promoted_pages_per_s: Figure
    demoted_pages_per_s: Figure
    tier_move_mb_per_s: Figure
    ping_pong_ratio: Annotated[Figure, Described("Promoted pages that were demoted within ten minutes before.")]
    major_faults_per_s: Figure
    cost_ratio: Annotated[float, Described("Price of its memory over that of all DRAM.")]
    error: Annotated[str | None, Described("Why it has no figures.")]
    swap: Annotated[SweepSwap | None, Described("Null where nothing swaps.")]


@dataclass(frozen=True, slots=True)
class OraclePoint:
    """The bound of all policies: the densest pages of each interval in DRAM."""

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
    """The best of what was tried: the smallest loss, and of equal ones the fewest tier moves."""

    run_id: str
    settings: dict[str, float]
    loss: float


@dataclass(frozen=True, slots=True)
class Flatness:
    """How flat the optimum is: `n_within` of `n` settings are as good; `spans` says how far each key can go."""

    within_ratio: Annotated[
        float,
        Described("Settings are as good where they lose at most so much more, relatively."),
    ]
    n_within: int
    n: int
    spans: Annotated[dict[str, tuple[float, float]], Described("How far each key can go without losing more.")]
    at_edge: Annotated[
        tuple[str, ...], Described("Keys whose best value is the last that was tried: better ones may follow.")
    ]


@dataclass(frozen=True, slots=True)
class SweepSearch:
    """The search of one policy at one DRAM share. `best` and `flatness` None until a loss is known."""

    policy: str
    label: str
    dram_ratio: float
    keys: tuple[str, ...]
    points: tuple[SearchPoint, ...]
    best: SearchBest | None
    flatness: Flatness | None


@dataclass(frozen=True, slots=True)
class SweepResults:
    """What a sweep has found so far. Facts of the trace are null until a worker has read it."""

    sweep_id: str
    origin: Literal["simulated"]
    peak_bytes: Annotated[float | None, Described("Memory of the mean host at its peak.")]
    pages: Annotated[int | None, Described("Pages in the trace, of all hosts.")]
    intervals: int | None
    interval_seconds: float | None
    sampled_ratio: Annotated[float | None, Described("Share of the pages that the trace has; null: it has them all.")]
    n_hosts: int | None
    window: Window | None
    cells: Annotated[
        tuple[SweepCell, ...], Described("With the settings as asked; those of searches stand in `searches`.")
    ]
    oracle: tuple[OraclePoint, ...]
    frontier: Annotated[tuple[FrontierPoint, ...], Described("Over all runs, by rising cost.")]
    searches: tuple[SweepSearch, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class StallSeconds:
    """Seconds that the mean host waits beyond DRAM, by cause."""

    slow_accesses: float
    faults: float
    hint_faults: float
    tier_moves: float
    total: float


@dataclass(frozen=True, slots=True)
class SharesByKind:
    """Local share by page kind over the intervals."""

    anon: tuple[float | None, ...]
    file: tuple[float | None, ...]
    tmpfs: tuple[float | None, ...]


@dataclass(frozen=True, slots=True)
class SweepRunSeries:
    """Figures of intervals, of the mean host. Long traces have intervals in a row joined: pages and bytes are sums."""

    interval: Annotated[tuple[float, ...], Described("The first interval of each point, from 0.")]
    local_ratio: tuple[float | None, ...]
    local_ratio_by_kind: SharesByKind
    promoted_pages: tuple[float | None, ...]
    demoted_pages: tuple[float | None, ...]
    ping_pong_pages: tuple[float | None, ...]
    dram_free_bytes: tuple[float | None, ...]
    swap_written_bytes: tuple[float | None, ...]
    failed_promotion_pages: tuple[float | None, ...]
    tier_move_mb_per_s: tuple[float | None, ...]


@dataclass(frozen=True, slots=True)
class SweepRun(SweepCell):
    """One run with all its totals and its series; these are None where the run has an error."""

    sweep_id: str
    origin: Literal["simulated"]
    searched: Annotated[bool, Described("Whether its settings come from the search.")]
    totals: dict[str, float | None] | None
    local_ratio_by_kind: dict[str, float | None] | None
    stall_seconds: StallSeconds | None
    series: SweepRunSeries | None


@dataclass(frozen=True, slots=True)
class HeatBand:
    """A band of pages of one kind, in order of first use."""

    label: str
    kind: Literal["anon", "file", "tmpfs"]
    pages: int


@dataclass(frozen=True, slots=True)
class SweepHeat:
    """The trace's heat: log2 of 1 + accesses by band and column; None where no page of the band was there.

    `reason`: why there is none yet.
    """

    sweep_id: str
    origin: Literal["simulated"]
    rows: tuple[HeatBand, ...]
    interval: Annotated[tuple[int, ...], Described("The first interval of each column, from 0.")]
    accesses: tuple[tuple[float | None, ...], ...]
    log2: Literal[True]
    host_name: Annotated[str | None, Described("The host that is shown, of several.")]
    reason: Annotated[str | None, Described("Why there is none yet.")]


@dataclass(frozen=True, slots=True)
class Setting:
    """Something that can be set; switches are 0 and 1."""

    name: str
    default: float
    lowest: float
    highest: float
    unit: str
    source: Annotated[str, Described("kernel, S source paper, R not re-checked, A assumption.")]


@dataclass(frozen=True, slots=True)
class SimulatorPolicy:
    """A policy with its settings."""

    name: str
    label: str
    has_slow_tier: bool
    settings: tuple[Setting, ...]


@dataclass(frozen=True, slots=True)
class SimulatorPolicies:
    """All policies, and the settings that all of them share."""

    policies: tuple[SimulatorPolicy, ...]
    machine_settings: tuple[Setting, ...]
    cost_settings: tuple[Setting, ...]


@dataclass(frozen=True, slots=True)
class SampledHost:
    """A host with page samples of a service, from and to when."""

    __pydantic_config__: ClassVar = NAMES

    host_id: str
    name: str
    n_pages: int
    n_intervals: int
    sampled_ratio: Annotated[float, Described("Share of the service's pages that is in the sample.")]
    from_: datetime
    to: datetime


@dataclass(frozen=True, slots=True)
class SampledService:
    """A service with page samples of the last seven days."""

    service_id: str
    name: str
    origin: Origin
    hosts: tuple[SampledHost, ...]


@dataclass(frozen=True, slots=True)
class WorkloadParameter:
    """One parameter of a synthetic workload, in words."""

    name: str
    value: str


@dataclass(frozen=True, slots=True)
class Workload:
    """A synthetic workload: seeded, and labelled as simulated wherever it shows."""

    name: str
    label: str
    source: str
    simulated: Literal[True]
    parameters: Annotated[
        tuple[WorkloadParameter, ...],
        Described("With the tag of its source: [S] the paper, [D] YCSB's definitions, [A] an assumption."),
    ] = ()
    measured: Annotated[
        tuple[str, ...], Described("What the paper measured on real hosts, not what a replay gives.")
    ] = ()


@dataclass(frozen=True, slots=True)
class TraceUpload:
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
class SimulatorSources:
    """What can be replayed."""

    services: tuple[SampledService, ...]
    workloads: tuple[Workload, ...]
    uploads: tuple[TraceUpload, ...]
