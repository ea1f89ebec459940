"""The fleet overview: one screen for the whole installation."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request

from tierscope.api.base.answers import Answer, At, From, MaxPoints, Tags, To, answer
from tierscope.api.base.permissions import requires
from tierscope.api.base.tables import tabular
from tierscope.api.base.use_cases import use
from tierscope.usecases.fleet.grid import FleetGrid, GridReads
from tierscope.usecases.fleet.overview import FleetOverview, FleetReads

router = APIRouter(prefix="/v1/fleet", tags=["fleet"], dependencies=[Depends(requires("read:fleet"))])

Reads = Annotated[FleetReads, Depends(use(lambda held: held.fleet))]
Grid = Annotated[GridReads, Depends(use(lambda held: held.fleet_grid))]


@router.get("", summary="The whole installation on one screen")
@tabular("services", "causes", "moves", "psi", "matrix")
def read_fleet(
    request: Request,
    reads: Reads,
    from_: From = None,
    to: To = None,
    max_points: MaxPoints = 144,
    tags: Tags = None,
) -> Answer[FleetOverview]:
    """Headline, figures, services over time, tier moves, memory pressure, why hosts need attention."""
    return answer(request, FleetOverview, reads.overview(from_=from_, to=to, max_points=max_points, tags=tags or []))


@router.get("/grid", summary="Every host in a short row, for views that show them all")
@tabular("hosts", "parts")
def read_grid(
    request: Request,
    reads: Grid,
    at: At = None,
    group: Annotated[
        str,
        Query(description="`service`, `kernel` or `label:key`: how more than 10,000 hosts are told.", max_length=200),
    ] = "service",
    tags: Tags = None,
) -> Answer[FleetGrid]:
    """Size, service, labels, verdict, memory pressure and cold share of every host, now or then; the largest first."""
    return answer(request, FleetGrid, reads.read(at=at, group=group, tags=tags or []))
