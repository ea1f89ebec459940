"""Served accesses against DRAM size: what shares of its memory in DRAM would serve of a service's accesses."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request

from tierscope.api.base.answers import Answer, From, To
from tierscope.api.base.permissions import requires
from tierscope.api.base.reuse import answer_reused
from tierscope.api.base.tables import tabular
from tierscope.api.base.use_cases import use
from tierscope.domain.base.vocabulary import PageKind
from tierscope.usecases.curve.reads import Curve, CurveReads

router = APIRouter(
    prefix="/v1/services/{service_id}/curve", tags=["curve"], dependencies=[Depends(requires("read:fleet"))]
)

Reads = Annotated[CurveReads, Depends(use(lambda held: held.curve))]


@router.get("", summary="Accesses served against DRAM size")
@tabular("curves", "at_ratios", "density")
def read_curve(
    request: Request,
    reads: Reads,
    service_id: str,
    host: Annotated[str | None, Query(description="Only this host id.")] = None,
    kind: Annotated[PageKind | None, Query(description="Only this page kind.")] = None,
    method: Annotated[str | None, Query(description="Family or back end; default: the most telling one.")] = None,
    from_: From = None,
    to: To = None,
) -> Answer[Curve]:
    """The best static placement and an LRU, with bands, figures at ratios that are sold, and density by page kind."""
    return answer_reused(
        request,
        Curve,
        from_,
        to,
        lambda: reads.service(service_id, host=host, kind=kind, method=method, from_=from_, to=to),
    )
