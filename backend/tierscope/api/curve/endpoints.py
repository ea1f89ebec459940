"""Served accesses against DRAM size: what shares of its memory in DRAM would serve of a service's accesses."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request, Response
from pydantic import Field

from tierscope.api.base.answers import From, To
from tierscope.api.base.figures import Model, PageKind
from tierscope.api.base.permissions import requires
from tierscope.api.base.reuse import answer_reused
from tierscope.api.base.use_cases import use
from tierscope.domain.base.figures import Figure, Origin, Window
from tierscope.usecases.curve.answers import ServedAtRatio, ServedCurve
from tierscope.usecases.curve.reads import CurveReads


class KindDensity(Model):
    """How densely one page kind is accessed: share of accesses over share of bytes."""

    kind: PageKind
    bytes_ratio: Figure
    accesses_ratio: Figure
    density: Figure


class Curve(Model):
    """Answer of /v1/services/{id}/curve."""

    service_id: str
    origin: Origin
    method: str
    backend: str
    window: Window
    interval_seconds: float | None
    sampled_ratio: float | None = Field(description="Share of the pages that the hash selects, the mean over pages.")
    n_hosts: int
    n_pages: int
    n_accesses: int | None = Field(description="Counted accesses; null where the back end counts none.")
    traffic_coverage: float | None = Field(description="Share of the traffic on pages with samples; null if all is.")
    curves: list[ServedCurve]
    at_ratios: list[ServedAtRatio]
    density: list[KindDensity]
    log2_density_anon_file: Figure
    missing: Figure | None = Field(description="Why there is no curve of accesses.")
    other_methods: list[str]
    notes: list[str]


router = APIRouter(
    prefix="/v1/services/{service_id}/curve", tags=["curve"], dependencies=[Depends(requires("read:fleet"))]
)

Reads = Annotated[CurveReads, Depends(use(lambda held: held.curve))]


@router.get("", response_model=Curve, summary="Accesses served against DRAM size")
def read_curve(
    request: Request,
    reads: Reads,
    service_id: str,
    host: Annotated[str | None, Query(description="Only this host id.")] = None,
    kind: Annotated[PageKind | None, Query(description="Only this page kind.")] = None,
    method: Annotated[str | None, Query(description="Family or back end; default: the most telling one.")] = None,
    from_: From = None,
    to: To = None,
) -> Response:
    """The best static placement and an LRU, with bands, figures at ratios that are sold, and density by page kind."""
    return answer_reused(
        request,
        Curve,
        from_,
        to,
        lambda: reads.service(service_id, host=host, kind=kind, method=method, from_=from_, to=to),
    )
