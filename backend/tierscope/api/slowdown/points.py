"""Owners' own measurements of the slowdown: loss of throughput at a share of accesses on slow memory."""

from typing import Annotated

from fastapi import APIRouter, Depends, Header, Request

from tierscope.api.base.answers import Answer, answer
from tierscope.api.base.ownership import in_path
from tierscope.api.base.permissions import requires
from tierscope.api.base.tables import tabular
from tierscope.api.base.use_cases import use
from tierscope.domain.slowdown import Device
from tierscope.usecases.access.tokens import Caller
from tierscope.usecases.slowdown.devices import list_devices
from tierscope.usecases.slowdown.points import SlowdownPointItem, SlowdownPointRequest, SlowdownPoints

router = APIRouter(prefix="/v1", tags=["ratio"])

Points = Annotated[SlowdownPoints, Depends(use(lambda held: held.slowdown_points))]


@router.get(
    "/services/{service_id}/slowdown-points",
    dependencies=[Depends(requires("read:fleet"))],
    summary="Owners' measurements of the slowdown, newest first",
)
@tabular(quick=True)
def list_slowdown_points(request: Request, points: Points, service_id: str) -> Answer[list[SlowdownPointItem]]:
    """List what was measured of a service."""
    return answer(request, list[SlowdownPointItem], points.list(service_id))


@router.get(
    "/slow-memory", dependencies=[Depends(requires("read:fleet"))], summary="Kinds of slow memory, with their sources"
)
@tabular(quick=True)
def list_slow_memory(request: Request) -> Answer[list[Device]]:
    """What ratio advice can be asked for as `device`: latency and bandwidth, with where they are from."""
    return answer(request, list[Device], list_devices())


@router.post("/services/{service_id}/slowdown-points", status_code=201, summary="Add a measurement of the slowdown")
def create_slowdown_point(
    points: Points,
    service_id: str,
    body: SlowdownPointRequest,
    caller: Annotated[Caller, Depends(requires("write:advice", owned=in_path("service", "service_id")))],
    idempotency_key: Annotated[str | None, Header(max_length=200)] = None,
) -> SlowdownPointItem:
    """Store a measurement. The same Idempotency-Key with the same body stores it once."""
    return points.create(service_id, body, actor=caller.name, idempotency_key=idempotency_key)


@router.delete("/slowdown-points/{point_id}", status_code=204, summary="Remove a measurement of the slowdown")
def delete_slowdown_point(
    points: Points,
    point_id: str,
    caller: Annotated[Caller, Depends(requires("write:advice", owned=in_path("slowdown_point", "point_id")))],
) -> None:
    """Remove a measurement; the audit trail keeps what it said."""
    points.delete(point_id, actor=caller.name)
