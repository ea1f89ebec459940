"""Statistics over many hosts: peer groups, outliers, change points, services that behave alike."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request

from tierscope.api.base.answers import Answer, At, From, To, answer
from tierscope.api.base.limited import COSTLY
from tierscope.api.base.permissions import requires
from tierscope.api.base.reuse import answer_reused
from tierscope.api.base.tables import tabular
from tierscope.api.base.use_cases import use
from tierscope.usecases.statistics.network import NetworkComparison, NetworkReads
from tierscope.usecases.statistics.reads import FleetStatisticsReads
from tierscope.usecases.statistics.views import FleetDrift, FleetStatistics, Lookalikes

COUNTED_SECONDS = 60.0
"""Whole hours are counted by a worker, some minutes after their end: nothing changes within a minute."""


router = APIRouter(tags=["fleet"], dependencies=[Depends(requires("read:fleet"))])

Reads = Annotated[FleetStatisticsReads, Depends(use(lambda held: held.fleet_statistics))]
Network = Annotated[NetworkReads, Depends(use(lambda held: held.networks))]


@router.get("/v1/fleet/statistics", summary="Peer groups, outliers, change points")
@tabular("outliers", "groups", "changes")
def read_fleet_statistics(
    request: Request,
    reads: Reads,
    service: Annotated[str | None, Query(description="Only this service id.")] = None,
    metric: Annotated[str | None, Query(description="Only this metric.")] = None,
    from_: From = None,
    to: To = None,
) -> Answer[FleetStatistics]:
    """Quantiles by group of peer hosts, hosts that differ from their peers, and changes with the events around them."""
    return answer_reused(
        request,
        FleetStatistics,
        from_,
        to,
        lambda: reads.statistics(service=service, metric=metric, from_=from_, to=to),
        at_least_seconds=COUNTED_SECONDS,
    )


@router.get("/v1/fleet/drift", summary="How far each host is from its peers")
@tabular("hosts")
def read_fleet_drift(request: Request, reads: Reads, at: At = None) -> Answer[FleetDrift]:
    """By host the metric in which it is furthest from its peers, in the newest hour that is counted."""
    return answer(request, FleetDrift, reads.drift(at=at))


@router.get("/v1/services/{service_id}/lookalikes", summary="Services that behave alike")
@tabular("members", "features")
def read_lookalikes(request: Request, reads: Reads, service_id: str) -> Answer[Lookalikes]:
    """The cluster of the service by the heat of its memory, where one stands apart."""
    return answer(request, Lookalikes, reads.lookalikes(service_id))


@router.get("/v1/services/{service_id}/network", dependencies=[COSTLY], summary="RDMA and SMC-R beside another service")
def compare_network(
    request: Request,
    reads: Network,
    service_id: str,
    other: Annotated[str | None, Query(description="The other service id; absent: the same service.")] = None,
    from_: From = None,
    to: To = None,
    other_from: Annotated[str | None, Query(description="Start on the other side; absent: the same window.")] = None,
    other_to: Annotated[str | None, Query(description="End on the other side.")] = None,
) -> Answer[NetworkComparison]:
    """Whether RDMA or SMC-R may explain a difference between two services, or between two times of one."""
    found = reads.compare(service_id, other, from_=from_, to=to, other_from=other_from, other_to=other_to)
    return answer(request, NetworkComparison, found)
