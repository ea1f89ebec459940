"""DRAM:CXL ratio advice of a service, with everything it rests on."""

from datetime import datetime
from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Query, Request, Response
from pydantic import Field

from tierscope.api.base.answers import From, To, answer
from tierscope.api.base.figures import Model
from tierscope.api.base.permissions import requires
from tierscope.api.base.use_cases import use
from tierscope.domain.base.figures import Origin, Window
from tierscope.usecases.ratio.answers import (
    InterleaveWeights,
    NamedFigure,
    RatioAssumption,
    RatioCandidate,
    RatioLeadingFigures,
    RatioPlacement,
    RatioPosterior,
    RatioSensitivity,
    RatioSweep,
    Subtracted,
)
from tierscope.usecases.ratio.reads import RatioReads


class ServiceClass(Model):
    """What limits the service."""

    name: Literal["latency", "bandwidth", "mixed", "insensitive"] | None = Field(description="Null: not known.")
    why: str
    microsecond_service: bool | None = Field(description="Whether p99 latency is below 1 ms; null: not collected.")
    figures: list[NamedFigure]


class RatioPoint(Model):
    """A measurement of the owner: loss at a share of accesses on slow memory."""

    id: str | None
    source: Literal["ab_test", "prediction"]
    share_on_slow: float
    loss: float
    loss_standard_error: float
    used: bool
    why_not: str | None
    measured_at: datetime
    author: str
    note: str


class Ratio(Model):
    """Answer of /v1/services/{id}/ratio."""

    service_id: str
    origin: Origin
    window: Window
    sentence: str
    service_class: ServiceClass
    loss_target: float
    stressed: bool
    growth: float
    headroom_ratio: float
    answer: Literal["ratio", "all_dram", "refused"]
    refused: list[str] = Field(description="Why no ratio is advised; each says what is missing.")
    placement: RatioPlacement | None = Field(description="Null where there are no page samples.")
    chosen: RatioCandidate | None
    candidates: list[RatioCandidate] = Field(description="From most DRAM to least; empty where refused.")
    sweep: RatioSweep | None
    posterior: RatioPosterior | None
    points: list[RatioPoint]
    evidence: list[NamedFigure]
    assumptions: list[RatioAssumption]
    sensitivity: list[RatioSensitivity]
    leading: RatioLeadingFigures
    subtracted: list[Subtracted]
    interleave: InterleaveWeights | None
    alternatives: list[str] = Field(description="Names of other ratios that keep the target.")
    expires_at: datetime | None
    notes: list[str]


router = APIRouter(
    prefix="/v1/services/{service_id}/ratio", tags=["ratio"], dependencies=[Depends(requires("read:fleet"))]
)

Reads = Annotated[RatioReads, Depends(use(lambda held: held.ratio))]


@router.get("", response_model=Ratio, summary="How small DRAM can be at a stated loss")
def read_ratio(
    request: Request,
    reads: Reads,
    service_id: str,
    loss_target: Annotated[float, Query(gt=0, le=0.5, description="Largest loss of throughput wanted.")] = 0.05,
    stressed: Annotated[bool, Query(description="Accept less DRAM than the hot bytes.")] = False,  # noqa: FBT002 - a query
    growth: Annotated[float, Query(ge=0, le=0.5, description="Growth of memory that DRAM must bear.")] = 0.0,
    from_: From = None,
    to: To = None,
) -> Response:
    """Judge every DRAM:CXL ratio and advise the smallest one that keeps the target; a week of data is read at least."""
    view = reads.service(service_id, loss_target=loss_target, stressed=stressed, growth=growth, from_=from_, to=to)
    return answer(request, Ratio, view)
