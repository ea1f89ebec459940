"""What the routes of capacity take and answer: figures of services and host groups, forecasts, plans."""

from datetime import date, datetime
from typing import Literal

from pydantic import ConfigDict, Field

from tierscope.api.base.figures import Figure, Model, Window

SubjectKind = Literal["service", "host_group"]
CapacityMetric = Literal["resident", "hot", "dram_need"]
Excluded = Literal["change_point", "capacity_edit"]


class Exhaustion(Model):
    """Days until a threshold is reached, counted from the last day with data."""

    median: Figure = Field(description="When the forecast reaches the threshold, in days; a real number.")
    early: Figure = Field(description="The first whole day on which the upper one-sided 95 % bound reaches it.")
    none_within_horizon: bool = Field(description="A forecast was made, and not even its upper bound gets there.")
    threshold_ratio: float
    threshold_bytes: float | None
    horizon_days: int


class CapacitySubject(Model):
    """A service or a host group. Figures are of the newest day; `hosts` are those that were seen that day."""

    kind: SubjectKind
    id: str
    name: str
    origin: str
    hosts: int
    days: int = Field(description="Whole days with data so far.")
    capacity_bytes: Figure
    resident_bytes: Figure
    hot_bytes: Figure
    dram_need_bytes: Figure
    cold_bytes: Figure
    untouched_bytes: Figure
    stranded_bytes: Figure
    growth_bytes_per_day: Figure
    days_to_exhaustion: Exhaustion
    method: str | None = Field(description="Of the forecast; null where there is none.")
    refused: str | None = Field(description="Why there is no forecast, and what is missing.")


class Capacity(Model):
    """Capacity of all services, or of all groups of hosts."""

    window: Window
    group_by: str
    groupings: list[str] = Field(description="What `group_by` can be: service, sku, rack, label:<key>.")
    subjects: list[CapacitySubject]
    notes: list[str]


class CapacitySubjectRef(Model):
    """Whom a forecast is of."""

    kind: SubjectKind
    id: str
    name: str
    origin: str


class HistoryDay(Model):
    """A daily point. What is excluded shows, and the forecast does not rest on it."""

    day: date
    value: float | None
    excluded: Excluded | None


class ForecastDay(Model):
    """A day ahead: the median, two-sided intervals of 80 % and 95 %, and the one-sided upper bound of 95 %."""

    day: date
    median: float
    lo80: float
    hi80: float
    lo95: float
    hi95: float
    hi95_one_sided: float


class BacktestScore(Model):
    """A method on days that it had not seen; below 1 it errs less than repeating the last week."""

    method: str
    mase: float


class Widened(Model):
    """By how much the model's own intervals were stretched so that they held on days that it had not seen."""

    by_backtest: float = Field(description="What the model's own intervals missed by on days that it had not seen.")
    in_all: float = Field(description="With the disagreement of methods that did about as well.")


class CapacityChange(Model):
    """A level that moved, or memory that was added or taken away; `event` is what the log says near it."""

    at: datetime
    kind: Excluded
    before: float | None
    after: float | None
    event: str | None


class CapacityForecast(Model):
    """A forecast, or why there is none."""

    subject: CapacitySubjectRef
    metric: CapacityMetric
    unit: str
    window: Window
    history: list[HistoryDay]
    forecast: list[ForecastDay] = Field(description="Empty where it was refused.")
    method: str | None
    backtest: list[BacktestScore]
    widened: Widened | None
    changes: list[CapacityChange]
    growth_bytes_per_day: Figure
    exhaustion: Exhaustion
    refused: str | None
    notes: list[str]


class PlanSku(Model):
    """A kind of host to plan with. Memory comes in whole modules and whole devices."""

    name: str = Field(min_length=1, max_length=100)
    dram_slots: int = Field(ge=1, le=128)
    dimm_bytes: list[int] = Field(
        min_length=1, max_length=12, description="Sizes of modules that fit; one size in all used slots of a host."
    )
    dimms_min: int = Field(default=1, ge=1, le=128, description="Fewest modules of a host.")
    dimm_step: int = Field(default=1, ge=1, le=128, description="Modules are added so many at a time.")
    cxl_devices_max: int = Field(default=0, ge=0, le=64)
    cxl_device_bytes: int = Field(default=0, ge=0, le=1 << 50)
    cores: float | None = Field(default=None, gt=0, le=100_000)
    price: float | None = Field(default=None, ge=0, le=1e12, description="Of a whole host, in one currency.")


class PlanRequest(Model):
    """What to plan for. Without services all live ones are planned, or the simulated ones where none is live."""

    skus: list[PlanSku] = Field(min_length=1, max_length=20)
    horizon_quarters: int = Field(default=4, ge=1, le=12)
    loss_target: float | None = Field(
        default=None, gt=0, le=0.5, description="DRAM by ratio advice at this loss, where advice was stored for it."
    )
    headroom_ratio: float = Field(default=0.1, ge=0, le=1)
    service_ids: list[str] | None = Field(default=None, max_length=1000)


class PlacedService(Model):
    """A service on a planned host."""

    service: str
    service_id: str
    dram_bytes: float
    cxl_bytes: float


class PlannedHost(Model):
    """Hosts of one content: `count` of them."""

    sku: str
    count: int
    dram_bytes: float
    cxl_bytes: float
    cxl_devices: int
    cores: float | None
    placed: list[PlacedService]


class Packing(Model):
    """The fleet now, packed without and with tiering."""

    model_config = ConfigDict(serialize_by_alias=True, frozen=True)

    without: list[PlannedHost]
    with_: list[PlannedHost] = Field(alias="with", validation_alias="with_tiering")


class SkuHosts(Model):
    """Hosts of a SKU."""

    sku: str
    without_tiering: int
    with_tiering: int


class PlanQuarter(Model):
    """Hosts needed at the end of a quarter. No packing needs fewer than the lower bounds."""

    quarter: str
    ends_at: date
    hosts_without_tiering: int | None = Field(description="Null where some demand fits no chosen SKU.")
    hosts_with_tiering: int | None
    lower_bound_without: int | None
    lower_bound_with: int | None
    price_without: float | None
    price_with: float | None
    by_sku: list[SkuHosts]


class Unplaced(Model):
    """Demand that no chosen SKU holds."""

    quarter: str
    service: str
    service_id: str
    tiering: bool
    dram_bytes: float
    cxl_bytes: float
    why: str


class PlanDemand(Model):
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


class CapacityPlan(Model):
    """The plan."""

    quarters: list[PlanQuarter]
    packing: Packing
    demands: list[PlanDemand]
    unplaced: list[Unplaced]
    loss_target: float | None
    headroom_ratio: float
    notes: list[str]
