"""What a service says of itself: throughput, load and latency."""

from typing import Annotated

from fastapi import APIRouter, Depends, Request

from tierscope.api.base.answers import Answer, From, MaxPoints, To, answer
from tierscope.api.base.permissions import requires
from tierscope.api.base.tables import tabular
from tierscope.api.base.use_cases import use
from tierscope.usecases.counters.service_metrics import ServiceMetricReads, ServiceMetrics

router = APIRouter(prefix="/v1/services", tags=["services"], dependencies=[Depends(requires("read:fleet"))])

Reads = Annotated[ServiceMetricReads, Depends(use(lambda held: held.service_metrics))]


@router.get(
    "/{service_id}/metrics",
    summary="Throughput, load and latency of a service",
)
@tabular("series")
def read_service_metrics(
    request: Request,
    reads: Reads,
    service_id: str,
    from_: From = None,
    to: To = None,
    max_points: MaxPoints = 500,
) -> Answer[ServiceMetrics]:
    """What the service says of itself, from the endpoint or file that its owner mapped on the hosts."""
    view = reads.read(service_id, from_=from_, to=to, max_points=max_points)
    return answer(request, ServiceMetrics, view)
