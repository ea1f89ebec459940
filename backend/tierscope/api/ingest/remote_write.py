"""Where Prometheus sends its samples: the remote-write protocol, version 1.0."""

from typing import Annotated

from fastapi import APIRouter, Depends, Request, Response

from tierscope.api.base.openapi import problem_answers
from tierscope.api.base.permissions import requires
from tierscope.api.base.use_cases import use
from tierscope.core.errors import BadRequest, UnsupportedMedia
from tierscope.usecases.ingest.remote_write import RemoteWrite

router = APIRouter(prefix="/api/v1", tags=["prometheus"])

VERSIONS = ("0.1.", "1.")
_NEXT = "Send remote write 1.0: a prometheus.WriteRequest, compressed with snappy."


@router.post(
    "/write",
    status_code=204,
    dependencies=[Depends(requires("write:samples"))],
    summary="Take samples of Prometheus",
    responses=problem_answers(413, 415, 422, 503),
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": {"application/x-protobuf": {"schema": {"type": "string", "format": "binary"}}},
        }
    },
)
async def write_samples(
    request: Request, remote_write: Annotated[RemoteWrite, Depends(use(lambda held: held.remote_write))]
) -> Response:
    """Store a `prometheus.WriteRequest` of remote write 1.0, compressed with snappy; answered once it is committed.

    Samples that do not fit (labels, times) are left out and named in a 400, which senders do not repeat; all others of
    the request are stored. A request that comes again counts once.
    """
    _check_headers(request)
    remote_write.admit()
    taken = await remote_write.submit(await request.body())
    if taken.problem is not None:
        raise BadRequest(taken.problem, next_step="Correct or drop these series with write_relabel_configs.")
    return Response(status_code=204)


def _check_headers(request: Request) -> None:
    media, _, parameters = request.headers.get("content-type", "").lower().partition(";")
    encoding = request.headers.get("content-encoding", "").strip().lower()
    version = request.headers.get("x-prometheus-remote-write-version", VERSIONS[0]).strip()
    if media.strip() != "application/x-protobuf" or encoding != "snappy":
        raise UnsupportedMedia(f"content type {media[:60]!r}, encoding {encoding[:60]!r}", next_step=_NEXT)
    if "io.prometheus.write.v2" in parameters or not version.startswith(VERSIONS):
        raise UnsupportedMedia(f"version {version[:60]!r} of remote write", next_step=_NEXT)
