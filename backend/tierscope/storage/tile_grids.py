"""Heat tiles as read: which epochs have columns in a window, an epoch's rows, and its columns."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import text

from tierscope.core.database import ReadSession
from tierscope.storage.binary import copy_out, parse_us


@dataclass(frozen=True, slots=True)
class EpochInWindow:
    """An epoch of one process group with its columns of the window: ends of the first and last, and how many."""

    host_id: int
    epoch_id: int
    group_name: str
    backend: int
    granularity: int
    interval_ns: int
    region_bytes: int
    cell_log2_base: float
    cell_unit: float
    cell_measure: str
    bytes: int
    first_at: datetime
    last_at: datetime
    columns: int


@dataclass(frozen=True, slots=True)
class EpochRows:
    """The rows of an epoch, in order."""

    kinds: tuple[int, ...]
    mappings: tuple[str, ...]
    offsets_bytes: tuple[int, ...]
    sizes_bytes: tuple[int, ...]


def list_epochs(session: ReadSession, service_id: int, start: datetime, end: datetime) -> list[EpochInWindow]:
    """Epochs with columns in (start, end], the newest first."""
    statement = text(
        "SELECT DISTINCT ON (c.last_at, c.host_id, c.epoch_id) c.host_id, c.epoch_id, e.group_name, e.backend,"
        " e.granularity, e.interval_ns, e.region_bytes, e.cell_log2_base, e.cell_unit, e.cell_measure,"
        " (SELECT coalesce(sum(size), 0)::bigint FROM unnest(e.sizes_bytes) AS size) AS bytes,"
        " c.first_at, c.last_at, c.columns"
        " FROM (SELECT host_id, epoch_id, min(ts) AS first_at, max(ts) AS last_at, count(*) AS columns"
        "  FROM tile_columns WHERE service_id = :service AND ts > :start AND ts <= :end GROUP BY host_id, epoch_id) c"
        " JOIN tile_epochs e ON e.host_id = c.host_id AND e.epoch_id = c.epoch_id AND e.service_id = :service"
        " AND e.ts <= c.last_at ORDER BY c.last_at DESC, c.host_id, c.epoch_id, e.ts DESC"
    )
    values = {"service": service_id, "start": start, "end": end}
    return [EpochInWindow(**row) for row in session.execute(statement, values).mappings()]


def read_epoch_rows(session: ReadSession, service_id: int, epoch: EpochInWindow) -> EpochRows:
    """The row list of an epoch."""
    statement = text(
        "SELECT kinds, mappings, offsets_bytes, sizes_bytes FROM tile_epochs WHERE host_id = :host"
        " AND service_id = :service AND epoch_id = :epoch AND ts <= :last ORDER BY ts DESC LIMIT 1"
    )
    values = {"host": epoch.host_id, "service": service_id, "epoch": epoch.epoch_id, "last": epoch.last_at}
    row = session.execute(statement, values).one()
    return EpochRows(tuple(row.kinds), tuple(row.mappings), tuple(row.offsets_bytes), tuple(row.sizes_bytes))


def read_columns(
    session: ReadSession, service_id: int, epoch: EpochInWindow, start: datetime, end: datetime
) -> list[tuple[int, bytes]]:
    """(end in microseconds, cells) of an epoch's columns in (start, end], in order of time."""
    query = (
        f"SELECT ts, cells FROM tile_columns WHERE host_id = {int(epoch.host_id)}"  # noqa: S608 - numbers alone
        f" AND service_id = {int(service_id)} AND epoch_id = {int(epoch.epoch_id)}"
        f" AND ts > '{start.isoformat()}' AND ts <= '{end.isoformat()}' ORDER BY ts"
    )
    return [(parse_us(row[0]), row[1] or b"") for row in copy_out(session, query)]
