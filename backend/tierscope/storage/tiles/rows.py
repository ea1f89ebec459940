"""Heat tiles as stored: an hour of one epoch at one level, cells and the share of them that was known."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import zstandard
from sqlalchemy import text

from tierscope.core.database import ReadSession, WriteTransaction
from tierscope.storage.base import copy
from tierscope.storage.base.binary import copy_out, parse_int, parse_us
from tierscope.storage.base.bucket_rows import delete_buckets
from tierscope.storage.objects.rows import forget_hours
from tierscope.storage.objects.tile_files import read_tile_bodies

ZSTD_LEVEL = 3


@dataclass(frozen=True, slots=True)
class EpochColumns:
    """Columns of one epoch in order of time, with what is needed to merge them."""

    epoch_id: int
    interval_ns: int
    cell_log2_base: float
    cell_unit: float
    columns: tuple[tuple[int, bytes], ...]
    """(end in microseconds, cells)"""


@dataclass(frozen=True, slots=True)
class StoredTile:
    """An hour of an epoch at a level: `cells` and `known` are columns after each other, all of one length."""

    epoch_id: int
    level: int
    start: datetime
    cells: bytes
    known: bytes


def read_epoch_columns(
    session: ReadSession, host_id: int, service_id: int, start: datetime, end: datetime
) -> list[EpochColumns]:
    """The columns of (start, end] by epoch."""
    query = (
        f"SELECT epoch_id, ts, cells FROM tile_columns WHERE host_id = {int(host_id)}"  # noqa: S608 - numbers alone
        f" AND service_id = {int(service_id)} AND ts > '{start.isoformat()}' AND ts <= '{end.isoformat()}' ORDER BY ts"
    )
    columns: dict[int, dict[int, bytes]] = {}
    for row in copy_out(session, query):
        columns.setdefault(parse_int(row[0]) or 0, {})[parse_us(row[1])] = row[2] or b""
    statement = text(
        "SELECT DISTINCT ON (epoch_id) epoch_id, interval_ns, cell_log2_base, cell_unit FROM tile_epochs"
        " WHERE host_id = :host AND service_id = :service AND epoch_id = ANY(:epochs) ORDER BY epoch_id, ts DESC"
    )
    values = {"host": host_id, "service": service_id, "epochs": list(columns)}
    return [
        EpochColumns(
            row.epoch_id, row.interval_ns, row.cell_log2_base, row.cell_unit, tuple(columns[row.epoch_id].items())
        )
        for row in session.execute(statement, values)
    ]


def replace_tiles(
    transaction: WriteTransaction,
    host_id: int,
    service_id: int,
    hours: Sequence[datetime],
    tiles: Sequence[StoredTile],
) -> None:
    """Store the tiles of whole hours in place of what was there."""
    delete_buckets(transaction, "tiles", service_id, [(host_id, hour) for hour in hours])
    forget_hours(transaction, "tiles", host_id, service_id, hours)
    deflate = zstandard.ZstdCompressor(level=ZSTD_LEVEL)
    rows = [
        copy.row(
            [
                copy.int8(host_id),
                copy.int8(service_id),
                copy.instant(int(tile.start.timestamp()) * 1_000_000_000),
                copy.int8(tile.epoch_id),
                copy.int2(tile.level),
                copy.blob(deflate.compress(tile.cells)),
                copy.blob(deflate.compress(tile.known)),
            ]
        )
        for tile in tiles
    ]
    columns = ("host_id", "service_id", "ts", "epoch_id", "level", "cells", "known")
    copy.copy_rows(transaction, "tiles", columns, rows)


def read_tiles(
    session: ReadSession, host_id: int, service_id: int, epoch_id: int, level: int, start: datetime, end: datetime
) -> list[StoredTile]:
    """Tiles of hours that start in [start, end), in order of time."""
    statement = text(
        "SELECT DISTINCT ON (ts) ts, cells, known, object_key, object_part FROM tiles"
        " WHERE host_id = :host AND service_id = :service"
        " AND epoch_id = :epoch AND level = :level AND ts >= :start AND ts < :end ORDER BY ts"
    )
    inflate = zstandard.ZstdDecompressor()
    values = {
        "host": host_id,
        "service": service_id,
        "epoch": epoch_id,
        "level": level,
        "start": start,
        "end": end,
    }
    found = []
    for row in session.execute(statement, values):
        bodies = (bytes(row.cells), bytes(row.known))
        if row.object_key is not None:
            bodies = read_tile_bodies(session.objects.get(row.object_key), row.object_part)
        found.append(StoredTile(epoch_id, level, row.ts, *map(inflate.decompress, bodies)))
    return found
