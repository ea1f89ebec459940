"""Heat tiles of a service on one host: activity by time and address region."""

from tierscope.api.figures import Model, Origin, PageKind, Window


class TileRow(Model):
    """One row: a stretch of a mapping of the process group."""

    kind: PageKind
    mapping: str
    offset_bytes: int
    size_bytes: int


class TileGrid(Model):
    """A grid of cells, row by row. Codes: 0 idle, 1-250 log scale, 253 unsampled, 254 not resident, 255 not collected."""

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
