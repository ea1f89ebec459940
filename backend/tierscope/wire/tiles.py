"""Tile epochs and columns."""

from collections.abc import Sequence

from tierscope.core.errors import Unreadable
from tierscope.domain.ingest.batch import TileColumn, TileEpoch
from tierscope.wire import checks
from tierscope.wire._generated import tiles_pb2

MAX_ROWS = 1024


def decode_epoch(message: tiles_pb2.TileEpoch, strings: checks.Strings) -> TileEpoch:
    """Checks the row list of an epoch."""
    rows = len(message.kind)
    if not 0 < rows <= MAX_ROWS:
        raise Unreadable(f"a tile epoch of {rows} rows, accepted is 1..{MAX_ROWS}")
    checks.check_length(len(message.mapping_ref), rows, "tile_epochs.mapping_ref")
    offsets = checks.column(message.offset_bytes, "tile_epochs.offset_bytes", rows)
    sizes = checks.column(message.size_bytes, "tile_epochs.size_bytes", rows)
    return TileEpoch(
        epoch_id=signed(message.epoch_id),
        service=strings.service(message.service_ref, "tile_epochs.service_ref"),
        group=strings.text(message.group_ref, "tile_epochs.group_ref"),
        method=checks.method(message.backend, message.granularity, message.interval_ns, "tile_epochs"),
        region_bytes=checks.scalar(message.region_bytes, "tile_epochs.region_bytes", 1),
        cell_log2_base=checks.real(message.cell_log2_base, "tile_epochs.cell_log2_base", 0, 1e6),
        cell_unit=checks.real(message.cell_unit, "tile_epochs.cell_unit", 0, 1e18),
        cell_measure=checks.check_text(message.cell_measure, "tile_epochs.cell_measure"),
        kinds=checks.kinds(message.kind, "tile_epochs.kind", rows),
        mappings=strings.texts(message.mapping_ref, "tile_epochs.mapping_ref"),
        offsets_bytes=checks.not_negative(offsets, "tile_epochs.offset_bytes"),
        sizes_bytes=checks.not_negative(sizes, "tile_epochs.size_bytes"),
        start_wall_ns=checks.wall_time(message.start_wall_ns, "tile_epochs.start_wall_ns"),
    )


def decode_columns(messages: Sequence[tiles_pb2.TileColumn], epochs: Sequence[TileEpoch]) -> tuple[TileColumn, ...]:
    """Checks the columns; where the batch carries their epoch, against its rows."""
    rows = {epoch.epoch_id: len(epoch.kinds) for epoch in epochs}
    found = []
    for message in messages:
        epoch_id = signed(message.epoch_id)
        length = len(message.cells)
        if not 0 < length <= MAX_ROWS or length != rows.get(epoch_id, length):
            raise Unreadable(f"a tile column of {length} cells, its epoch has {rows.get(epoch_id, MAX_ROWS)} rows")
        wall = checks.wall_time(message.end_wall_ns, "tile_columns.end_wall_ns")
        found.append(TileColumn(epoch_id=epoch_id, end_wall_ns=wall, cells=message.cells))
    return tuple(found)


def signed(value: int) -> int:
    """Returns the signed 64-bit integer of the same bits."""
    return value - (1 << 64) if value >= 1 << 63 else value
