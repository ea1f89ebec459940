"""Fairness: shares of a host's top tier against fair shares, and who pushed whom out of it."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request

from tierscope.api.base.answers import Answer, From, MaxPoints, To
from tierscope.api.base.permissions import requires
from tierscope.api.base.reuse import answer_reused
from tierscope.api.base.tables import tabular
from tierscope.api.base.use_cases import use
from tierscope.domain.fairness.vocabulary import Basis
from tierscope.usecases.fairness.answers import HostFairness, ServiceFairness, TenantKind
from tierscope.usecases.fairness.limit_answers import HostLimits
from tierscope.usecases.fairness.limits import LimitReads, WantedLimits
from tierscope.usecases.fairness.reads import FairnessReads

router = APIRouter(prefix="/v1", tags=["fairness"], dependencies=[Depends(requires("read:fleet"))])

Reads = Annotated[FairnessReads, Depends(use(lambda held: held.fairness))]
Limits = Annotated[LimitReads, Depends(use(lambda held: held.fairness_limits))]
MAX_SETTINGS = 32
REPLAYED_SECONDS = 300.0
"""A replay is used again for that long: page samples come by the hour."""
FairBy = Annotated[
    Basis | None,
    Query(description="What is fair. Default `hot` where heat of all tenants is measured, else `resident`."),
]
By = Annotated[TenantKind, Query(description="Services of the host, or its innermost control groups.")]


@router.get("/hosts/{host_id}/fairness", summary="Fairness on a host")
@tabular("series", "tenants", "pushes")
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


@router.get("/hosts/{host_id}/fairness/limits", summary="What limits would do on a host")
@tabular("tenants")
def read_host_limits(
    request: Request,
    reads: Limits,
    host_id: str,
    protect: Annotated[
        list[str], Query(max_length=MAX_SETTINGS, description="`memory.low` of a service, as SERVICE=BYTES.")
    ] = [],  # noqa: B006 - never changed
    limit: Annotated[
        list[str], Query(max_length=MAX_SETTINGS, description="Most of the top tier for a service, as SERVICE=BYTES.")
    ] = [],  # noqa: B006 - never changed
    basis: FairBy = None,
    from_: From = None,
    to: To = None,
) -> Answer[HostLimits]:
    """The host's services replayed together, before and after: without settings, under the protection proposed."""
    wanted = WantedLimits.parse(protect, limit)
    return answer_reused(
        request,
        HostLimits,
        from_,
        to,
        lambda: reads.host(host_id, wanted, basis=basis, from_=from_, to=to),
        at_least_seconds=REPLAYED_SECONDS,
    )


@router.get("/services/{service_id}/fairness", summary="Fairness of a service")
@tabular("hosts")
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
