"""The fleet overview: one screen for the whole installation."""

from typing import Annotated

from fastapi import APIRouter, Depends, Request, Response
from pydantic import Field

from tierscope.api.base.answers import From, MaxPoints, To, answer
from tierscope.api.base.figures import Model
from tierscope.api.base.permissions import requires
from tierscope.api.base.use_cases import use
from tierscope.api.fleet.hosts import HostSummary
from tierscope.api.fleet.services import ServiceSummary
from tierscope.domain.base.figures import Figure, Series, TimeAxis, Window
from tierscope.usecases.fleet.overview import FleetReads, ServiceMatrixRow


class FleetOverview(Model):
    """Answer of /v1/fleet."""

    headline: str
    window: Window
    simulated: bool
    hosts_reporting: int
    hosts_late: int
    hosts_silent: int
    hosts_total: int
    hosts_tiering_off: int
    memory_bytes: Figure
    hot_ratio: Figure
    warm_ratio: Figure
    cold_ratio: Figure
    hot_host_median: Figure = Field(description="Share of hot memory of the median host; `hot_ratio` weighs by memory.")
    warm_host_median: Figure
    cold_host_median: Figure
    hot_outside_dram_bytes: Figure
    cold_in_dram_bytes: Figure
    promotion_pages_per_s: Figure
    demotion_pages_per_s: Figure
    psi_memory_some_ratio: Figure
    services: list[ServiceSummary]
    worst_hosts: list[HostSummary]
    matrix_axis: TimeAxis
    matrix: list[ServiceMatrixRow]
    moves_axis: TimeAxis
    moves: list[Series]
    psi: list[Series]


router = APIRouter(prefix="/v1/fleet", tags=["fleet"], dependencies=[Depends(requires("read:fleet"))])

Reads = Annotated[FleetReads, Depends(use(lambda held: held.fleet))]


@router.get("", response_model=FleetOverview, summary="The whole installation on one screen")
def read_fleet(
    request: Request, reads: Reads, from_: From = None, to: To = None, max_points: MaxPoints = 144
) -> Response:
    """Headline, figures, services over time, tier moves, memory pressure, hosts with problems."""
    return answer(request, FleetOverview, reads.overview(from_=from_, to=to, max_points=max_points))
