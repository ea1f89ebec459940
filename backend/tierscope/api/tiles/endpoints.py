"""Heat tiles of a service on one host: activity by time and address region."""

from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Query, Request, Response

from tierscope.api.base.answers import From, To, answer, answer_bytes
from tierscope.api.base.figures import Model, PageKind
from tierscope.api.base.ownership import in_path
from tierscope.api.base.permissions import requires
from tierscope.api.base.use_cases import use
from tierscope.domain.base.figures import Origin, Window
from tierscope.usecases.tiles.reads import TileReads


class TileRow(Model):
    """One row: a stretch of a mapping of the process group."""

    kind: PageKind
    mapping: str
    offset_bytes: int
    size_bytes: int


class TileGrid(Model):
    """A grid of cells by row. Codes: 0 idle, 1-250 log scale, 253 unsampled, 254 not resident, 255 not collected."""

    service_id: str
    host_id: str
    group: str
    origin: Origin
    backend: str
    granularity: str
    window: Window
    level: int
    column_seconds: float
    column_ends: list[float]
    epoch_ids: list[str]
    region_bytes: int
    rows_per_cell: int
    cell_measure: str
    cell_unit: float
    cell_log2_base: float
    rows: list[TileRow]
    cells: list[list[int]]
    known_share: list[float]
    groups: list[str]
    hosts: list[str]
    notes: list[str]


router = APIRouter(
    prefix="/v1/services/{service_id}/tiles",
    tags=["tiles"],
    dependencies=[Depends(requires("read:tiles", owned=in_path("service", "service_id")))],
)

Reads = Annotated[TileReads, Depends(use(lambda held: held.tiles))]


@router.get(
    "",
    response_model=TileGrid,
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
    host: Annotated[str | None, Query(description="Host id; default: the host with the newest tiles.")] = None,
    group: Annotated[str | None, Query(description="Process group; default: the largest one.")] = None,
    kind: PageKind | None = None,
    from_: From = None,
    to: To = None,
    max_rows: Annotated[int, Query(ge=1, le=1024)] = 256,
    max_columns: Annotated[int, Query(ge=1, le=2000)] = 360,
    format: Annotated[Literal["json", "binary"], Query(description="JSON or a binary body.")] = "json",
) -> Response:
    """A grid of at most `max_rows` x `max_columns` cells; level and row merging are chosen by the size asked for."""
    view = reads.grid(
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
        return answer(request, TileGrid, view)
    header = TileGrid.model_validate(view.without_cells(), from_attributes=True).model_dump_json().encode()
    body = len(header).to_bytes(4, "little") + header + view.cell_bytes()
    return answer_bytes(request, body, "application/octet-stream")
