"""Ping-pong: states over time, what the moves cost, and whether they should be stopped."""

from typing import Annotated

from fastapi import APIRouter, Depends, Request

from tierscope.api.base.answers import Answer, From, MaxPoints, To
from tierscope.api.base.permissions import requires
from tierscope.api.base.reuse import answer_reused
from tierscope.api.base.tables import tabular
from tierscope.api.base.use_cases import use
from tierscope.usecases.ledger.ping_pong_reads import PingPongHistory, PingPongReads

router = APIRouter(prefix="/v1", tags=["tier moves"], dependencies=[Depends(requires("read:fleet"))])

Reads = Annotated[PingPongReads, Depends(use(lambda held: held.ping_pong))]


@router.get("/hosts/{host_id}/ping-pong", summary="Ping-pong of a host")
@tabular("series", "spans")
def read_host_ping_pong(
    request: Request, reads: Reads, host_id: str, from_: From = None, to: To = None, max_points: MaxPoints = 500
) -> Answer[PingPongHistory]:
    """Ratio or bound, flows, residency and states over time, with cost and verdict."""
    return answer_reused(
        request, PingPongHistory, from_, to, lambda: reads.host(host_id, from_=from_, to=to, max_points=max_points)
    )


@router.get("/services/{service_id}/ping-pong", summary="Ping-pong of a service")
@tabular("series", "spans", "hosts")
def read_service_ping_pong(
    request: Request, reads: Reads, service_id: str, from_: From = None, to: To = None, max_points: MaxPoints = 500
) -> Answer[PingPongHistory]:
    """The same from the service's own cgroups where the kernels count them, else from its whole hosts, and says so."""
    return answer_reused(
        request,
        PingPongHistory,
        from_,
        to,
        lambda: reads.service(service_id, from_=from_, to=to, max_points=max_points),
    )
