"""Statistics over many hosts: peer groups, outliers, change points, services that behave alike."""

from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Query, Request, Response
from pydantic import Field

from tierscope.api.base.answers import From, To, answer
from tierscope.api.base.figures import Figure, Model, Window
from tierscope.api.base.permissions import requires
from tierscope.api.base.reuse import answer_reused
from tierscope.api.base.use_cases import use
from tierscope.usecases.statistics.reads import FleetStatisticsReads

COUNTED_SECONDS = 60.0
"""Whole hours are counted by a worker, some minutes after their end: nothing changes within a minute."""


class GroupKey(Model):
    """What the hosts of a group have in common; null where inventories do not say."""

    service_id: str
    service: str
    sku: str | None = Field(description="The label `sku`, else processor model and memory.")
    ratio: str | None = Field(description="DRAM to slower memory, such as `8:1`.")
    kernel: str | None = Field(description="Kernel family, such as `6.8`.")
    agent_version: str | None


class Quantiles(Model):
    """Values at four ranks over host-hours."""

    p10: float
    p50: float
    p90: float
    p99: float


class Shrunk(Model):
    """The median of a small group, drawn towards that of all hosts of the service: w = n / (n + 5)."""

    value: float
    own: float
    parent: float
    weight: float


class GroupMetric(Model):
    """One metric over a group."""

    metric: str
    label: str
    unit: str
    n: int = Field(description="Host-hours.")
    quantiles: Quantiles
    source: Literal["raw", "sketch"] = Field(description="All values, or a KLL sketch with ranks off by at most 1.3 %.")
    shrunk: Shrunk | None


class Group(Model):
    """Peer hosts."""

    key: GroupKey
    n_hosts: int
    metrics: list[GroupMetric]


class Outlier(Model):
    """A host beyond 3.5 robust standard deviations of its group, on one side, hours in a row."""

    host_id: str
    host: str
    metric: str
    label: str
    unit: str
    value: float
    median: float
    score: float
    windows: int
    group: GroupKey


class MatchedEvent(Model):
    """An event within 15 minutes of a change."""

    id: str
    at: float
    kind: str
    text: str


class Change(Model):
    """A service's metric changed its level; `at` in Unix seconds."""

    at: float
    service_id: str
    subject: str
    metric: str
    label: str
    unit: str
    direction: Literal["rise", "fall"]
    before: float | None
    after: float | None
    found_by: Literal["pelt", "cusum"]
    matched: list[MatchedEvent]


class FleetStatistics(Model):
    """Answer of /v1/fleet/statistics."""

    window: Window
    newest_hour: float | None = Field(description="End of the newest hour that is counted, Unix seconds.")
    groups: list[Group]
    outliers: list[Outlier]
    changes: list[Change]
    missing: Figure | None = Field(description="Why there are no groups.")
    notes: list[str]


class Feature(Model):
    """One feature of a service beside its cluster's median."""

    key: str
    label: str
    unit: str
    value: float | None
    cluster_median: float | None


class Lookalike(Model):
    """A service of the same cluster."""

    service_id: str
    name: str
    n_hosts: int
    distance: float = Field(description="Euclidean, in standard deviations of the features.")


class Lookalikes(Model):
    """Answer of /v1/services/{id}/lookalikes."""

    service_id: str
    cluster: str | None = Field(description="Null where the service stands with no other.")
    n_hosts: int | None = Field(description="Hosts of all services of the cluster.")
    members: list[Lookalike] = Field(description="The nearest first, without the service itself.")
    silhouette: float | None
    features: list[Feature]
    missing: Figure | None
    notes: list[str]


router = APIRouter(tags=["fleet"], dependencies=[Depends(requires("read:fleet"))])

Reads = Annotated[FleetStatisticsReads, Depends(use(lambda held: held.fleet_statistics))]


@router.get("/v1/fleet/statistics", response_model=FleetStatistics, summary="Peer groups, outliers, change points")
def read_fleet_statistics(
    request: Request,
    reads: Reads,
    service: Annotated[str | None, Query(description="Only this service id.")] = None,
    metric: Annotated[str | None, Query(description="Only this metric.")] = None,
    from_: From = None,
    to: To = None,
) -> Response:
    """Quantiles by group of peer hosts, hosts that differ from their peers, and changes with the events around them."""
    return answer_reused(
        request,
        FleetStatistics,
        from_,
        to,
        lambda: reads.statistics(service=service, metric=metric, from_=from_, to=to),
        at_least_seconds=COUNTED_SECONDS,
    )


@router.get("/v1/services/{service_id}/lookalikes", response_model=Lookalikes, summary="Services that behave alike")
def read_lookalikes(request: Request, reads: Reads, service_id: str) -> Response:
    """The cluster of the service by the heat of its memory, where one stands apart."""
    return answer(request, Lookalikes, reads.lookalikes(service_id))
