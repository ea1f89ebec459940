"""Heat tiles as read: which epochs have columns in a window, an epoch's rows, and its columns."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import text

from tierscope.core.database import ReadSession
from tierscope.domain.tiles.levels import NOT_COLLECTED
from tierscope.storage.base.binary import copy_out, from_us, parse_us, to_us
from tierscope.storage.tiles.rows import StoredTile, read_tiles

_HOUR_NS = 3600 * 10**9
_FIRST_STRETCH = timedelta(minutes=5)
_STRETCHED = 6


@dataclass(frozen=True, slots=True)
class EpochInWindow:
    """An epoch of one process group with columns in the window; `last_at` is the end of its newest one."""

    host_id: int
    epoch_id: int
    start_at: datetime
    group_name: str
    backend: int
    granularity: int
    interval_ns: int
    region_bytes: int
    cell_log2_base: float
    cell_unit: float
    cell_measure: str
    bytes: int
    last_at: datetime


@dataclass(frozen=True, slots=True)
class EpochRows:
    """The rows of an epoch, in order."""

    kinds: tuple[int, ...]
    mappings: tuple[str, ...]
    offsets_bytes: tuple[int, ...]
    sizes_bytes: tuple[int, ...]


def tile_spans(
    session: ReadSession, service_id: int, start: datetime, end: datetime
) -> dict[int, tuple[datetime, datetime]]:
    """Hosts of the service with columns in (start, end], live or in stored tiles alone: the first and the last."""
    statement = text("SELECT host_id FROM host_services WHERE service_id = :service")
    hosts = [int(found) for found in session.execute(statement, {"service": service_id}).scalars()]
    firsts = _seek_columns(session, service_id, hosts, start, end, last=False)
    lasts = _seek_columns(session, service_id, list(firsts), start, end, last=True)
    return {host: (firsts[host], lasts[host]) for host in firsts if host in lasts}


def _seek_columns(
    session: ReadSession, service_id: int, host_ids: Sequence[int], start: datetime, end: datetime, *, last: bool
) -> dict[int, datetime]:
    """The first column of each host in (start, end], or the last one; hosts without any are missing.

    Looked for in stretches that grow from that end of the window, each in one statement for all hosts that are still
    missing: nodes sum it up by themselves, and of hosts that measure throughout a few minutes of rows are read.
    """
    found: dict[int, datetime] = {}
    width, reached = _FIRST_STRETCH, end if last else start
    while host_ids and reached != (start if last else end):
        low = _earlier(reached, width, start) if last else reached
        high = reached if last else reached + min(width, end - reached)
        for host, at in _extreme_columns(session, service_id, host_ids, (start, end), (low, high), last=last):
            known = found.setdefault(host, at)
            found[host] = max(known, at) if last else min(known, at)
        host_ids = [host for host in host_ids if host not in found]
        width, reached = width * _STRETCHED, low if last else high
    return found


def _extreme_columns(
    session: ReadSession,
    service_id: int,
    host_ids: Sequence[int],
    window: tuple[datetime, datetime],
    stretch: tuple[datetime, datetime],
    *,
    last: bool,
) -> list[tuple[int, datetime]]:
    """The first live and the first stored column of each host in a stretch of the window, or the last ones.

    A stored hour begins with its first column and ends with its last; hours not wholly in the window are left out.
    """
    edge, hour = "max" if last else "min", timedelta(hours=1)
    of = "host_id = ANY(:hosts) AND service_id = :service"
    statement = text(
        f"SELECT host_id, false AS stored, {edge}(ts) AS at FROM tile_columns"  # noqa: S608 - text of our own
        f" WHERE {of} AND ts > :start AND ts >= :low AND ts <= :high GROUP BY host_id"
        f" UNION ALL SELECT host_id, true, {edge}(ts) FROM tiles"
        f" WHERE {of} AND level = 0 AND ts >= :first_hour AND ts <= :last_hour GROUP BY host_id"
    )
    (start, end), (low, high) = window, stretch
    shift = hour if last else timedelta(0)
    holds_hours = end - start >= hour
    values = {
        "hosts": list(host_ids),
        "service": service_id,
        "start": start,
        "low": low,
        "high": high,
        "first_hour": _earlier(low, shift, start) if holds_hours else end,
        "last_hour": min(_earlier(end, hour, start), _earlier(high, shift, start)) if holds_hours else start,
    }
    rows = session.execute(statement, values)
    return [(int(row.host_id), row.at + shift if row.stored else row.at) for row in rows]


def _earlier(at: datetime, by: timedelta, earliest: datetime) -> datetime:
    """So much earlier, but not before `earliest`: the calendar has a first day."""
    return at - min(by, at - earliest)


def list_epochs(
    session: ReadSession, service_id: int, host_id: int, start: datetime, end: datetime
) -> list[EpochInWindow]:
    """Epochs of a host with columns in (start, end], live or in stored tiles alone, the newest first."""
    statement = text(
        "SELECT DISTINCT ON (c.host_id, c.epoch_id) c.host_id, c.epoch_id, e.ts AS start_at, e.group_name, e.backend,"
        " e.granularity, e.interval_ns, e.region_bytes, e.cell_log2_base, e.cell_unit, e.cell_measure,"
        " (SELECT coalesce(sum(size), 0)::bigint FROM unnest(e.sizes_bytes) AS size) AS bytes, c.last_at"
        " FROM (SELECT host_id, epoch_id, coalesce(max(at) FILTER (WHERE live), max(at)) AS last_at FROM ("
        "  SELECT host_id, epoch_id, ts AS at, true AS live FROM tile_columns"
        "   WHERE host_id = :host AND service_id = :service AND ts > :start AND ts <= :end"
        "  UNION ALL SELECT host_id, epoch_id, ts + interval '1 hour', false FROM tiles"
        "   WHERE host_id = :host AND service_id = :service AND level = 0 AND ts >= :start"
        "   AND ts <= CAST(:end AS timestamptz) - interval '1 hour') a GROUP BY host_id, epoch_id) c"
        " JOIN tile_epochs e ON e.host_id = c.host_id AND e.epoch_id = c.epoch_id AND e.service_id = :service"
        " AND e.ts <= c.last_at ORDER BY c.host_id, c.epoch_id, e.ts DESC"
    )
    values = {"service": service_id, "host": host_id, "start": start, "end": end}
    found = [EpochInWindow(**row) for row in session.execute(statement, values).mappings()]
    return sorted(found, key=lambda epoch: (epoch.last_at, epoch.start_at), reverse=True)


def read_epoch_rows(session: ReadSession, service_id: int, epoch: EpochInWindow) -> EpochRows:
    """The row list of an epoch."""
    statement = text(
        "SELECT kinds, mappings, offsets_bytes, sizes_bytes FROM tile_epochs WHERE host_id = :host"
        " AND service_id = :service AND epoch_id = :epoch AND ts <= :last ORDER BY ts DESC LIMIT 1"
    )
    values = {"host": epoch.host_id, "service": service_id, "epoch": epoch.epoch_id, "last": epoch.last_at}
    row = session.execute(statement, values).one()
    return EpochRows(tuple(row.kinds), tuple(row.mappings), tuple(row.offsets_bytes), tuple(row.sizes_bytes))


def find_edges(
    session: ReadSession, service_id: int, epochs: Sequence[EpochInWindow], start: datetime, end: datetime
) -> tuple[datetime, datetime] | None:
    """Starts of the first and the last hour in which these epochs of one host have columns in (start, end]."""
    of = "host_id = :host AND service_id = :service AND epoch_id = ANY(:epochs)"
    statement = text(
        "SELECT date_trunc('hour', min(first_at), 'UTC') AS first_at,"  # noqa: S608 - text of our own
        " date_trunc('hour', max(last_at), 'UTC') AS last_at"
        " FROM (SELECT min(ts) - interval '1 microsecond' AS first_at, max(ts) - interval '1 microsecond' AS last_at"
        f"  FROM tile_columns WHERE {of} AND ts > :start AND ts <= :end"
        f"  UNION ALL SELECT min(ts), max(ts) FROM tiles WHERE {of} AND level = 0 AND ts >= :start"
        "   AND ts <= CAST(:end AS timestamptz) - interval '1 hour') AS edges"
    )
    values = {
        "host": epochs[0].host_id,
        "service": service_id,
        "epochs": [epoch.epoch_id for epoch in epochs],
        "start": start,
        "end": end,
    }
    row = session.execute(statement, values).one()
    return None if row.first_at is None else (row.first_at, row.last_at)


def read_columns(
    session: ReadSession, service_id: int, epoch: EpochInWindow, start: datetime, end: datetime
) -> list[tuple[int, bytes]]:
    """(end in microseconds, cells) of an epoch's columns in (start, end], in order of time.

    Columns that are no longer kept live come from stored tiles of level 0, which hold them as they came.
    """
    query = (
        f"SELECT ts, cells FROM tile_columns WHERE host_id = {int(epoch.host_id)}"  # noqa: S608 - numbers alone
        f" AND service_id = {int(service_id)} AND epoch_id = {int(epoch.epoch_id)}"
        f" AND ts > '{start.isoformat()}' AND ts <= '{end.isoformat()}' ORDER BY ts"
    )
    live = [(parse_us(row[0]), row[1] or b"") for row in copy_out(session, query)]
    before = from_us(live[0][0]) if live else end
    stored = []
    for tile in read_tiles(session, epoch.host_id, service_id, epoch.epoch_id, 0, start, before):
        stored += [column for column in _split(tile, epoch.interval_ns) if column[0] < to_us(before) or not live]
    return stored + live


def _split(tile: StoredTile, interval_ns: int) -> list[tuple[int, bytes]]:
    """The columns of a stored hour, without those that were never collected."""
    count = _HOUR_NS // interval_ns
    rows = len(tile.cells) // count
    nothing = bytes([NOT_COLLECTED]) * rows
    columns = ((i + 1, tile.cells[i * rows : (i + 1) * rows]) for i in range(count))
    return [(to_us(tile.start) + i * interval_ns // 1000, cells) for i, cells in columns if cells != nothing]
