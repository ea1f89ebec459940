"""Revisit: how soon idle memory of a service is accessed again."""

from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Query, Request, Response
from pydantic import Field

from tierscope.api.base.answers import From, To, answer
from tierscope.api.base.figures import Model, PageKind
from tierscope.api.base.permissions import requires
from tierscope.api.base.use_cases import use
from tierscope.domain.base.figures import Figure, Origin, Window
from tierscope.usecases.curve.reaccess import RevisitReads

Clock = Literal["last_access", "turned_cold"]


class RevisitCurve(Model):
    """Share of memory re-accessed within each lag, with its band over hosts; null where nothing was left to watch."""

    kind: Literal["all"] | PageKind
    clock: Clock = Field(description="Lag since the last access, or since the memory turned cold.")
    method: str = Field(description="kaplan_meier, or cumulative_incidence where unmaps compete.")
    share: list[float | None]
    lo: list[float | None]
    hi: list[float | None]
    at_risk_bytes: list[float]
    last_known_lag: int
    figures: list[Figure] = Field(description="At lags of 1, 2, 5, 10 and 20 intervals.")


class Revisit(Model):
    """Answer of /v1/services/{id}/revisit."""

    service_id: str
    origin: Origin
    method: str
    backend: str
    granularity: str
    interval_seconds: float | None
    window: Window
    lags: list[int] = Field(description="Intervals, for all curves.")
    curves: list[RevisitCurve]
    missing: Figure | None = Field(description="Why there are no curves.")
    other_methods: list[str]
    notes: list[str]


router = APIRouter(
    prefix="/v1/services/{service_id}/revisit", tags=["heat"], dependencies=[Depends(requires("read:fleet"))]
)

Reads = Annotated[RevisitReads, Depends(use(lambda held: held.reaccess))]


@router.get("", response_model=Revisit, summary="How soon idle memory is accessed again")
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
) -> Response:
    """Re-access curves of all memory and of each page kind, censored gaps and unmaps taken into account."""
    view = reads.service(
        service_id, clock=clock, idle_intervals=idle_intervals, host=host, method=method, from_=from_, to=to
    )
    return answer(request, Revisit, view)
