"""Pods of hosts and services in a Kubernetes cluster."""

from typing import Annotated

from fastapi import APIRouter, Depends, Request

from tierscope.api.base.answers import Answer, Cursor, Limit, answer
from tierscope.api.base.permissions import requires
from tierscope.api.base.tables import tabular
from tierscope.api.base.use_cases import use
from tierscope.domain.base.pages import Page
from tierscope.domain.fleet.pods import Pod
from tierscope.usecases.fleet.pods import PodReads

router = APIRouter(prefix="/v1", dependencies=[Depends(requires("read:fleet"))])

Reads = Annotated[PodReads, Depends(use(lambda held: held.pods))]


@router.get("/hosts/{host_id}/pods", tags=["hosts"], summary="Pods that run on one host")
@tabular("items")
def list_host_pods(
    request: Request, reads: Reads, host_id: str, limit: Limit = 100, cursor: Cursor = None
) -> Answer[Page[Pod]]:
    """List the pods of the newest inventory by namespace and name. Empty for a host that is no node of a cluster."""
    return answer(request, Page[Pod], reads.of_host(host_id, limit=limit, cursor=cursor))


@router.get("/services/{service_id}/pods", tags=["services"], summary="Pods of one service, on all its hosts")
@tabular("items")
def list_service_pods(
    request: Request, reads: Reads, service_id: str, limit: Limit = 100, cursor: Cursor = None
) -> Answer[Page[Pod]]:
    """List pods whose processes are counted to the service, by namespace and name."""
    return answer(request, Page[Pod], reads.of_service(service_id, limit=limit, cursor=cursor))
