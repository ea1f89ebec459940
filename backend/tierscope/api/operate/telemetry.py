"""What Prometheus scrapes: the service's own metrics, and the fleet's tiering figures."""

from typing import Any

from fastapi import APIRouter, Depends, Request, Response
from prometheus_client import CollectorRegistry

from tierscope.api.base.permissions import requires
from tierscope.api.base.use_cases import use_cases
from tierscope.usecases.operate.telemetry.process import render

router = APIRouter(prefix="/metrics", tags=["telemetry"], dependencies=[Depends(requires("read:fleet"))])

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_TEXT: dict[int | str, dict[str, Any]] = {200: {"content": {"text/plain": {"schema": {"type": "string"}}}}}


@router.get("", response_class=Response, responses=_TEXT, summary="Metrics of the service itself")
def read_metrics(request: Request) -> Response:
    """Prometheus text: ingest, requests and pools of this process, and what the database holds."""
    return _text(use_cases(request).own_metrics)


@router.get("/fleet", response_class=Response, responses=_TEXT, summary="Tiering figures of the fleet")
def read_fleet_metrics(request: Request) -> Response:
    """Prometheus text: newest figures by host and by service. A figure that is not there has no sample."""
    return _text(use_cases(request).fleet_metrics)


def _text(registry: CollectorRegistry) -> Response:
    return Response(render(registry), headers={"Cache-Control": "no-store"}, media_type=MEDIA_TYPE)
