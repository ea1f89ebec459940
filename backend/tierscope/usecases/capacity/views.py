"""What answers about capacity hold; attributes are those of the API's models."""

from dataclasses import dataclass
from datetime import date, datetime
from typing import Annotated, ClassVar, Literal

from tierscope.domain.base.described import NAMES, Described
from tierscope.domain.base.figures import Figure, Window
from tierscope.domain.fleet.hosts_away import HostsAway
from tierscope.usecases.capacity.swap import PlanSwap

Metric = Literal["resident", "hot", "dram_need"]
"""`resident`: memory in use, without what the kernel can reclaim of it."""
Kind = Literal["service", "host_group"]
ChangeKind = Literal["change_point", "capacity_edit"]
Excluded = Literal["change_point", "capacity_edit", "node_away"]


@dataclass(frozen=True, slots=True)
class Exhaustion:
    """Days until a threshold is reached, counted from the moment of the answer, and when that is."""

    median: Annotated[Figure, Described("When the forecast reaches the threshold, in days; a real number.")]
    early: Annotated[
        Figure, Described("Until the first whole day on which the upper 95 % bound does, at most `median`.")
    ]
    none_within_horizon: Annotated[bool, Described("A forecast was made, and not even its upper bound gets there.")]
    threshold_ratio: float
    threshold_bytes: float | None
    horizon_days: int
    median_at: Annotated[datetime | None, Described("The moment that `median` counts to; null without one.")]
    early_at: Annotated[datetime | None, Described("The moment that `early` counts to; null without one.")]


@dataclass(frozen=True, slots=True)
class CapacitySubject:
    """A service or a host group. Figures are of the newest day; `hosts` are those that were seen that day."""

    kind: Kind
    id: str
    name: str
    origin: str
    hosts: int
    days: Annotated[int, Described("Whole days with data so far.")]
    capacity_bytes: Figure
    resident_bytes: Figure
    in_use_bytes: Annotated[Figure, Described("What must find a place: without what the kernel can reclaim.")]
    hot_bytes: Figure
    dram_need_bytes: Figure
    cold_bytes: Figure
    untouched_bytes: Figure
    stranded_bytes: Figure
    growth_bytes_per_day: Figure
    days_to_exhaustion: Exhaustion
    method: Annotated[str | None, Described("Of the forecast; null where there is none.")]
    refused: Annotated[str | None, Described("Why there is no forecast, and what is missing.")]


