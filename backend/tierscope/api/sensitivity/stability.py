"""Stability: how steady a service's mix of memory and its hot set are, and when it was warm."""

from typing import Annotated

from fastapi import APIRouter, Depends, Request

from tierscope.api.base.answers import Answer, From, MaxPoints, To
from tierscope.api.base.permissions import requires
from tierscope.api.base.reuse import answer_reused
from tierscope.api.base.tables import tabular
from tierscope.api.base.use_cases import use
from tierscope.usecases.sensitivity.stability import Stability, StabilityReads

router = APIRouter(
    prefix="/v1/services/{service_id}/stability", tags=["analytics"], dependencies=[Depends(requires("read:fleet"))]
)

Reads = Annotated[StabilityReads, Depends(use(lambda held: held.stability))]


@router.get("", summary="How steady the mix of memory and the hot set are")
@tabular("series", "kinds", "hot_set")
def read_stability(
    request: Request, reads: Reads, service_id: str, from_: From = None, to: To = None, max_points: MaxPoints = 500
) -> Answer[Stability]:
    """Shares of page kinds over time with trend and spread, the end of warm-up, and the overlap of hot sets."""
    return answer_reused(
        request, Stability, from_, to, lambda: reads.service(service_id, from_=from_, to=to, max_points=max_points)
    )
