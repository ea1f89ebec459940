"""Capacity: what services and hosts hold, how it grows, when it runs out, and how many hosts that takes."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request

from tierscope.api.base.answers import Answer, answer, answer_file
from tierscope.api.base.permissions import requires
from tierscope.api.base.tables import FILES, Format
from tierscope.api.base.use_cases import use
from tierscope.api.capacity.answers import PlanRequest
from tierscope.core.tabular import MEDIA_TYPES
from tierscope.domain.capacity.skus import Sku
from tierscope.usecases.capacity.export import export_capacity, export_forecast, export_plan
from tierscope.usecases.capacity.plan import Asked, CapacityPlans
from tierscope.usecases.capacity.reads import MAX_HORIZON_DAYS, CapacityReads
from tierscope.usecases.capacity.views import Capacity, CapacityForecast, CapacityPlan, Kind, Metric

router = APIRouter(prefix="/v1/capacity", tags=["capacity"], dependencies=[Depends(requires("read:fleet"))])

Reads = Annotated[CapacityReads, Depends(use(lambda held: held.capacity))]
Plans = Annotated[CapacityPlans, Depends(use(lambda held: held.capacity_plans))]


@router.get("", responses=FILES, summary="Capacity of all services, or of groups of hosts")
def list_capacity(
    request: Request,
    reads: Reads,
    group_by: Annotated[str, Query(max_length=200, description="service, sku, rack or label:<key>.")] = "service",
    service: Annotated[str | None, Query(max_length=100, description="One service alone, by its id.")] = None,
    format: Format = "json",
) -> Answer[Capacity]:
    """Figures of the newest day, growth, and days until 90 % of the capacity are taken."""
    view = reads.list(group_by, service=service)
    if format == "json":
        return answer(request, Capacity, view)
    return answer_file(export_capacity(view, format), f"capacity.{format}", MEDIA_TYPES[format])


@router.get("/forecast", responses=FILES, summary="The forecast of one of them")
def read_forecast(
    request: Request,
    reads: Reads,
    kind: Kind,
    id: Annotated[str, Query(max_length=500, description="As in the list.")],
    metric: Metric = "resident",
    horizon_days: Annotated[int, Query(ge=1, le=MAX_HORIZON_DAYS)] = 90,
    format: Format = "json",
) -> Answer[CapacityForecast]:
    """Daily points, what is excluded and why, days ahead with intervals, and when memory runs out."""
    view = reads.forecast(kind, id, metric, horizon_days=horizon_days)
    if format == "json":
        return answer(request, CapacityForecast, view)
    return answer_file(export_forecast(view, format), f"forecast-{metric}.{format}", MEDIA_TYPES[format])


@router.post("/plan", responses=FILES, summary="Hosts needed by quarter")
def plan_capacity(request: Request, body: PlanRequest, plans: Plans, format: Format = "json") -> Answer[CapacityPlan]:
    """Pack the services on hosts of the chosen kinds, without and with tiering, now and by quarter."""
    skus = tuple(
        Sku(
            sku.name,
            sku.dram_slots,
            tuple(sku.dimm_bytes),
            sku.dimms_min,
            sku.dimm_step,
            sku.cxl_devices_max,
            sku.cxl_device_bytes,
            sku.cores,
            sku.price,
        )
        for sku in body.skus
    )
    services = None if body.service_ids is None else tuple(body.service_ids)
    view = plans.plan(Asked(skus, body.horizon_quarters, body.loss_target, body.headroom_ratio, services))
    if format == "json":
        return answer(request, CapacityPlan, view)
    return answer_file(export_plan(view, format), f"capacity-plan.{format}", MEDIA_TYPES[format])
