"""The ledger of tier moves: promotions and demotions, normalised over kernel dialects."""

from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Request, Response
from pydantic import Field

from tierscope.api.base.answers import From, MaxPoints, To
from tierscope.api.base.figures import Figure, Model, Series, TimeAxis, Window
from tierscope.api.base.permissions import requires
from tierscope.api.base.tables import FILES, Format, answer_or_file
from tierscope.api.base.use_cases import use
from tierscope.domain.base.figures import Origin
from tierscope.domain.ledger.columns import Trust
from tierscope.usecases.ledger.reads import LedgerReads


class LedgerColumn(Model):
    """A column of the ledger: total and rate over the window, the kernel counters behind it and their trust."""

    key: str
    label: str
    unit: str
    counters: list[str]
    trust: Trust
    trust_note: str
    total: Figure
    rate: Figure


class LedgerReset(Model):
    """A stretch that was left out, and why: reboot, wrap, missing counter, gap."""

    at: float
    cause: str
    columns: list[str]


class Sign(Model):
    """A number that spoke for or against a verdict."""

    name: str
    value: float
    unit: str


class PingPong(Model):
    """Ping-pong or its bound, always labelled which."""

    kind: Literal["measured", "upper_bound", "not_available"]
    estimate: str
    ratio: Figure
    churn_pages_per_s: Figure
    churn_pages_per_s_per_gib: Figure
    tier_move_bytes_per_s: Figure
    verdict: str
    explanation: str
    evidence: list[Sign] = Field(description="What decided, of the host that words the verdict; empty where none does.")
    against: list[Sign] = Field(description="What spoke for the runner-up.")
    runner_up: str | None = Field(description="The verdict that came next; null where none was near.")


class Ledger(Model):
    """Answer of /v1/hosts/{id}/ledger and /v1/services/{id}/ledger."""

    subject: str
    origin: Origin
    dialect: str
    window: Window
    axis: TimeAxis
    columns: list[LedgerColumn]
    series: list[Series]
    resets: list[LedgerReset]
    ping_pong: PingPong
    n_hosts: int


router = APIRouter(prefix="/v1", tags=["tier moves"], dependencies=[Depends(requires("read:fleet"))])

Reads = Annotated[LedgerReads, Depends(use(lambda held: held.ledger))]


@router.get("/hosts/{host_id}/ledger", response_model=Ledger, responses=FILES, summary="Tier moves of a host")
def read_host_ledger(
    request: Request,
    reads: Reads,
    host_id: str,
    from_: From = None,
    to: To = None,
    max_points: MaxPoints = 500,
    format: Format = "json",
) -> Response:
    """Totals, rates and series of every ledger column, what was left out and why, and the ping-pong estimate."""
    view = reads.host(host_id, from_=from_, to=to, max_points=max_points)
    return answer_or_file(request, Ledger, view, name="ledger", format=format)


@router.get("/services/{service_id}/ledger", response_model=Ledger, responses=FILES, summary="Tier moves of a service")
def read_service_ledger(
    request: Request,
    reads: Reads,
    service_id: str,
    from_: From = None,
    to: To = None,
    max_points: MaxPoints = 500,
    format: Format = "json",
) -> Response:
    """The ledger of the service's own cgroups, summed over hosts; not_supported where the kernel has none."""
    view = reads.service(service_id, from_=from_, to=to, max_points=max_points)
    return answer_or_file(request, Ledger, view, name="ledger", format=format)
