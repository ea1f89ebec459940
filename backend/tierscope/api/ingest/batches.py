"""Where agents send their batches."""

from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Header, Request

from tierscope.api.base.bodies import check_sent_as
from tierscope.api.base.figures import Model
from tierscope.api.base.permissions import requires
from tierscope.api.base.use_cases import use
from tierscope.api.fleet.agents import authenticate
from tierscope.core.errors import TierscopeError
from tierscope.usecases.fleet.agents import HostIdentity
from tierscope.usecases.ingest.batches import Ingest, SentClocks

router = APIRouter(prefix="/v1/ingest", tags=["ingest"])

MAX_CLOCK_NS = 1 << 63
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
    ingest: Annotated[Ingest, Depends(use(lambda held: held.ingest))],
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
        ingest.admit(host)
        accepted = await ingest.submit(host, await request.body(), sent=sent)
    except TierscopeError as error:
        ingest.meters.refused(error)
        raise
    return IngestAnswer(
        result="duplicate" if accepted.stored.duplicate else "accepted",
        host_id=host.public_id,
        stream_id=accepted.stream_id,
        seq=accepted.seq,
        stored=accepted.stored.rows,
        too_late=accepted.stored.too_late,
        set_aside=accepted.stored.set_aside,
        warnings=list(accepted.stored.warnings),
    )
