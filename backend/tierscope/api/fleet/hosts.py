"""Hosts: the list, one host's inventory and findings."""

from datetime import datetime
from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Query, Request, Response

from tierscope.api.base.answers import Cursor, Limit, answer
from tierscope.api.base.figures import Model, Page
from tierscope.api.base.permissions import requires
from tierscope.api.base.tables import FILES, Format, answer_or_file
from tierscope.api.base.use_cases import use
from tierscope.domain.base.figures import Figure, Origin
from tierscope.domain.fleet.node_state import NodeInfo
from tierscope.usecases.base.hardware import Hardware
from tierscope.usecases.fleet.host_agent import AgentInfo, CollectorInfo
from tierscope.usecases.fleet.hosts import HostReads, KnobInfo, SwapInfo

HostState = Literal["reporting", "late", "silent", "retired"]
Severity = Literal["info", "warning", "critical"]


class Finding(Model):
    """Something wrong or noteworthy on a host, with its cause and what to do about it."""

    id: str
    severity: Severity
    cause: str
    fix: str
    confidence: Literal["certain", "likely", "possible"]
    since: datetime | None


class HostSummary(Model):
    """A line of the hosts list."""

    id: str
    name: str
    origin: Origin
    state: HostState
    last_seen: datetime | None
    kernel: str | None
    dialect: str | None
    labels: dict[str, str]
    memory_bytes: Figure
    tiers: list[str]
    services: list[str]
    promotion_pages_per_s: Figure
    demotion_pages_per_s: Figure
    psi_memory_some_ratio: Figure
    verdict: str
    findings: list[Finding]
    agent_version: str | None


class HostService(Model):
    """A service seen on this host."""

    id: str
    namespace: str
    name: str
    rule: str
    processes: int
    heat_measured: bool
    heat_reason: str | None


class HostDetail(Model):
    """Everything that is known of one host now."""

    summary: HostSummary
    headline: str
    architecture: str | None
    cpu_model: str | None
    cpus_online: int | None
    cgroup_version: str | None
    boot_id: str | None
    inventory_at: datetime | None
    nodes: list[NodeInfo]
    knobs: list[KnobInfo]
    collectors: list[CollectorInfo]
    services: list[HostService]
    swaps: list[SwapInfo]
    agent_rss_bytes: Figure
    agent_cpu_ratio: Figure
    hardware: Hardware
    agent: AgentInfo
    clock_skew_seconds: float | None


router = APIRouter(prefix="/v1/hosts", tags=["hosts"], dependencies=[Depends(requires("read:fleet"))])

Reads = Annotated[HostReads, Depends(use(lambda held: held.hosts))]


@router.get(
    "", response_model=Page[HostSummary], responses=FILES, summary="Hosts, with their state and last tier moves"
)
def list_hosts(
    request: Request,
    reads: Reads,
    limit: Limit = 100,
    cursor: Cursor = None,
    state: HostState | None = None,
    service: Annotated[str | None, Query(description="Only hosts of this service id.")] = None,
    origin: Origin | None = None,
    label: Annotated[list[str] | None, Query(description="`key=value`; repeat to narrow.")] = None,
    format: Format = "json",
) -> Response:
    """List hosts by name, then id."""
    view = reads.list(limit=limit, cursor=cursor, state=state, service=service, origin=origin, labels=label or [])
    return answer_or_file(request, Page[HostSummary], view, name="hosts", format=format)


@router.get("/{host_id}", response_model=HostDetail, summary="Everything known of one host now")
def read_host(request: Request, reads: Reads, host_id: str) -> Response:
    """One host: nodes and tiers, knobs, collectors and why some are off, services, findings."""
    return answer(request, HostDetail, reads.detail(host_id))
