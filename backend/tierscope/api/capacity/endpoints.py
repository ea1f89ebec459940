"""Capacity: what services and hosts hold, how it grows, when it runs out, and how many hosts that takes."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request

from tierscope.api.base.answers import Answer, Tags, answer, plain
from tierscope.api.base.limited import COSTLY
from tierscope.api.base.permissions import requires
from tierscope.api.base.table_files import Format, answer_with_file
from tierscope.api.base.tables import tabular
from tierscope.api.base.use_cases import use
from tierscope.api.capacity.answers import PlanRequest
from tierscope.domain.capacity.skus import Sku
from tierscope.usecases.capacity.export import export_forecast, export_plan
from tierscope.usecases.capacity.plan import Asked, CapacityPlans
from tierscope.usecases.capacity.reads import MAX_HORIZON_DAYS, CapacityReads
from tierscope.usecases.capacity.views import Capacity, CapacityForecast, CapacityPlan, Kind, Metric

router = APIRouter(prefix="/v1/capacity", tags=["capacity"], dependencies=[Depends(requires("read:fleet"))])

Reads = Annotated[CapacityReads, Depends(use(lambda held: held.capacity))]
Plans = Annotated[CapacityPlans, Depends(use(lambda held: held.capacity_plans))]


@router.get("", summary="Capacity of all services, or of groups of hosts")
@tabular("subjects")
def list_capacity(
    request: Request,
    reads: Reads,
    group_by: Annotated[str, Query(max_length=200, description="service, sku, rack or label:<key>.")] = "service",
    service: Annotated[str | None, Query(max_length=100, description="One service alone, by its id.")] = None,
    tags: Tags = None,
) -> Answer[Capacity]:
    """Figures of the newest day, growth, and days until 90 % of the capacity are taken."""
    return answer(request, Capacity, reads.list(group_by, service=service, tags=tags or []))


@router.get("/forecast", dependencies=[COSTLY], summary="The forecast of one of them")
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
    return answer_with_file(
        request,
        format,
        lambda: answer(request, CapacityForecast, view),
        f"forecast-{metric}",
        lambda wanted, told: export_forecast(view, wanted, told),
        lambda: plain(CapacityForecast, view),
    )


@router.post("/plan", dependencies=[COSTLY], summary="Hosts needed by quarter")
def plan_capacity(request: Request, body: PlanRequest, plans: Plans, format: Format = "json") -> Answer[CapacityPlan]:
    """Pack the services on hosts of the chosen kinds, without and with tiering and swap, now and by quarter."""
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
    asked = Asked(skus, body.horizon_quarters, body.loss_target, body.headroom_ratio, services, body.swap)
    view = plans.plan(asked)
    return answer_with_file(
        request,
        format,
        lambda: answer(request, CapacityPlan, view),
        "capacity-plan",
        lambda wanted, told: export_plan(view, wanted, told),
        lambda: plain(CapacityPlan, view),
    )
