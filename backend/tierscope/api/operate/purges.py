"""Removing the data of a host or a service."""

from typing import Annotated

from fastapi import APIRouter, Depends, Request
from pydantic import Field

from tierscope.api.base.answers import Answer, Cursor, Limit, answer
from tierscope.api.base.figures import Model
from tierscope.api.base.permissions import requires
from tierscope.api.base.tables import tabular
from tierscope.api.base.use_cases import use
from tierscope.domain.base.pages import Page
from tierscope.usecases.access.tokens import Caller
from tierscope.usecases.operate.purges import Purge, Purges


class PurgeRequest(Model):
    """The name of the host or service (`namespace/name`), typed by whoever removes its data."""

    confirm: str = Field(max_length=512)


router = APIRouter(prefix="/v1", tags=["operations"])
Stored = Annotated[Purges, Depends(use(lambda held: held.purges))]
Remover = Annotated[Caller, Depends(requires("purge:data"))]
_READ = [Depends(requires("purge:data"))]


@router.post("/hosts/{host_id}/purge", status_code=202, summary="Remove all data of a host")
def purge_host(purges: Stored, host_id: str, body: PurgeRequest, caller: Remover) -> Purge:
    """Its credential ends at once; a worker removes its data from every table. There is no way back."""
    return purges.start("host", host_id, confirm=body.confirm, actor=caller.name)


@router.post("/services/{service_id}/purge", status_code=202, summary="Remove all data of a service")
def purge_service(purges: Stored, service_id: str, body: PurgeRequest, caller: Remover) -> Purge:
    """A worker removes its data from every table. Where it still runs it is found again, as a new service."""
    return purges.start("service", service_id, confirm=body.confirm, actor=caller.name)


@router.get("/purges", dependencies=_READ, summary="Jobs that remove data, newest first")
@tabular("items")
def list_purges(request: Request, purges: Stored, limit: Limit = 100, cursor: Cursor = None) -> Answer[Page[Purge]]:
    """Jobs with what each removed."""
    return answer(request, Page[Purge], purges.list(limit=limit, cursor=cursor))


@router.get("/purges/{purge_id}", dependencies=_READ, summary="One job that removes data")
def read_purge(request: Request, purges: Stored, purge_id: str) -> Answer[Purge]:
    """How far it is, and rows by table."""
    return answer(request, Purge, purges.read(purge_id))
