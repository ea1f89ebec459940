"""Ping-pong: states over time, what the moves cost, and whether they should be stopped."""

from datetime import datetime
from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Request, Response
from pydantic import ConfigDict, Field

from tierscope.api.base.answers import From, MaxPoints, To
from tierscope.api.base.figures import Model
from tierscope.api.base.permissions import requires
from tierscope.api.base.reuse import answer_reused
from tierscope.api.base.use_cases import use
from tierscope.domain.base.figures import Figure, Origin, Series, TimeAxis, Window
from tierscope.usecases.ledger.ping_pong_cost import MoveCost, StopMoving
from tierscope.usecases.ledger.ping_pong_reads import HostState, PingPongReads

State = Literal["ok", "warn", "crit"]


class StateSpan(Model):
    """A stretch in one state; `to` is null while it lasts."""

    model_config = ConfigDict(extra="forbid", frozen=True, serialize_by_alias=True)

    state: State
    from_: datetime = Field(validation_alias="from_", serialization_alias="from")
    to: datetime | None
    why: str


class PingPongHistory(Model):
    """Answer of /v1/services/{id}/ping-pong and /v1/hosts/{id}/ping-pong."""

    subject: str
    origin: Origin
    window: Window
    kind: Literal["measured", "sampled", "upper_bound", "not_available"]
    state: State | None = Field(description="At the window's end, the most severe of its hosts; null without data.")
    ratio: Figure
    churn_pages_per_s: Figure
    churn_pages_per_s_per_gib: Figure
    axis: TimeAxis
    series: list[Series]
    states: list[State | None] = Field(description="The most severe state within each bucket; null in gaps.")
    spans: list[StateSpan] = Field(description="All stretches of warn and crit, the oldest first.")
    hosts: list[HostState]
    cost: MoveCost
    verdict: str
    explanation: str
    stop_moving: StopMoving
    missing: Figure | None = Field(description="Why there is nothing to judge.")
    notes: list[str]


router = APIRouter(prefix="/v1", tags=["tier moves"], dependencies=[Depends(requires("read:fleet"))])

Reads = Annotated[PingPongReads, Depends(use(lambda held: held.ping_pong))]


@router.get("/hosts/{host_id}/ping-pong", response_model=PingPongHistory, summary="Ping-pong of a host")
def read_host_ping_pong(
    request: Request, reads: Reads, host_id: str, from_: From = None, to: To = None, max_points: MaxPoints = 500
) -> Response:
    """Ratio or bound, flows, residency and states over time, with cost and verdict."""
    return answer_reused(
        request, PingPongHistory, from_, to, lambda: reads.host(host_id, from_=from_, to=to, max_points=max_points)
    )


@router.get("/services/{service_id}/ping-pong", response_model=PingPongHistory, summary="Ping-pong of a service")
def read_service_ping_pong(
    request: Request, reads: Reads, service_id: str, from_: From = None, to: To = None, max_points: MaxPoints = 500
) -> Response:
    """The same from the service's own cgroups where the kernels count them, else from its whole hosts, and says so."""
    return answer_reused(
        request,
        PingPongHistory,
        from_,
        to,
        lambda: reads.service(service_id, from_=from_, to=to, max_points=max_points),
    )
