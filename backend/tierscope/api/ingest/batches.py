"""Where agents send their batches."""

from collections.abc import Awaitable, Callable
from typing import Annotated, Any, Literal

import orjson
from fastapi import APIRouter, Depends, Header, Request

from tierscope.api.base.bodies import check_sent_as
from tierscope.api.base.figures import Model
from tierscope.api.base.permissions import requires
from tierscope.api.base.short_ways import JSON_TYPE, ShortAnswer, ShortRequest, Work
from tierscope.api.base.use_cases import use
from tierscope.api.fleet.agents import authenticate
from tierscope.core.errors import TierscopeError
from tierscope.usecases.fleet.agents import HostIdentity
from tierscope.usecases.ingest.batches import SentClocks
from tierscope.usecases.ingest.by_node import IngestByNode

router = APIRouter(prefix="/v1/ingest", tags=["ingest"])

MAX_CLOCK_NS = 1 << 63
_WALL, _BOOTTIME = b"x-tierscope-sent-wall-ns", b"x-tierscope-sent-boottime-ns"
Clock = Annotated[int | None, Header(ge=0, lt=MAX_CLOCK_NS)]


class IngestAnswer(Model):
    """What became of a batch. It is answered after the commit: `accepted` and `duplicate` both mean stored."""

    result: Literal["accepted", "duplicate"]
    host_id: str
    stream_id: str
    seq: int
    stored: dict[str, int]
    too_late: int
    set_aside: int
    warnings: list[str]


@router.post(
    "/batches",
    dependencies=[Depends(requires("agent"))],
    summary="Store a batch",
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": {"application/x-protobuf": {"schema": {"type": "string", "format": "binary"}}},
        }
    },
)
async def ingest_batch(
    request: Request,
    host: Annotated[HostIdentity, Depends(authenticate)],
    ingest: Annotated[IngestByNode, Depends(use(lambda held: held.ingest))],
    x_tierscope_sent_wall_ns: Clock = None,
    x_tierscope_sent_boottime_ns: Clock = None,
) -> IngestAnswer:
    """Store one `tierscope.v1.Batch`, compressed with zstd, exactly once."""
    sent = (
        None
        if x_tierscope_sent_wall_ns is None
        else SentClocks(wall_ns=x_tierscope_sent_wall_ns, boottime_ns=x_tierscope_sent_boottime_ns)
    )
    try:
        check_sent_as(request, "application/x-protobuf", ("zstd",))
        return IngestAnswer(**await _take(ingest, host, request.body, sent))
    except TierscopeError as error:
        ingest.meters.refused(error)
        raise


def short_batch(asked: ShortRequest) -> Work | None:
    """The short way of `ingest_batch`."""
    heads = asked.heads
    if heads.get(b"content-type") != b"application/x-protobuf" or heads.get(b"content-encoding") != b"zstd":
        return None
    if asked.body_bytes is None or not asked.holds_numbers(_WALL, _BOOTTIME):
        return None
    wall_ns, ingest = asked.number(_WALL), asked.cases.ingest
    if asked.body_bytes > ingest.most_body_bytes:
        return None
    sent = None if wall_ns is None else SentClocks(wall_ns=wall_ns, boottime_ns=asked.number(_BOOTTIME))

    async def work() -> ShortAnswer:
        try:
            return ShortAnswer(200, orjson.dumps(await _take(ingest, asked.host, asked.body, sent)), (JSON_TYPE,))
        except TierscopeError as error:
            ingest.meters.refused(error)
            raise

    return work


async def _take(
    ingest: IngestByNode, host: HostIdentity, body: Callable[[], Awaitable[bytes]], sent: SentClocks | None
) -> dict[str, Any]:
    """Stores the batch of a request and returns the fields of its answer."""
    ingest.admit(host)
    accepted = await ingest.submit(host, await body(), sent=sent)
    stored = accepted.stored
    return {
        "result": "duplicate" if stored.duplicate else "accepted",
        "host_id": host.public_id,
        "stream_id": accepted.stream_id,
        "seq": accepted.seq,
        "stored": stored.rows,
        "too_late": stored.too_late,
        "set_aside": stored.set_aside,
        "warnings": list(stored.warnings),
    }
