"""Capacity: what services and hosts hold, how it grows, when it runs out, and how many hosts that takes."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request, Response

from tierscope.api.base.answers import answer
from tierscope.api.base.permissions import requires
from tierscope.api.base.tables import FILES, Format
from tierscope.api.base.use_cases import use
from tierscope.api.capacity.answers import CapacityForecast, CapacityMetric, CapacityPlan, PlanRequest, SubjectKind
from tierscope.core.tabular import MEDIA_TYPES, FileFormat
from tierscope.domain.capacity.skus import Sku
from tierscope.usecases.capacity.export import export_capacity, export_forecast, export_plan
from tierscope.usecases.capacity.plan import Asked, CapacityPlans
from tierscope.usecases.capacity.reads import MAX_HORIZON_DAYS, CapacityReads
from tierscope.usecases.capacity.views import Capacity

router = APIRouter(prefix="/v1/capacity", tags=["capacity"], dependencies=[Depends(requires("read:fleet"))])

Reads = Annotated[CapacityReads, Depends(use(lambda held: held.capacity))]
Plans = Annotated[CapacityPlans, Depends(use(lambda held: held.capacity_plans))]


@router.get("", response_model=Capacity, responses=FILES, summary="Capacity of all services, or of groups of hosts")
def list_capacity(
    request: Request,
    reads: Reads,
    group_by: Annotated[str, Query(max_length=200, description="service, sku, rack or label:<key>.")] = "service",
    service: Annotated[str | None, Query(max_length=100, description="One service alone, by its id.")] = None,
    format: Format = "json",
) -> Response:
    """Figures of the newest day, growth, and days until 90 % of the capacity are taken."""
    view = reads.list(group_by, service=service)
    if format == "json":
        return answer(request, Capacity, view)
    return _file(export_capacity(view, format), "capacity", format)


@router.get("/forecast", response_model=CapacityForecast, responses=FILES, summary="The forecast of one of them")
def read_forecast(
    request: Request,
    reads: Reads,
    kind: SubjectKind,
    id: Annotated[str, Query(max_length=500, description="As in the list.")],
    metric: CapacityMetric = "resident",
    horizon_days: Annotated[int, Query(ge=1, le=MAX_HORIZON_DAYS)] = 90,
    format: Format = "json",
) -> Response:
    """Daily points, what is excluded and why, days ahead with intervals, and when memory runs out."""
    view = reads.forecast(kind, id, metric, horizon_days=horizon_days)
    if format == "json":
        return answer(request, CapacityForecast, view)
    return _file(export_forecast(view, format), f"forecast-{metric}", format)


@router.post("/plan", response_model=CapacityPlan, responses=FILES, summary="Hosts needed by quarter")
def plan_capacity(request: Request, body: PlanRequest, plans: Plans, format: Format = "json") -> Response:
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
    return _file(export_plan(view, format), "capacity-plan", format)


def _file(body: bytes, name: str, file_format: FileFormat) -> Response:
    headers = {"Content-Disposition": f'attachment; filename="{name}.{file_format}"'}
    return Response(content=body, media_type=MEDIA_TYPES[file_format], headers=headers)
