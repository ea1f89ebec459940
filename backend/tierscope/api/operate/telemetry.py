"""What Prometheus scrapes: the service's own metrics, and the fleet's tiering figures."""

from typing import Any, cast

from fastapi import APIRouter, Depends, FastAPI, Request, Response
from prometheus_client import CollectorRegistry

from tierscope.api.base.permissions import requires
from tierscope.api.base.request_meters import RequestMeters
from tierscope.core.database import Database
from tierscope.usecases.base.context import ReadContext
from tierscope.usecases.ingest.batches import Ingest
from tierscope.usecases.ingest.meters import IngestMeters
from tierscope.usecases.operate.telemetry.collector import InventoryCollector
from tierscope.usecases.operate.telemetry.fleet import FleetCollector
from tierscope.usecases.operate.telemetry.process import IngestQueue, make_registry, render

router = APIRouter(prefix="/metrics", tags=["telemetry"], dependencies=[Depends(requires("read:fleet"))])

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_TEXT: dict[int | str, dict[str, Any]] = {200: {"content": {"text/plain": {"schema": {"type": "string"}}}}}


class Meters:
    """The registry of this process's metrics, and what counts in it before the application starts."""

    def __init__(self) -> None:
        self.registry = make_registry()
        self.requests = RequestMeters(self.registry)
        self.ingest = IngestMeters(self.registry)


def start_telemetry(app: FastAPI, meters: Meters, *, database: Database, ingest: Ingest, reads: ReadContext) -> None:
    """Let the metrics of `meters` tell of the started application, and make those of the fleet."""
    meters.registry.register(InventoryCollector(database, reads.clock))
    meters.registry.register(IngestQueue(ingest))
    fleet = CollectorRegistry()
    fleet.register(FleetCollector(reads, limit=reads.settings.fleet_metrics_limit))
    app.state.telemetry, app.state.fleet_telemetry = meters.registry, fleet


@router.get("", response_class=Response, responses=_TEXT, summary="Metrics of the service itself")
def read_metrics(request: Request) -> Response:
    """Prometheus text: ingest, requests and pools of this process, and what the database holds."""
    return _text(request.app.state.telemetry)


@router.get("/fleet", response_class=Response, responses=_TEXT, summary="Tiering figures of the fleet")
def read_fleet_metrics(request: Request) -> Response:
    """Prometheus text: newest figures by host and by service. A figure that is not there has no sample."""
    return _text(request.app.state.fleet_telemetry)


def _text(registry: object) -> Response:
    return Response(
        render(cast("CollectorRegistry", registry)), headers={"Cache-Control": "no-store"}, media_type=MEDIA_TYPE
    )
