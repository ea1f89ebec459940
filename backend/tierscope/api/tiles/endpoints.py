"""Heat tiles of a service on one host: activity by time and address region."""

from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Query, Request, Response

from tierscope.api.base.answers import Answer, From, To, answer, answer_bytes, serialise
from tierscope.api.base.limited import COSTLY
from tierscope.api.base.ownership import in_path
from tierscope.api.base.permissions import requires
from tierscope.api.base.use_cases import use
from tierscope.domain.base.vocabulary import PageKind
from tierscope.usecases.tiles.damo_records import TileRecordReads
from tierscope.usecases.tiles.reads import TileGrid, TileReads

router = APIRouter(
    prefix="/v1/services/{service_id}/tiles",
    tags=["tiles"],
    dependencies=[Depends(requires("read:tiles", owned=in_path("service", "service_id")))],
)

Reads = Annotated[TileReads, Depends(use(lambda held: held.tiles))]
Records = Annotated[TileRecordReads, Depends(use(lambda held: held.tile_records))]


@router.get(
    "",
    dependencies=[COSTLY],
    summary="Activity by time and address region",
    responses={
        200: {
            "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
            "description": "With `format=binary`: 4 bytes little-endian length of a JSON header (this model with empty "
            "`cells`), the header, then one byte per cell, row by row.",
        }
    },
)
def read_tiles(
    request: Request,
    reads: Reads,
    service_id: str,
    host: Annotated[
        str | None,
        Query(description="Host id; default: of the hosts whose tiles span most of the window, the first by name."),
    ] = None,
    group: Annotated[str | None, Query(description="Process group; default: the largest one.")] = None,
    kind: PageKind | None = None,
    from_: From = None,
    to: To = None,
    max_rows: Annotated[int, Query(ge=1, le=1024)] = 256,
    max_columns: Annotated[int, Query(ge=1, le=2000)] = 360,
    format: Annotated[Literal["json", "binary"], Query(description="JSON or a binary body.")] = "json",
) -> Answer[TileGrid]:
    """A grid of at most `max_rows` x `max_columns` cells; level and row merging are chosen by the size asked for."""
    grid = reads.grid(
        service_id,
        host=host,
        group=group,
        kind=kind,
        from_=from_,
        to=to,
        max_rows=max_rows,
        max_columns=max_columns,
    )
    if format == "json":
        return answer(request, TileGrid, grid.unpack())
    header = serialise(TileGrid, grid.header)
    body = len(header).to_bytes(4, "little") + header + grid.cells
    return answer_bytes(request, body, "application/octet-stream")


@router.get(
    "/damo",
    dependencies=[COSTLY],
    summary="Tiles as a record of damo",
    response_class=Response,
    responses={
        200: {
            "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
            "description": "A file as `damo record` writes it by default, for `damo report`; a process group a target.",
        }
    },
)
def export_tiles(
    reads: Records,
    service_id: str,
    host: Annotated[str | None, Query(description="Host id; default: as of the grid.")] = None,
    group: Annotated[str | None, Query(description="Process group; default: all.")] = None,
    from_: From = None,
    to: To = None,
) -> Response:
    """All single intervals of the window. Addresses are of the file's own: mappings stand one after another."""
    body = reads.read(service_id, host=host, group=group, from_=from_, to=to).pack()
    headers = {"Content-Disposition": 'attachment; filename="damon.data"'}
    return Response(body, media_type="application/octet-stream", headers=headers)
