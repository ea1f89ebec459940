"""Services: the list and one service's overview."""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request, Response
from pydantic import Field

from tierscope.api.access.me import TeamRef
from tierscope.api.base.answers import Cursor, From, Limit, To, answer
from tierscope.api.base.figures import Model, Page
from tierscope.api.base.permissions import requires
from tierscope.api.base.tables import FILES, Format, answer_or_file
from tierscope.api.base.use_cases import use
from tierscope.domain.base.figures import Figure, Origin
from tierscope.usecases.fleet.services import Event, ServiceReads


class ServiceSummary(Model):
    """A line of the services table."""

    id: str
    namespace: str
    name: str
    origin: Origin
    n_hosts: int
    n_hosts_with_heat: int
    resident_bytes: Figure
    anon_ratio: Figure
    hot_ratio: Figure
    warm_ratio: Figure
    cold_ratio: Figure
    method: str | None
    promotion_pages_per_s: Figure
    demotion_pages_per_s: Figure
    psi_memory_some_ratio: Figure
    verdict: str
    last_seen: datetime | None
    owner_team: TeamRef | None = Field(description="Its members may do more with this service than their role says.")


class ServiceDetail(Model):
    """One service in one sentence, and its evidence."""

    summary: ServiceSummary
    headline: str
    aliases: list[str]
    heat_reason: str | None
    hosts: list[str]
    events: list[Event]


router = APIRouter(prefix="/v1/services", tags=["services"], dependencies=[Depends(requires("read:fleet"))])

Reads = Annotated[ServiceReads, Depends(use(lambda held: held.services))]


@router.get("", response_model=Page[ServiceSummary], responses=FILES, summary="Services with heat and tier moves")
def list_services(
    request: Request,
    reads: Reads,
    limit: Limit = 100,
    cursor: Cursor = None,
    origin: Origin | None = None,
    host: Annotated[str | None, Query(description="Only services seen on this host id.")] = None,
    format: Format = "json",
) -> Response:
    """List services by namespace, name, then id."""
    view = reads.list(limit=limit, cursor=cursor, origin=origin, host=host)
    return answer_or_file(request, Page[ServiceSummary], view, name="services", format=format)


@router.get("/{service_id}", response_model=ServiceDetail, summary="One service in one sentence, and its evidence")
def read_service(request: Request, reads: Reads, service_id: str, from_: From = None, to: To = None) -> Response:
    """One service: headline, figures, hosts, aliases, events in the window."""
    return answer(request, ServiceDetail, reads.detail(service_id, from_=from_, to=to))
