"""Where Prometheus sends its samples: the remote-write protocol, versions 1.0 and 2.0."""

from typing import Annotated

from fastapi import APIRouter, Depends, Request, Response

from tierscope.api.base.bodies import check_sent_as
from tierscope.api.base.openapi import problem_answers
from tierscope.api.base.permissions import requires
from tierscope.api.base.problems import problem_response
from tierscope.api.base.use_cases import use
from tierscope.core.errors import BadRequest, TooLarge, Unreadable, UnsupportedMedia
from tierscope.usecases.ingest.remote_write import RemoteWrite

router = APIRouter(prefix="/api/v1", tags=["prometheus"])

MESSAGES = {"prometheus.writerequest": 1, "io.prometheus.write.v2.request": 2}
"""Major version of the protocol by the name of its message, which the content type may give."""
VERSIONS = {1: ("0.1.", "1."), 2: ("2.0.",)}
"""Beginnings of the header X-Prometheus-Remote-Write-Version by major version."""
_NEXT = (
    "Send prometheus.WriteRequest (remote write 1.0) or io.prometheus.write.v2.Request (2.0), compressed with snappy."
)


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
    """Store a request of remote write 1.0 or 2.0, compressed with snappy; answered once it is committed.

    Samples that do not fit (labels, times) are left out and named in a 400, which senders do not repeat; all others of
    the request are stored. A request that can never be taken (unreadable, or too large once inflated) is answered 400
    too: that is the answer which every sender drops. A request that comes again counts once. Answers to version 2.0 say
    in headers `X-Prometheus-Remote-Write-Samples-Written` and so on what was stored: never histograms or exemplars,
    which make no request invalid.
    """
    version = _version(request)
    remote_write.admit()
    try:
        taken = await remote_write.submit(await request.body(), version=version)
    except (TooLarge, Unreadable) as error:
        # vmagent sends again, and nothing behind it, what is answered 413 or 422.
        raise BadRequest(error.detail, next_step=error.next_step) from error
    answer = Response(status_code=204)
    if taken.problem is not None:
        refusal = BadRequest(taken.problem, next_step="Correct or drop these series with write_relabel_configs.")
        answer = problem_response(refusal, request.url.path)
    if version > 1:
        for kind, count in (("Samples", taken.samples), ("Histograms", 0), ("Exemplars", 0)):
            answer.headers[f"X-Prometheus-Remote-Write-{kind}-Written"] = str(count)
    return answer


def _version(request: Request) -> int:
    """The major version that the headers name."""
    check_sent_as(request, "application/x-protobuf", ("snappy",), _NEXT)
    rest = request.headers["content-type"].partition(";")[2]
    name, _, message = rest.partition(";")[0].strip().lower().partition("=")
    version = MESSAGES.get(message.strip(' "')) if name.strip() == "proto" else 1
    if version is None:
        raise UnsupportedMedia(f"the message {message[:60]!r}", next_step=_NEXT)
    said = request.headers.get("x-prometheus-remote-write-version", VERSIONS[version][0]).strip()
    if not said.startswith(VERSIONS[version]):
        raise UnsupportedMedia(f"version {said[:60]!r} of remote write with a message of {version}.0", next_step=_NEXT)
    return version
