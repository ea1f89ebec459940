"""Where exporters of OpenTelemetry send metrics: OTLP over HTTP, as protobuf or JSON."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request, Response

from tierscope.api.base.bodies import sent_as
from tierscope.api.base.permissions import requires
from tierscope.api.base.use_cases import use
from tierscope.api.ingest.otlp_answers import JSON, METRICS_PATH, PROTOBUF, partial_success
from tierscope.core.errors import UnsupportedMedia
from tierscope.usecases.ingest.otlp import OtlpMetrics

router = APIRouter(tags=["opentelemetry"])

_ENCODINGS = ("", "identity", "gzip")
_NEXT = f"Send {PROTOBUF} or {JSON}, plain or with Content-Encoding: gzip."
_BINARY: dict[str, Any] = {"schema": {"type": "string", "format": "binary"}}
_OBJECT: dict[str, Any] = {"schema": {"type": "object"}}
_BOTH = {PROTOBUF: _BINARY, JSON: _OBJECT}
_RETRY = {"Retry-After": {"schema": {"type": "string"}, "description": "Seconds to wait before it is sent again."}}
_STATUSES: dict[int | str, dict[str, Any]] = {
    400: {"description": "The body cannot be read: do not send it again"},
    401: {"description": "A valid token is needed"},
    403: {"description": "The token may not write samples"},
    413: {"description": "The body is too large, or makes too many samples"},
    415: {"description": "The content type or encoding is another than the operation takes"},
    429: {"description": "Too many requests", "headers": _RETRY},
    503: {"description": "The service cannot answer now", "headers": _RETRY},
}
"""Errors are `google.rpc.Status`, whose JSON has a `code` and a `message`."""


@router.post(
    METRICS_PATH,
    response_class=Response,
    dependencies=[Depends(requires("write:samples"))],
    summary="Take metrics of OpenTelemetry",
    responses={
        200: {"description": "Stored; what was left out stands in `partial_success`", "content": _BOTH},
        **{status: {**described, "content": _BOTH} for status, described in _STATUSES.items()},
    },
    openapi_extra={"requestBody": {"required": True, "content": _BOTH}},
)
async def export_metrics(
    request: Request, otlp: Annotated[OtlpMetrics, Depends(use(lambda held: held.otlp))]
) -> Response:
    """Store an `ExportMetricsServiceRequest` as series of Prometheus; answered once it is committed.

    What has no place in the store is left out, counted and explained in `partial_success`; all else is stored. A
    request that comes again counts once. Errors are `google.rpc.Status` in the encoding of the request.
    """
    media, encoding = sent_as(request)
    if media not in (PROTOBUF, JSON) or encoding not in _ENCODINGS:
        raise UnsupportedMedia(f"content type {media[:60]!r}, encoding {encoding[:60]!r}", next_step=_NEXT)
    otlp.admit()
    json = media == JSON
    done = await otlp.submit(await request.body(), gzip=encoding == "gzip", json=json)
    answer = partial_success(done.rejected_points, done.reason, json=json)
    return Response(answer, media_type=JSON if json else PROTOBUF)
