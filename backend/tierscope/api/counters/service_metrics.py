"""What a service says of itself: throughput, load and latency."""

from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Request, Response
from pydantic import Field

from tierscope.api.base.answers import From, MaxPoints, To
from tierscope.api.base.figures import Model, Series, TimeAxis, Window
from tierscope.api.base.permissions import requires
from tierscope.api.base.tables import FILES, Format, answer_or_file
from tierscope.api.base.use_cases import use
from tierscope.usecases.counters.service_metrics import ServiceMetricReads


class ServiceMetrics(Model):
    """Throughput and load summed over hosts, p50 of the median host, p99 of the slowest one; or why there is none."""

    service_id: str
    window: Window
    axis: TimeAxis
    status: Literal["ok", "not_collected"]
    reason: str | None
    n_hosts: int = Field(description="Hosts that reported in the window.")
    of_hosts: int = Field(description="Hosts that ever did.")
    series: list[Series] = Field(description="Keys: throughput, load, latency_p50, latency_p99; those that exist.")
    warnings: list[str]


router = APIRouter(prefix="/v1/services", tags=["services"], dependencies=[Depends(requires("read:fleet"))])

Reads = Annotated[ServiceMetricReads, Depends(use(lambda held: held.service_metrics))]


@router.get(
    "/{service_id}/metrics",
    response_model=ServiceMetrics,
    responses=FILES,
    summary="Throughput, load and latency of a service",
)
def read_service_metrics(
    request: Request,
    reads: Reads,
    service_id: str,
    from_: From = None,
    to: To = None,
    max_points: MaxPoints = 500,
    format: Format = "json",
) -> Response:
    """What the service says of itself, from the endpoint or file that its owner mapped on the hosts."""
    view = reads.read(service_id, from_=from_, to=to, max_points=max_points)
    return answer_or_file(request, ServiceMetrics, view, name="metrics", format=format)
