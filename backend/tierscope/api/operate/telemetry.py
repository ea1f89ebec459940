"""What Prometheus scrapes: the service's own metrics, and the fleet's tiering figures."""

from typing import Any

from fastapi import APIRouter, Depends, Request, Response

from tierscope.api.base.permissions import requires
from tierscope.api.base.reuse import body_reused
from tierscope.api.base.use_cases import use_cases
from tierscope.usecases.operate.telemetry.process import render

router = APIRouter(prefix="/metrics", tags=["telemetry"], dependencies=[Depends(requires("read:fleet"))])

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"
FLEET_SECONDS = 15.0
"""As long the fleet's figures are told again: several that scrape cost what one does."""
_TEXT: dict[int | str, dict[str, Any]] = {200: {"content": {"text/plain": {"schema": {"type": "string"}}}}}


@router.get("", response_class=Response, responses=_TEXT, summary="Metrics of the service itself")
def read_metrics(request: Request) -> Response:
    """Prometheus text: ingest, requests and pools of this process, and what the database holds."""
    return _text(render(use_cases(request).own_metrics))


@router.get("/fleet", response_class=Response, responses=_TEXT, summary="Tiering figures of the fleet")
def read_fleet_metrics(request: Request) -> Response:
    """Prometheus text: newest figures by host and by service. A figure that is not there has no sample."""
    registry = use_cases(request).fleet_metrics
    return _text(body_reused(request, FLEET_SECONDS, lambda: render(registry)))


def _text(body: bytes) -> Response:
    return Response(body, headers={"Cache-Control": "no-store"}, media_type=MEDIA_TYPE)
