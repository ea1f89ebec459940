"""What answers about capacity hold; attributes are those of the API's models."""

from dataclasses import dataclass
from datetime import date, datetime
from typing import Literal

from tierscope.domain.base.figures import Figure, Window

Metric = Literal["resident", "hot", "dram_need"]
Kind = Literal["service", "host_group"]
Excluded = Literal["change_point", "capacity_edit"]


@dataclass(frozen=True, slots=True)
class ExhaustionView:
    """Days until a threshold is reached, counted from the last day with data."""

    median: Figure
    early: Figure
    none_within_horizon: bool
    threshold_ratio: float
    threshold_bytes: float | None
    horizon_days: int


@dataclass(frozen=True, slots=True)
class SubjectView:
    """A service or a host group with its figures."""

    kind: Kind
    id: str
    name: str
    origin: str
    hosts: int
    days: int
    capacity_bytes: Figure
    resident_bytes: Figure
    hot_bytes: Figure
    dram_need_bytes: Figure
    cold_bytes: Figure
    untouched_bytes: Figure
    stranded_bytes: Figure
    growth_bytes_per_day: Figure
    days_to_exhaustion: ExhaustionView
    method: str | None
    refused: str | None


@dataclass(frozen=True, slots=True)
class CapacityView:
    """The list."""

    window: Window
    group_by: str
    groupings: tuple[str, ...]
    subjects: tuple[SubjectView, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SubjectRef:
    """Whom a forecast is of."""

    kind: Kind
    id: str
    name: str
    origin: str


@dataclass(frozen=True, slots=True)
class HistoryDay:
    """A daily point; `excluded` says why the forecast does not rest on it."""

    day: date
    value: float | None
    excluded: Excluded | None


@dataclass(frozen=True, slots=True)
class ForecastDay:
    """A day ahead: the median, two-sided intervals, and the one-sided upper bound."""

    day: date
    median: float
    lo80: float
    hi80: float
    lo95: float
    hi95: float
    hi95_one_sided: float


@dataclass(frozen=True, slots=True)
class BacktestView:
    """A method on days that it had not seen: below 1 it is better than repeating the last week."""

    method: str
    mase: float


@dataclass(frozen=True, slots=True)
class ChangeView:
    """A level that moved, or memory that was added or taken; `event` is what the log says near it."""

    at: datetime
    kind: Excluded
    before: float | None
    after: float | None
    event: str | None


@dataclass(frozen=True, slots=True)
class ForecastView:
    """The answer about one subject and metric."""

    subject: SubjectRef
    metric: Metric
    unit: str
    window: Window
    history: tuple[HistoryDay, ...]
    forecast: tuple[ForecastDay, ...]
    method: str | None
    backtest: tuple[BacktestView, ...]
    widened: dict[str, float] | None
    changes: tuple[ChangeView, ...]
    growth_bytes_per_day: Figure
    exhaustion: ExhaustionView
    refused: str | None
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PlacedView:
    """A service on a planned host."""

    service: str
    service_id: str
    dram_bytes: float
    cxl_bytes: float


@dataclass(frozen=True, slots=True)
class PlannedHostView:
    """Hosts of one content: `count` of them."""

    sku: str
    count: int
    dram_bytes: float
    cxl_bytes: float
    cxl_devices: int
    cores: float | None
    placed: tuple[PlacedView, ...]


@dataclass(frozen=True, slots=True)
class PackingView:
    """The fleet now, packed without and with tiering."""

    without: tuple[PlannedHostView, ...]
    with_tiering: tuple[PlannedHostView, ...]


@dataclass(frozen=True, slots=True)
class SkuCount:
    """Hosts of a SKU, without and with tiering."""

    sku: str
    without_tiering: int
    with_tiering: int


@dataclass(frozen=True, slots=True)
class QuarterView:
    """Hosts needed at the end of a quarter; the lower bounds hold for any packing."""

    quarter: str
    ends_at: date
    hosts_without_tiering: int | None
    hosts_with_tiering: int | None
    lower_bound_without: int | None
    lower_bound_with: int | None
    price_without: float | None
    price_with: float | None
    by_sku: tuple[SkuCount, ...]


@dataclass(frozen=True, slots=True)
class UnplacedView:
    """Demand that no chosen SKU holds."""

    quarter: str
    service: str
    service_id: str
    tiering: bool
    dram_bytes: float
    cxl_bytes: float
    why: str


@dataclass(frozen=True, slots=True)
class DemandView:
    """What one service asks for now, and how it grows."""

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
class PlanView:
    """The answer of the plan."""

    quarters: tuple[QuarterView, ...]
    packing: PackingView
    demands: tuple[DemandView, ...]
    unplaced: tuple[UnplacedView, ...]
    loss_target: float | None
    headroom_ratio: float
    notes: tuple[str, ...]
