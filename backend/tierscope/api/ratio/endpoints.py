"""DRAM:CXL ratio advice of a service, with everything it rests on."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request

from tierscope.api.base.answers import Answer, From, To, answer
from tierscope.api.base.permissions import requires
from tierscope.api.base.tables import tabular
from tierscope.api.base.use_cases import use
from tierscope.usecases.ratio.answers import Ratio
from tierscope.usecases.ratio.reads import RatioReads
from tierscope.usecases.slowdown.devices import device_names, find_device

router = APIRouter(
    prefix="/v1/services/{service_id}/ratio", tags=["ratio"], dependencies=[Depends(requires("read:fleet"))]
)

Reads = Annotated[RatioReads, Depends(use(lambda held: held.ratio))]


@router.get("", summary="How small DRAM can be at a stated loss")
@tabular("points", "candidates", "kinds", "evidence")
def read_ratio(
    request: Request,
    reads: Reads,
    service_id: str,
    loss_target: Annotated[float, Query(gt=0, le=0.5, description="Largest loss of throughput wanted.")] = 0.05,
    hold_hot: Annotated[bool, Query(description="DRAM must hold 1.1 times the hot bytes.")] = False,  # noqa: FBT002 - a query
    growth: Annotated[float, Query(ge=0, le=0.5, description="Growth of memory that DRAM must bear.")] = 0.0,
    device: Annotated[
        str | None,
        Query(max_length=60, description=f"Slow memory to judge in place of the hosts': {', '.join(device_names())}."),
    ] = None,
    slow_latency_ns: Annotated[
        float | None, Query(gt=0, le=1e6, description="Idle latency of slow memory to judge, beside DRAM of 100 ns.")
    ] = None,
    slow_gb_per_s: Annotated[
        float | None, Query(gt=0, le=1e6, description="What that delivers; absent: not known.")
    ] = None,
    from_: From = None,
    to: To = None,
) -> Answer[Ratio]:
    """Judge every DRAM:CXL ratio: the smallest one that keeps the target, or between which ones it lies."""
    view = reads.service(
        service_id,
        loss_target=loss_target,
        hold_hot=hold_hot,
        growth=growth,
        from_=from_,
        to=to,
        device=find_device(device, slow_latency_ns, slow_gb_per_s),
    )
    return answer(request, Ratio, view)
