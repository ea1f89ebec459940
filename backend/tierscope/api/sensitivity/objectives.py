"""Service levels of tiered memory: promotions per working set, slow accesses and slow residency of a service."""

from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Request, Response
from pydantic import Field

from tierscope.api.base.answers import From, MaxPoints, To
from tierscope.api.base.figures import Figure, Model, Series, TimeAxis, Window
from tierscope.api.base.permissions import requires
from tierscope.api.base.reuse import answer_reused
from tierscope.api.base.use_cases import use
from tierscope.usecases.sensitivity.objectives import ObjectiveReads


class ObjectiveClass(Model):
    """What limits the service; null with the reason where it is not known."""

    name: Literal["latency", "bandwidth", "mixed", "insensitive"] | None
    why: str


class Comparison(Model):
    """A number that a paper states, and the same of this service. Published points are no targets."""

    point: str
    published: float
    source: str
    measured: Figure


class Objectives(Model):
    """Answer of /v1/services/{id}/revisit/objectives."""

    service_id: str
    window: Window
    axis: TimeAxis
    series: list[Series]
    promotion_rate: Figure = Field(
        description="Memory accessed again after 120 s of idleness or more, per minute and byte active within 120 s."
    )
    slow_access_ratio: Figure
    slow_residency_ratio: Figure
    target_per_min: float
    meets_target: bool | None = Field(description="Null without a rate, and where its interval holds the target.")
    service_class: ObjectiveClass
    comparisons: list[Comparison]
    notes: list[str]


router = APIRouter(
    prefix="/v1/services/{service_id}/revisit/objectives",
    tags=["heat"],
    dependencies=[Depends(requires("read:fleet"))],
)

Reads = Annotated[ObjectiveReads, Depends(use(lambda held: held.objectives))]


@router.get("", response_model=Objectives, summary="Service levels of tiered memory")
def read_objectives(
    request: Request,
    reads: Reads,
    service_id: str,
    from_: From = None,
    to: To = None,
    max_points: MaxPoints = 500,
) -> Response:
    """How much idle memory comes back, and how much slower tiers serve and hold, with published points beside."""
    return answer_reused(
        request, Objectives, from_, to, lambda: reads.service(service_id, from_=from_, to=to, max_points=max_points)
    )
