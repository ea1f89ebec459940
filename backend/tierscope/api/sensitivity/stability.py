"""Stability: how steady a service's mix of memory and its hot set are, and when it was warm."""

from typing import Annotated

from fastapi import APIRouter, Depends, Request, Response
from pydantic import Field

from tierscope.api.base.answers import From, MaxPoints, To
from tierscope.api.base.figures import Model, PageKind
from tierscope.api.base.permissions import requires
from tierscope.api.base.reuse import answer_reused
from tierscope.api.base.use_cases import use
from tierscope.domain.base.figures import Figure, Origin, Series, TimeAxis, Window
from tierscope.usecases.sensitivity.stability import HotSetOverlap, StabilityReads, WarmUpEnd


class KindStability(Model):
    """The share of one page kind over time."""

    kind: PageKind
    slope_per_hour: Figure = Field(description="Theil-Sen slope of its share of resident memory.")
    iqr: Figure = Field(description="Interquartile range of the share over the last 24 hours.")
    stable: bool | None = Field(description="Slope below 5 points a day and range below 5 points; null where unknown.")


class Stability(Model):
    """Answer of /v1/services/{id}/stability."""

    service_id: str
    origin: Origin
    window: Window
    residency: str | None = Field(description="Where the resident bytes come from.")
    axis: TimeAxis
    series: list[Series]
    kinds: list[KindStability]
    warm_up_end: WarmUpEnd
    hot_set: list[HotSetOverlap]
    missing: Figure | None = Field(description="Why there are no shares.")
    notes: list[str]


router = APIRouter(
    prefix="/v1/services/{service_id}/stability", tags=["analytics"], dependencies=[Depends(requires("read:fleet"))]
)

Reads = Annotated[StabilityReads, Depends(use(lambda held: held.stability))]


@router.get("", response_model=Stability, summary="How steady the mix of memory and the hot set are")
def read_stability(
    request: Request, reads: Reads, service_id: str, from_: From = None, to: To = None, max_points: MaxPoints = 500
) -> Response:
    """Shares of page kinds over time with trend and spread, the end of warm-up, and the overlap of hot sets."""
    return answer_reused(
        request, Stability, from_, to, lambda: reads.service(service_id, from_=from_, to=to, max_points=max_points)
    )
