"""Services: the list and one service's overview."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request

from tierscope.api.base.answers import Answer, Cursor, From, Limit, Tags, To, answer
from tierscope.api.base.limited import COSTLY
from tierscope.api.base.permissions import requires
from tierscope.api.base.tables import tabular
from tierscope.api.base.use_cases import use
from tierscope.domain.base.figures import Origin
from tierscope.domain.base.pages import Page
from tierscope.usecases.fleet.service_summaries import ServiceSummary
from tierscope.usecases.fleet.services import ServiceDetail, ServiceReads

router = APIRouter(prefix="/v1/services", tags=["services"], dependencies=[Depends(requires("read:fleet"))])

Reads = Annotated[ServiceReads, Depends(use(lambda held: held.services))]


@router.get("", summary="Services with heat and tier moves")
@tabular("items")
def list_services(
    request: Request,
    reads: Reads,
    limit: Limit = 100,
    cursor: Cursor = None,
    origin: Origin | None = None,
    host: Annotated[str | None, Query(description="Only services seen on this host id.")] = None,
    tags: Tags = None,
) -> Answer[Page[ServiceSummary]]:
    """List services by namespace, name, then id."""
    view = reads.list(limit=limit, cursor=cursor, origin=origin, host=host, tags=tags or [])
    return answer(request, Page[ServiceSummary], view)


@router.get("/{service_id}", dependencies=[COSTLY], summary="One service in one sentence, and its evidence")
def read_service(
    request: Request, reads: Reads, service_id: str, from_: From = None, to: To = None
) -> Answer[ServiceDetail]:
    """One service: headline, figures, hosts, aliases, events in the window."""
    return answer(request, ServiceDetail, reads.detail(service_id, from_=from_, to=to))
