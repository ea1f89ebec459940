"""What the routes of capacity take and answer: figures of services and host groups, forecasts, plans."""

from typing import Literal

from pydantic import ConfigDict, Field

from tierscope.api.base.figures import Model
from tierscope.domain.base.figures import Figure, Window
from tierscope.usecases.capacity.views import (
    BacktestScore,
    CapacityChange,
    CapacitySubjectRef,
    Exhaustion,
    ForecastDay,
    HistoryDay,
    PlanDemand,
    PlannedHost,
    PlanQuarter,
    Unplaced,
)

SubjectKind = Literal["service", "host_group"]
CapacityMetric = Literal["resident", "hot", "dram_need"]
Excluded = Literal["change_point", "capacity_edit"]


class Widened(Model):
    """By how much the model's own intervals were stretched so that they held on days that it had not seen."""

    by_backtest: float = Field(description="What the model's own intervals missed by on days that it had not seen.")
    in_all: float = Field(description="With the disagreement of methods that did about as well.")


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


class Packing(Model):
    """The fleet now, packed without and with tiering."""

    model_config = ConfigDict(serialize_by_alias=True, frozen=True)

    without: list[PlannedHost]
    with_: list[PlannedHost] = Field(alias="with", validation_alias="with_tiering")


class CapacityPlan(Model):
    """The plan."""

    quarters: list[PlanQuarter]
    packing: Packing
    demands: list[PlanDemand]
    unplaced: list[Unplaced]
    loss_target: float | None
    headroom_ratio: float
    notes: list[str]
