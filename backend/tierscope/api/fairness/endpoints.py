"""Fairness: shares of a host's top tier against fair shares, and who pushed whom out of it."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request

from tierscope.api.base.answers import Answer, From, MaxPoints, To
from tierscope.api.base.permissions import requires
from tierscope.api.base.reuse import answer_reused
from tierscope.api.base.use_cases import use
from tierscope.domain.fairness.shares import Basis
from tierscope.usecases.fairness.answers import HostFairness, ServiceFairness, TenantKind
from tierscope.usecases.fairness.reads import FairnessReads

router = APIRouter(prefix="/v1", tags=["fairness"], dependencies=[Depends(requires("read:fleet"))])

Reads = Annotated[FairnessReads, Depends(use(lambda held: held.fairness))]
FairBy = Annotated[
    Basis | None,
    Query(description="What is fair. Default `hot` where heat of all tenants is measured, else `resident`."),
]
By = Annotated[TenantKind, Query(description="Services of the host, or its innermost control groups.")]


@router.get("/hosts/{host_id}/fairness", summary="Fairness on a host")
def read_host_fairness(
    request: Request,
    reads: Reads,
    host_id: str,
    by: By = "service",
    basis: FairBy = None,
    from_: From = None,
    to: To = None,
    max_points: MaxPoints = 500,
) -> Answer[HostFairness]:
    """Who holds how much of the top tier, against what is fair by four definitions, and who pushed whom out of it."""
    return answer_reused(
        request,
        HostFairness,
        from_,
        to,
        lambda: reads.host(host_id, by=by, basis=basis, from_=from_, to=to, max_points=max_points),
    )


@router.get("/services/{service_id}/fairness", summary="Fairness of a service")
def read_service_fairness(
    request: Request, reads: Reads, service_id: str, basis: FairBy = None, from_: From = None, to: To = None
) -> Answer[ServiceFairness]:
    """What the service holds beyond its fair share on each of its hosts, and who is below its own there."""
    return answer_reused(
        request,
        ServiceFairness,
        from_,
        to,
        lambda: reads.service(service_id, basis=basis, from_=from_, to=to),
    )
