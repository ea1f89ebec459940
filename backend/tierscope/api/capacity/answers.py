"""What the routes of capacity take and answer: figures of services and host groups, forecasts, plans."""

from pydantic import Field

from tierscope.api.base.figures import Model
from tierscope.usecases.capacity.swap import PlanDevice


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
    swap: PlanDevice | None = Field(
        default=None, description="Cold memory may lie on swap on such devices; `as_found`: on what hosts swap to."
    )
    service_ids: list[str] | None = Field(default=None, max_length=1000)
