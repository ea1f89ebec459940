"""Hosts: the list, one host's inventory and findings."""

from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Query, Request
from pydantic import AwareDatetime

from tierscope.api.base.answers import Answer, Cursor, Limit, Tags, answer
from tierscope.api.base.limited import COSTLY
from tierscope.api.base.permissions import requires
from tierscope.api.base.tables import tabular
from tierscope.api.base.use_cases import use
from tierscope.domain.base.figures import Origin
from tierscope.domain.fleet.host_facts import HostSort, HostState
from tierscope.usecases.fleet.hosts import HostDetail, HostPage, HostReads

router = APIRouter(prefix="/v1/hosts", tags=["hosts"], dependencies=[Depends(requires("read:fleet"))])

Reads = Annotated[HostReads, Depends(use(lambda held: held.hosts))]


@router.get("", summary="Hosts, with their state and last tier moves")
@tabular("items")
def list_hosts(
    request: Request,
    reads: Reads,
    limit: Limit = 100,
    cursor: Cursor = None,
    state: HostState | None = None,
    service: Annotated[str | None, Query(description="Only hosts of this service id.")] = None,
    origin: Origin | None = None,
    label: Annotated[list[str] | None, Query(description="`key=value`; repeat to narrow.")] = None,
    enrolled_since: Annotated[AwareDatetime | None, Query(description="Only hosts enrolled then or later.")] = None,
    host: Annotated[list[str] | None, Query(description="Only these host ids; repeat.", max_length=1000)] = None,
    q: Annotated[
        str,
        Query(description="Words, each part of its name, kernel, tiers or a label as `key=value`.", max_length=200),
    ] = "",
    cause: Annotated[
        str | None,
        Query(description="`state:silent`, `verdict:stalled`, `setting:tiering_off`, `finding:…`", max_length=200),
    ] = None,
    tags: Tags = None,
    sort: Annotated[HostSort, Query(description="By what; `trouble` is how badly a host does.")] = "name",
    order: Annotated[
        Literal["ascending", "descending"], Query(description="Hosts of which it is not known come last.")
    ] = "ascending",
) -> Answer[HostPage]:
    """List hosts by name, then id, or in another order."""
    view = reads.list(
        limit=limit,
        cursor=cursor,
        state=state,
        service=service,
        origin=origin,
        labels=label or [],
        enrolled_since=enrolled_since,
        hosts=host,
        words=q,
        cause=cause,
        tags=tags or [],
        sort=sort,
        descending=order == "descending",
    )
    return answer(request, HostPage, view)


@router.get("/{host_id}", dependencies=[COSTLY], summary="Everything known of one host now")
def read_host(request: Request, reads: Reads, host_id: str) -> Answer[HostDetail]:
    """One host: nodes and tiers, knobs, collectors and why some are off, services, findings."""
    return answer(request, HostDetail, reads.detail(host_id))
