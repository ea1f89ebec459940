"""The shapes of answers about sweeps."""

from datetime import datetime
from typing import Literal

from pydantic import Field

from tierscope.api.base.figures import Figure, Model, Window

Status = Literal["queued", "running", "done", "failed", "cancelled"]
Simulated = Literal["simulated"]


class SweepSource(Model):
    """What a sweep replays."""

    kind: Literal["service", "workload", "upload"]
    name: str = Field(description="For people.")
    service_id: str | None
    host_id: str | None = Field(description="Null: all sampled hosts of the service.")
    workload: str | None
    pages: int | None
    intervals: int | None
    upload_id: str | None
    window: Window | None = Field(description="Of a service's page samples.")


class SweepTask(Model):
    """One policy of a sweep."""

    policy: str
    label: str
    status: Status
    done: int
    total: int
    error: str | None


class SweepCost(Model):
    """Price of a byte over that of DRAM."""

    slow_price_ratio: float
    swap_price_ratio: float


class Sweep(Model):
    """A sweep as asked, and how far it is."""

    id: str
    name: str
    source: SweepSource
    policies: list[str]
    dram_ratios: list[float]
    settings: dict[str, float]
    search: dict[str, list[float]]
    seed: int | None
    cpu_seconds: float | None
    cost: SweepCost
    status: Status
    tasks: list[SweepTask]
    done: int
    total: int
    progress_ratio: float
    created_by: str
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    origin: Simulated


class SweepCell(Model):
    """One run. Rates are those of the mean host, scaled up to all its pages."""

    run_id: str
    policy: str
    label: str
    dram_ratio: float
    settings: dict[str, float]
    local_ratio: Figure = Field(description="Share of accesses that DRAM served.")
    loss: Figure = Field(description="Loss of throughput against all DRAM.")
    promoted_pages_per_s: Figure
    demoted_pages_per_s: Figure
    tier_move_mb_per_s: Figure
    ping_pong_ratio: Figure = Field(description="Promoted pages that were demoted within ten minutes before.")
    major_faults_per_s: Figure
    cost_ratio: float = Field(description="Price of its memory over that of all DRAM.")
    error: str | None = Field(description="Why it has no figures.")


class OraclePoint(Model):
    """The bound of all policies: the densest pages of each interval in DRAM."""

    dram_ratio: float
    local_ratio: float | None


class FrontierPoint(Model):
    """A run that no other one beats in both cost and loss."""

    run_id: str
    policy: str
    dram_ratio: float
    cost_ratio: float
    loss: float


class SearchPoint(Model):
    """Settings that were tried."""

    run_id: str
    settings: dict[str, float]
    loss: float | None
    tier_move_mb_per_s: float | None


class SearchBest(Model):
    """The best of what was tried: the smallest loss, and of equal ones the fewest tier moves."""

    run_id: str
    settings: dict[str, float]
    loss: float


class Flatness(Model):
    """How flat the optimum is."""

    within_ratio: float = Field(description="Settings are as good where they lose at most so much more, relatively.")
    n_within: int
    n: int
    spans: dict[str, tuple[float, float]] = Field(description="How far each key can go without losing more.")
    at_edge: list[str] = Field(description="Keys whose best value is the last that was tried: better ones may follow.")


class SweepSearch(Model):
    """The knob search of one policy at one DRAM share."""

    policy: str
    label: str
    dram_ratio: float
    keys: list[str]
    points: list[SearchPoint]
    best: SearchBest | None
    flatness: Flatness | None


class SweepResults(Model):
    """What a sweep has found so far. Facts of the trace are null until a worker has read it."""

    sweep_id: str
    origin: Simulated
    peak_bytes: float | None = Field(description="Memory of the mean host at its peak.")
    pages: int | None = Field(description="Pages in the trace, of all hosts.")
    intervals: int | None
    interval_seconds: float | None
    sampled_ratio: float | None = Field(description="Share of the pages that the trace has; null: it has them all.")
    n_hosts: int | None
    window: Window | None
    cells: list[SweepCell] = Field(description="With the settings as asked; those of searches stand in `searches`.")
    oracle: list[OraclePoint]
    frontier: list[FrontierPoint] = Field(description="Over all runs, by rising cost.")
    searches: list[SweepSearch]
    notes: list[str]


class StallSeconds(Model):
    """Seconds that the mean host waits beyond DRAM, by cause."""

    slow_accesses: float
    faults: float
    hint_faults: float
    tier_moves: float
    total: float


class SharesByKind(Model):
    """Local share by page kind over the intervals."""

    anon: list[float | None]
    file: list[float | None]
    tmpfs: list[float | None]


class SweepRunSeries(Model):
    """Figures of intervals, of the mean host. Long traces have intervals in a row joined: pages and bytes are sums."""

    interval: list[float] = Field(description="The first interval of each point, from 0.")
    local_ratio: list[float | None]
    local_ratio_by_kind: SharesByKind
    promoted_pages: list[float | None]
    demoted_pages: list[float | None]
    ping_pong_pages: list[float | None]
    dram_free_bytes: list[float | None]
    swap_written_bytes: list[float | None]
    failed_promotion_pages: list[float | None]
    tier_move_mb_per_s: list[float | None]


class SweepRun(SweepCell):
    """One run with all its totals, of the mean host, and its series."""

    sweep_id: str
    origin: Simulated
    searched: bool = Field(description="Whether its settings come from the search.")
    totals: dict[str, float | None] | None
    local_ratio_by_kind: dict[str, float | None] | None
    stall_seconds: StallSeconds | None
    series: SweepRunSeries | None


class HeatBand(Model):
    """A band of pages of one kind, in order of first use."""

    label: str
    kind: Literal["anon", "file", "tmpfs"]
    pages: int


class SweepHeat(Model):
    """Heat of the trace: log2 of 1 + accesses by band and column; null where no page of the band was there."""

    sweep_id: str
    origin: Simulated
    rows: list[HeatBand]
    interval: list[int] = Field(description="The first interval of each column, from 0.")
    accesses: list[list[float | None]]
    log2: Literal[True]
    host_name: str | None = Field(description="The host that is shown, of several.")
    reason: str | None = Field(description="Why there is none yet.")
