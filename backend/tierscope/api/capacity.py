"""Capacity: what services and hosts hold, how it grows, when it runs out, and how many hosts that takes."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request, Response

from tierscope.api.answers import answer
from tierscope.api.capacity_answers import Capacity, CapacityForecast, CapacityMetric, SubjectKind
from tierscope.api.permissions import requires
from tierscope.api.reads import capacity_reads
from tierscope.usecases.capacity.reads import MAX_HORIZON_DAYS, CapacityReads

router = APIRouter(prefix="/v1/capacity", tags=["capacity"], dependencies=[Depends(requires("read:fleet"))])

Reads = Annotated[CapacityReads, Depends(capacity_reads)]


@router.get("", response_model=Capacity, summary="Capacity of all services, or of all groups of hosts")
def list_capacity(
    request: Request,
    reads: Reads,
    group_by: Annotated[str, Query(max_length=200, description="service, sku, rack or label:<key>.")] = "service",
    service: Annotated[str | None, Query(max_length=100, description="One service alone, by its id.")] = None,
) -> Response:
    """Figures of the newest day, growth, and days until 90 % of the capacity are taken."""
    return answer(request, Capacity, reads.list(group_by, service=service))


@router.get("/forecast", response_model=CapacityForecast, summary="The forecast of one service or group of hosts")
def read_forecast(
    request: Request,
    reads: Reads,
    kind: SubjectKind,
    id: Annotated[str, Query(max_length=500, description="As in the list.")],
    metric: CapacityMetric = "resident",
    horizon_days: Annotated[int, Query(ge=1, le=MAX_HORIZON_DAYS)] = 90,
) -> Response:
    """Daily points, what is excluded and why, days ahead with intervals, and when memory runs out."""
    return answer(request, CapacityForecast, reads.forecast(kind, id, metric, horizon_days=horizon_days))
