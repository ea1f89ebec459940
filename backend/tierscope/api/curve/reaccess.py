"""Revisit: how soon idle memory of a service is accessed again."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request

from tierscope.api.base.answers import Answer, From, To, answer
from tierscope.api.base.permissions import requires
from tierscope.api.base.tables import tabular
from tierscope.api.base.use_cases import use
from tierscope.usecases.curve.reaccess import Clock, Revisit, RevisitReads

router = APIRouter(
    prefix="/v1/services/{service_id}/revisit", tags=["heat"], dependencies=[Depends(requires("read:fleet"))]
)

Reads = Annotated[RevisitReads, Depends(use(lambda held: held.reaccess))]


@router.get("", summary="How soon idle memory is accessed again")
@tabular("curves")
def read_revisit(
    request: Request,
    reads: Reads,
    service_id: str,
    clock: Clock = "last_access",
    idle_intervals: Annotated[
        int, Query(ge=1, le=40, description="Idle intervals after which memory counts as cold.")
    ] = 2,
    host: Annotated[str | None, Query(description="Only this host id.")] = None,
    method: Annotated[str | None, Query(description="Family or back end; default: the one with most data.")] = None,
    from_: From = None,
    to: To = None,
) -> Answer[Revisit]:
    """Re-access curves of all memory and of each page kind, censored gaps and unmaps taken into account."""
    view = reads.service(
        service_id, clock=clock, idle_intervals=idle_intervals, host=host, method=method, from_=from_, to=to
    )
    return answer(request, Revisit, view)
