"""Removing the data of a host or a service."""

from datetime import datetime
from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Request, Response
from pydantic import Field

from tierscope.api.base.answers import Cursor, Limit, answer
from tierscope.api.base.figures import Model, Page
from tierscope.api.base.permissions import requires
from tierscope.api.base.use_cases import use
from tierscope.usecases.access.tokens import Caller
from tierscope.usecases.operate.purges import Purges


class PurgeRequest(Model):
    """The name of the host or service (`namespace/name`), typed by whoever removes its data."""

    confirm: str = Field(max_length=512)


class PurgeSubject(Model):
    """What is removed. The id names nothing any more once the job is done."""

    id: str
    name: str


class PurgedTable(Model):
    """Rows that were removed from a table, or rewritten without the subject."""

    table: str
    rows: int


class Purge(Model):
    """A job that removes all data of a host or a service. The audit trail stays.

    `progress_ratio` counts steps. `error`: what the last try failed with; it is tried again.
    """

    id: str
    kind: Literal["host", "service"]
    subject: PurgeSubject
    requested_by: str
    requested_at: datetime
    status: Literal["waiting", "running", "done"]
    progress_ratio: float
    report: list[PurgedTable]
    error: str | None
    started_at: datetime | None
    finished_at: datetime | None


router = APIRouter(prefix="/v1", tags=["operations"])
Stored = Annotated[Purges, Depends(use(lambda held: held.purges))]
Remover = Annotated[Caller, Depends(requires("purge:data"))]
_READ = [Depends(requires("purge:data"))]


@router.post("/hosts/{host_id}/purge", status_code=202, summary="Remove all data of a host")
def purge_host(purges: Stored, host_id: str, body: PurgeRequest, caller: Remover) -> Purge:
    """Its credential ends at once; a worker removes its data from every table. There is no way back."""
    return _answer(purges.start("host", host_id, confirm=body.confirm, actor=caller.name))


@router.post("/services/{service_id}/purge", status_code=202, summary="Remove all data of a service")
def purge_service(purges: Stored, service_id: str, body: PurgeRequest, caller: Remover) -> Purge:
    """A worker removes its data from every table. Where it still runs it is found again, as a new service."""
    return _answer(purges.start("service", service_id, confirm=body.confirm, actor=caller.name))


@router.get("/purges", response_model=Page[Purge], dependencies=_READ, summary="Jobs that remove data, newest first")
def list_purges(request: Request, purges: Stored, limit: Limit = 100, cursor: Cursor = None) -> Response:
    """Jobs with what each removed."""
    return answer(request, Page[Purge], purges.list(limit=limit, cursor=cursor))


@router.get("/purges/{purge_id}", response_model=Purge, dependencies=_READ, summary="One job that removes data")
def read_purge(request: Request, purges: Stored, purge_id: str) -> Response:
    """How far it is, and rows by table."""
    return answer(request, Purge, purges.read(purge_id))


def _answer(view: object) -> Purge:
    return Purge.model_validate(view, from_attributes=True)
