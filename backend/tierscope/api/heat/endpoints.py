"""Heat of a service: hot, warm and cold by scheme, with method, window, coverage and interval."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request

from tierscope.api.base.answers import Answer, From, MaxPoints, To, answer
from tierscope.api.base.permissions import requires
from tierscope.api.base.tables import tabular
from tierscope.api.base.use_cases import use
from tierscope.domain.base.vocabulary import PageKind
from tierscope.domain.heat import Scheme
from tierscope.usecases.heat.answers import (
    ServiceHeat,
)
from tierscope.usecases.heat.reads import HeatReads

router = APIRouter(
    prefix="/v1/services/{service_id}/heat", tags=["heat"], dependencies=[Depends(requires("read:fleet"))]
)

Reads = Annotated[HeatReads, Depends(use(lambda held: held.heat))]


@router.get("", summary="Hot, warm and cold memory of a service")
@tabular("series", "hosts", "not_measured", "classes", "by_kind", "by_size", "by_window", "age_histogram")
def read_heat(
    request: Request,
    reads: Reads,
    service_id: str,
    scheme: Scheme = "recency",
    threshold: Annotated[
        int | None,
        Query(
            ge=1,
            le=64,
            description="Intervals: recency hot below it (default 2), cold_age cold from it (default 2); "
            "frequency hot from this many active of the last 10 (default 5). Snapped to a bucket edge.",
        ),
    ] = None,
    kind: PageKind | None = None,
    host: Annotated[str | None, Query(description="Only this host id.")] = None,
    method: Annotated[
        str | None, Query(description="abit | referenced | trace | pebs | ...; default: the best one with data.")
    ] = None,
    from_: From = None,
    to: To = None,
    max_points: MaxPoints = 500,
    max_hosts: Annotated[
        int | None, Query(ge=0, le=10_000, description="List so many hosts, the largest; default all of them.")
    ] = None,
) -> Answer[ServiceHeat]:
    """Classes by scheme with method, window, coverage and interval; the age histogram; hosts; series over time."""
    view = reads.service(
        service_id,
        scheme=scheme,
        threshold=threshold,
        kind=kind,
        host=host,
        method=method,
        from_=from_,
        to=to,
        max_points=max_points,
        max_hosts=max_hosts,
    )
    return answer(request, ServiceHeat, view)
