"""Counters: raw kernel values of one host as series, and the names it offers."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request

from tierscope.api.base.answers import Answer, From, MaxPoints, To, answer
from tierscope.api.base.permissions import requires
from tierscope.api.base.tables import tabular
from tierscope.api.base.use_cases import use
from tierscope.usecases.counters.reads import CounterAnswer, CounterNames, CounterReads

router = APIRouter(
    prefix="/v1/hosts/{host_id}/counters", tags=["counters"], dependencies=[Depends(requires("read:fleet"))]
)

Reads = Annotated[CounterReads, Depends(use(lambda held: held.counters))]


@router.get("", summary="One counter of a host as series")
@tabular("series")
def read_counter(
    request: Request,
    reads: Reads,
    host_id: str,
    name: Annotated[
        str,
        Query(
            min_length=1,
            max_length=512,
            description="A bare name (`pgpromote_success`: host scope and every node) "
            "or a whole key (`host|vmstat|pgfault`).",
        ),
    ],
    scope: Annotated[
        str | None, Query(description="Only this scope: `host`, `node:0`, `zone:0/Normal`, `cgroup:/x`.")
    ] = None,
    source: Annotated[str | None, Query(description="Only this source, such as `vmstat`.")] = None,
    from_: From = None,
    to: To = None,
    max_points: MaxPoints = 500,
) -> Answer[CounterAnswer]:
    """Series of one counter name: raw values, and reset-safe rates for monotonic counters."""
    view = reads.series(host_id, name=name, scope=scope, source=source, from_=from_, to=to, max_points=max_points)
    return answer(request, CounterAnswer, view)


@router.get("/names", summary="Counters that a host sends")
@tabular("items")
def read_names(
    request: Request,
    reads: Reads,
    host_id: str,
    scope: Annotated[str | None, Query(description="Only this scope.")] = None,
    contains: Annotated[str | None, Query(max_length=100, description="Only names that contain this text.")] = None,
    limit: Annotated[int, Query(ge=1, le=10000)] = 5000,
) -> Answer[CounterNames]:
    """All counters of the host's newest layout, with what the catalogue knows of each."""
    return answer(request, CounterNames, reads.names(host_id, scope=scope, contains=contains, limit=limit))
