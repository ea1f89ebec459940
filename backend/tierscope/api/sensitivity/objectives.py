"""Service levels of tiered memory: promotions per working set, slow accesses and slow residency of a service."""

from typing import Annotated

from fastapi import APIRouter, Depends, Request

from tierscope.api.base.answers import Answer, From, MaxPoints, To
from tierscope.api.base.permissions import requires
from tierscope.api.base.reuse import answer_reused
from tierscope.api.base.tables import tabular
from tierscope.api.base.use_cases import use
from tierscope.usecases.sensitivity.objectives import ObjectiveReads, Objectives

router = APIRouter(
    prefix="/v1/services/{service_id}/revisit/objectives",
    tags=["heat"],
    dependencies=[Depends(requires("read:fleet"))],
)

Reads = Annotated[ObjectiveReads, Depends(use(lambda held: held.objectives))]


@router.get("", summary="Service levels of tiered memory")
@tabular("series", "comparisons")
def read_objectives(
    request: Request,
    reads: Reads,
    service_id: str,
    from_: From = None,
    to: To = None,
    max_points: MaxPoints = 500,
) -> Answer[Objectives]:
    """How much idle memory comes back, and how much slower tiers serve and hold, with published points beside."""
    return answer_reused(
        request, Objectives, from_, to, lambda: reads.service(service_id, from_=from_, to=to, max_points=max_points)
    )
