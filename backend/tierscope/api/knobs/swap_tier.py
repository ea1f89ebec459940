"""Swap as a tier below DRAM: of a service, and of the services of a host."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request

from tierscope.api.base.answers import Answer, From, To, answer
from tierscope.api.base.permissions import requires
from tierscope.api.base.tables import tabular
from tierscope.api.base.use_cases import use
from tierscope.domain.capacity.swap import SwapDevice
from tierscope.usecases.knobs.swap_tier import HostSwapTier, ServiceSwapTier, SwapTierReads

router = APIRouter(prefix="/v1", tags=["knobs"], dependencies=[Depends(requires("read:fleet"))])

Reads = Annotated[SwapTierReads, Depends(use(lambda held: held.swap_tiers))]
Target = Annotated[float, Query(gt=0, le=0.5, description="Largest loss of throughput wanted.")]


@router.get("/services/{service_id}/swap-tier", summary="Whether swap pays below DRAM for a service")
@tabular("ages")
def read_service_swap_tier(
    request: Request,
    reads: Reads,
    service_id: str,
    loss_target: Target = 0.01,
    cores: Annotated[
        float | None, Query(gt=0, le=1e6, description="Busy processors of all hosts; left out: one for each host.")
    ] = None,
    device: Annotated[
        SwapDevice | None, Query(description="What to swap to; left out: what the hosts swap to.")
    ] = None,
    from_: From = None,
    to: To = None,
) -> Answer[ServiceSwapTier]:
    """By how long memory was cold: bytes on swap, loss, life of the drive and saving; the best age, and what binds."""
    view = reads.service(service_id, loss_target=loss_target, cores=cores, from_=from_, to=to, device=device)
    return answer(request, ServiceSwapTier, view)


@router.get("/hosts/{host_id}/swap-tier", summary="Which services of a host to keep out of swap")
@tabular("services")
def read_host_swap_tier(
    request: Request, reads: Reads, host_id: str, loss_target: Target = 0.01, from_: From = None, to: To = None
) -> Answer[HostSwapTier]:
    """The services of a host, those to keep out of its swap first; each is judged over all hosts that run it."""
    return answer(request, HostSwapTier, reads.host(host_id, loss_target=loss_target, from_=from_, to=to))
