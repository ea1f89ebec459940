"""Health of the installation and the metric catalogue."""

from datetime import datetime
from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Request, Response

from tierscope.api.base.answers import answer
from tierscope.api.base.figures import Model
from tierscope.api.base.permissions import requires
from tierscope.api.base.use_cases import use
from tierscope.usecases.operate.status import StatusReads

Health = Literal["healthy", "degraded", "down", "absent", "unknown"]


class ComponentStatus(Model):
    """One part of the installation."""

    name: Literal["database", "api", "worker", "queue", "agent", "objects"]
    status: Health
    detail: str
    since: datetime | None


class InstallationStatus(Model):
    """Answer of /v1/status."""

    version: str
    storage: Literal["timescaledb", "native"]
    simulated: bool
    components: list[ComponentStatus]
    queue_lag_seconds: float | None
    marks_pending: int
    anonymous_reads: bool


class Metric(Model):
    """An entry of the catalogue."""

    name: str
    source: str
    unit: str
    kind: str
    scopes: list[str]
    kernel: str
    added_in: str
    help: str


class Catalogue(Model):
    """Answer of /v1/metrics."""

    items: list[Metric]


router = APIRouter(prefix="/v1", tags=["status"], dependencies=[Depends(requires("read:fleet"))])

Reads = Annotated[StatusReads, Depends(use(lambda held: held.status))]


@router.get("/status", response_model=InstallationStatus, summary="Health of the installation")
def read_status(request: Request, reads: Reads) -> Response:
    """Each component with its health and the reason."""
    return answer(request, InstallationStatus, reads.status())


@router.get("/metrics", response_model=Catalogue, summary="The metric catalogue")
def read_catalogue(request: Request, reads: Reads) -> Response:
    """Every metric that Tierscope knows by name: unit, kind, scopes, kernel, meaning."""
    return answer(request, Catalogue, reads.catalogue())