@dataclass(frozen=True, slots=True)
class Capacity:
    """Capacity of all services, or of all groups of hosts."""

    window: Window
    away: Annotated[HostsAway, Described("Hosts that days lack which are made now.")]
    group_by: str
    groupings: Annotated[tuple[str, ...], Described("What `group_by` can be: service, sku, rack, label:<key>.")]
    subjects: tuple[CapacitySubject, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CapacitySubjectRef:
    """Whom a forecast is of."""

    kind: Kind
    id: str
    name: str
    origin: str


@dataclass(frozen=True, slots=True)
class HistoryDay:
    """A daily point. What is excluded shows, and the forecast does not rest on it."""

    day: date
    value: float | None
    excluded: Excluded | None


@dataclass(frozen=True, slots=True)
class ForecastDay:
    """A day ahead: the median, two-sided intervals of 80 % and 95 %, and the one-sided upper bound of 95 %."""

    day: date
    median: float
    lo80: float
    hi80: float
    lo95: float
    hi95: float
    hi95_one_sided: float


@dataclass(frozen=True, slots=True)
class BacktestScore:
    """A method on days that it had not seen: below 1 it is better than repeating the last week."""

    method: str
    mase: float


@dataclass(frozen=True, slots=True)
class CapacityChange:
    """A level that moved, or memory that was added or taken away; `event` is what the log says near it."""

    at: datetime
    kind: ChangeKind
    before: float | None
    after: float | None
    event: str | None


@dataclass(frozen=True, slots=True)
class Widened:
    """By how much the methods' own intervals were stretched to hold on days that they had not seen."""

    by_backtest: Annotated[float, Described("What the methods' own intervals missed by; below 1 they were too wide.")]
    in_all: Annotated[float, Described("The intervals over those of the methods, in all.")]


@dataclass(frozen=True, slots=True)
class CapacityForecast:
    """The answer about one subject and metric."""

    subject: CapacitySubjectRef
    metric: Metric
    unit: str
    window: Window
    history: tuple[HistoryDay, ...]
    forecast: Annotated[tuple[ForecastDay, ...], Described("Empty where it was refused.")]
    method: str | None
    backtest: tuple[BacktestScore, ...]
    widened: Widened | None
    changes: tuple[CapacityChange, ...]
    growth_bytes_per_day: Figure
    exhaustion: Exhaustion
    refused: str | None
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PlacedService:
    """A service on a planned host."""

    service: str
    service_id: str
    dram_bytes: float
    cxl_bytes: float
    swap_bytes: Annotated[float, Described("On swap; compressed memory takes DRAM beside.")]


@dataclass(frozen=True, slots=True)
class PlannedHost:
    """Hosts of one content: `count` of them."""

    sku: str
    count: int
    dram_bytes: float
    cxl_bytes: float
    cxl_devices: int
    cores: float | None
    placed: tuple[PlacedService, ...]


@dataclass(frozen=True, slots=True)
class Packing:
    """The fleet now, packed without tiering, with it, and with cold memory on swap too."""

    __pydantic_config__: ClassVar = NAMES

    without: tuple[PlannedHost, ...]
    with_: tuple[PlannedHost, ...]
    with_swap: Annotated[tuple[PlannedHost, ...] | None, Described("Null where the plan has no swap.")]


@dataclass(frozen=True, slots=True)
class SkuHosts:
    """Hosts of a SKU, without and with tiering, and with swap too (null: the plan has none)."""

    sku: str
    without_tiering: int
    with_tiering: int
    with_swap: int | None


@dataclass(frozen=True, slots=True)
class PlanQuarter:
    """Hosts needed at the end of a quarter. No packing needs fewer than the lower bounds."""

    quarter: str
    ends_at: date
    hosts_without_tiering: Annotated[int | None, Described("Null where some demand fits no chosen SKU.")]
    hosts_with_tiering: int | None
    hosts_with_swap: Annotated[int | None, Described("With tiering and swap; null where the plan has no swap, too.")]
    lower_bound_without: int | None
    lower_bound_with: int | None
    lower_bound_with_swap: int | None
    price_without: float | None
    price_with: float | None
    price_with_swap: Annotated[float | None, Described("Of the hosts; what holds the swap costs `swap` a year.")]
    by_sku: tuple[SkuHosts, ...]


@dataclass(frozen=True, slots=True)
class Unplaced:
    """Demand that no chosen SKU holds."""

    quarter: str
    service: str
    service_id: str
    tiering: bool
    dram_bytes: float
    cxl_bytes: float
    why: str


@dataclass(frozen=True, slots=True)
class PlanDemand:
    """What a service asks for now, how it grows (null: no forecast), and what its need of DRAM rests on."""

    service: str
    service_id: str
    hosts: int
    memory_bytes: float
    dram_bytes: float
    cores: float | None
    growth_ratio_per_quarter: float | None
    grows_by: str
    dram_by: str


@dataclass(frozen=True, slots=True)
class CapacityPlan:
    """The answer of the plan."""

    quarters: tuple[PlanQuarter, ...]
    packing: Packing
    demands: tuple[PlanDemand, ...]
    unplaced: tuple[Unplaced, ...]
    swap: Annotated[PlanSwap | None, Described("Null where the plan was not asked to hold memory on swap.")]
    loss_target: float | None
    headroom_ratio: float
    notes: tuple[str, ...]
