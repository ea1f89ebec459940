"""Heat as stored: live rows, exact packs of ten minutes, and sums per hour and day."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Literal

import numpy as np
import numpy.typing as npt
import zstandard
from sqlalchemy import text

from tierscope.core.database import ReadSession, WriteTransaction
from tierscope.domain._generated.heat_columns import HEAT_COLUMNS
from tierscope.domain.base.buckets import DAY_US, HOUR_US
from tierscope.domain.heat.beside import BESIDE_WIDTHS, Beside
from tierscope.domain.heat.classes import FOLDED_COLUMNS, Folded
from tierscope.domain.heat.packs import (
    Columns,
    columns_of_row,
    fold_packs,
    pack_rows,
    read_columns,
    unpack_last,
    unpack_rows,
)
from tierscope.domain.heat.rows import FULL_HISTORY, FULL_INTERVALS, KINDS, HeatRow, HeatSeries, Method
from tierscope.storage.base import copy
from tierscope.storage.base.binary import (
    copy_out,
    parse_float,
    parse_int,
    parse_int8_array,
    parse_small_array,
    parse_text_array,
    parse_us,
    to_us,
)
from tierscope.storage.base.bucket_rows import delete_buckets
from tierscope.storage.base.live_rows import live_from
from tierscope.storage.tables.time import METHOD_COLUMNS, SUMMED_COLUMNS, heat_live

RollupTable = Literal["heat_1h", "heat_1d"]
Stretch = tuple[datetime, datetime]
ZSTD_LEVEL = 3
BLOCK = timedelta(minutes=10)
"""Of a pack."""

_STRATA_KEPT = 4096

_LIVE = tuple(column.name for column in heat_live.columns if column.name != "service_id")
LIVE_COLUMNS = ", ".join(_LIVE)
"""What `live_row` reads, in its order."""
_KEY = ("ts", *METHOD_COLUMNS, "n_intervals", "kinds", "tiers", *SUMMED_COLUMNS, *BESIDE_WIDTHS, "page_sizes")
_READ = ("host_id", *_KEY)
ROLLUP_COLUMNS = ", ".join(_READ)
"""What `rollup_series` reads, in its order."""
_ROLLUP = ("host_id", "service_id", *_KEY)


def read_rows(
    session: ReadSession, service_id: int, start: datetime, end: datetime, host_ids: Sequence[int] | None = None
) -> dict[int, list[HeatRow]]:
    """Rows of (start, end] by host, in order of time: live ones, and those that are in packs alone.

    Of rows of one time and method the last stored counts.
    """
    found = _read(session, f"service_id = {int(service_id)}{_hosts(host_ids)}", start, end)
    return {host_id: rows for (host_id, _), rows in found.items()}


def _read(session: ReadSession, of: str, start: datetime, end: datetime) -> dict[tuple[int, int], list[HeatRow]]:
    edge = live_from(session, "heat_live")
    found: dict[tuple[int, int], dict[tuple[int, Method], HeatRow]] = {}
    if edge is not None and start < edge:
        first_us, last_us = to_us(start), to_us(end)
        for key, row in _packed_rows(session, of, start - BLOCK, min(end, edge)):
            if first_us < row.end_us <= last_us:
                found.setdefault(key, {})[row.end_us, row.method] = row
    query = (
        f"SELECT service_id, {LIVE_COLUMNS} FROM heat_live WHERE {of}"  # noqa: S608 - integers and times
        f" AND ts > '{start.isoformat()}' AND ts <= '{end.isoformat()}' ORDER BY host_id, service_id, ts, ctid"
    )
    for cells in copy_out(session, query):
        row = live_row(cells[1:])
        rows = found.setdefault((parse_int(cells[1]) or 0, parse_int(cells[0]) or 0), {})
        rows[row.end_us, row.method] = row
    return {key: sorted(found[key].values(), key=lambda row: row.end_us) for key in sorted(found)}


def split_rows(session: ReadSession, start: datetime, end: datetime) -> tuple[Stretch | None, Stretch | None]:
    """(start, end] in two: of which rows may be in packs, for `read_rows`, and of which all are live."""
    edge = live_from(session, "heat_live")
    if edge is None or start >= edge:
        return None, (start, end)
    return (start, min(end, edge)), (edge, end) if end > edge else None


def read_older_columns(
    session: ReadSession,
    host_ids: Sequence[int],
    stretch: Stretch,
    names: Sequence[str],
    *,
    service_id: int | None = None,
    backends: Sequence[int] | None = None,
) -> Iterator[tuple[int, Method, Columns]]:
    """Some columns of the rows of a stretch that may be in packs, by host, in order of time for each.

    Of one service, or of all; by some back ends, or by all. Rows that have none of the columns may be left out.
    """
    start, end = stretch
    of = ("TRUE" if service_id is None else f"service_id = {int(service_id)}") + _hosts(host_ids)
    if backends is not None:
        of += f" AND backend IN ({', '.join(str(int(one)) for one in backends)})"
    late = text(f"SELECT EXISTS (SELECT FROM heat_live WHERE {of} AND ts > :start AND ts <= :end)")  # noqa: S608
    if session.execute(late, {"start": start, "end": end}).scalar_one():
        for (host_id, _), rows in _read(session, of, start, end).items():
            for row in rows:
                yield host_id, row.method, columns_of_row(row, names)
        return
    query = (
        "SELECT host_id, backend, granularity, interval_ns, body FROM heat"  # noqa: S608 - integers and times
        f" WHERE {of} AND ts > '{(start - BLOCK).isoformat()}' AND ts < '{end.isoformat()}'"
        " ORDER BY host_id, service_id, ts, backend"
    )
    inflate = zstandard.ZstdDecompressor()
    first_us, last_us = to_us(start), to_us(end)
    for host, backend, granularity, interval_ns, body in copy_out(session, query):
        method = Method(parse_int(backend) or 0, parse_int(granularity) or 0, parse_int(interval_ns) or 0)
        for columns in read_columns(inflate.decompress(body or b""), names):
            inside = (columns.ends_us > first_us) & (columns.ends_us <= last_us)
            if inside.any():
                yield parse_int(host) or 0, method, columns.take(np.flatnonzero(inside))


def _packed_rows(
    session: ReadSession, of: str, first: datetime, end: datetime
) -> Iterator[tuple[tuple[int, int], HeatRow]]:
    """Rows of the packs whose block starts in (first, end), each by host and service."""
    statement = text(
        "SELECT host_id, service_id, backend, granularity, interval_ns, body FROM heat"  # noqa: S608 - integers alone
        f" WHERE {of} AND ts > :first AND ts < :end"
    )
    inflate = zstandard.ZstdDecompressor()
    for row in session.execute(statement, {"first": first, "end": end}):
        method = Method(row.backend, row.granularity, row.interval_ns)
        for one in unpack_rows(inflate.decompress(bytes(row.body)), method):
            yield (row.host_id, row.service_id), one


def read_last_packed(
    session: ReadSession, start: datetime, end: datetime, every: timedelta
) -> list[tuple[int, int, HeatRow]]:
    """The last packed rows of (start, end] in each stretch of length `every` of each service on each host.

    With the service and the host; of a stretch some earlier ones may come too.
    """
    # Where a stretch is made of whole blocks its last block has the last row, but for the block that `end` cuts.
    blocks = "SELECT DISTINCT host_id, service_id, ts FROM heat WHERE ts > :first AND ts < :end"
    if every % BLOCK == timedelta(0):
        stretch = f"ceil(extract(epoch FROM ts + interval '10 minutes') / {int(every.total_seconds())})"
        cut = "ts > CAST(:end AS timestamptz) - interval '10 minutes'"
        blocks = (
            "SELECT host_id, service_id, max(ts) AS ts FROM heat WHERE ts > :first AND ts < :end"  # noqa: S608
            f" GROUP BY host_id, service_id, {stretch}, {cut}"
        )
    statement = text(
        "SELECT h.service_id, h.host_id, h.backend, h.granularity, h.interval_ns, h.body"  # noqa: S608 - own words
        f" FROM ({blocks}) AS k JOIN heat h ON h.host_id = k.host_id AND h.service_id = k.service_id AND h.ts = k.ts"
        " AND h.ts > :first AND h.ts < :end"
    )
    inflate = zstandard.ZstdDecompressor()
    found = []
    for row in session.execute(statement, {"first": start - BLOCK, "end": end}):
        body, method = inflate.decompress(bytes(row.body)), Method(row.backend, row.granularity, row.interval_ns)
        last = unpack_last(body, method, to_us(end)) if every % BLOCK == timedelta(0) else None
        rows = unpack_rows(body, method) if every % BLOCK else [] if last is None else [last]
        found += [(row.service_id, row.host_id, one) for one in rows if to_us(start) < one.end_us <= to_us(end)]
    return found


def count_rows(
    session: ReadSession, service_id: int, start: datetime, end: datetime, host_ids: Sequence[int] | None = None
) -> int:
    """How many rows (start, end] has."""
    edge = live_from(session, "heat_live")
    if edge is not None and start < edge:
        return sum(map(len, read_rows(session, service_id, start, end, host_ids).values()))
    statement = text(
        f"SELECT count(*) FROM heat_live WHERE service_id = :service{_hosts(host_ids)}"  # noqa: S608 - integers alone
        " AND ts > :start AND ts <= :end"
    )
    values = {"service": service_id, "start": start, "end": end}
    return int(session.execute(statement, values).scalar_one())


def live_row(row: Sequence[bytes | None]) -> HeatRow:
    """A live row from the raw fields of `LIVE_COLUMNS`."""
    cells = dict(zip(_LIVE, row, strict=True))
    columns = {
        column.name: None
        if cells[column.name] is None and column.presence != "required"
        else parse_int8_array(cells[column.name])
        for column in HEAT_COLUMNS
    }
    groups, kinds, page_sizes, tiers = _read_strata(
        *(cells[name] for name in ("groups", "kinds", "page_sizes", "tiers"))
    )
    return HeatRow(
        end_us=parse_us(cells["ts"]),
        boottime_ns=parse_int(cells["boottime_ns"]),
        method=_read_method(cells),
        groups=groups,
        kinds=kinds,
        page_sizes=page_sizes,
        tiers=tiers,
        period_events=parse_float(cells["period_events"]),
        duty_ratio=parse_float(cells["duty_ratio"]),
        bits_per_interval=parse_int(cells["bits_per_interval"]) or 1,
        **columns,  # type: ignore[arg-type]  # None for those alone that may be
    )


@lru_cache(maxsize=_STRATA_KEPT)
def _read_strata(
    groups: bytes | None, kinds: bytes | None, page_sizes: bytes | None, tiers: bytes | None
) -> tuple[tuple[str, ...], npt.NDArray[np.int64], npt.NDArray[np.int64], tuple[str, ...]]:
    """What the strata of a row are: a service has the same ones for hours."""
    kind, size = (np.array(parse_small_array(cell), np.int64) for cell in (kinds, page_sizes))
    kind.flags.writeable = size.flags.writeable = False
    return tuple(parse_text_array(groups)), kind, size, tuple(parse_text_array(tiers))


def replace_packs(
    transaction: WriteTransaction, service_id: int, blocks: Mapping[tuple[int, datetime], Sequence[HeatRow]]
) -> None:
    """Store packs of a service, one row per host, ten-minute block and method, in place of what was there."""
    if not blocks:
        return
    delete_buckets(transaction, "heat", service_id, list(blocks))
    deflate = zstandard.ZstdCompressor(level=ZSTD_LEVEL)
    out = []
    for (host_id, start), rows in sorted(blocks.items()):
        for method in sorted({row.method for row in rows}, key=lambda method: method.backend):
            some = [row for row in rows if row.method == method]
            key = (copy.int8(host_id), copy.int8(service_id), _instant(start), *_method(method))
            body = deflate.compress(pack_rows(some))
            out.append(copy.row([*key, copy.int4(len(some)), copy.blob(body)]))
    columns = ("host_id", "service_id", "ts", "backend", "granularity", "interval_ns", "n", "body")
    copy.copy_rows(transaction, "heat", columns, out)


def read_folded_packs(
    session: ReadSession, service_id: int, start: datetime, end: datetime, host_ids: Sequence[int]
) -> list[HeatSeries]:
    """Single intervals of all packs whose block starts in [start, end), one series per host and method."""
    query = (
        "SELECT host_id, backend, granularity, interval_ns, body FROM heat"  # noqa: S608 - integers and times
        f" WHERE service_id = {int(service_id)}{_hosts(host_ids)}"
        f" AND ts >= '{start.isoformat()}' AND ts < '{end.isoformat()}' ORDER BY host_id, ts"
    )
    inflate = zstandard.ZstdDecompressor()
    found: dict[tuple[int, Method], list[bytes]] = {}
    for host, backend, granularity, interval_ns, body in copy_out(session, query):
        method = Method(parse_int(backend) or 0, parse_int(granularity) or 0, parse_int(interval_ns) or 0)
        found.setdefault((parse_int(host) or 0, method), []).append(inflate.decompress(body or b""))
    folded = (fold_packs(host_id, bodies, method) for (host_id, method), bodies in found.items())
    return [part for part in folded if part is not None]


def replace_rollups(
    transaction: WriteTransaction,
    table: RollupTable,
    subject: tuple[int, int],
    starts: Sequence[datetime],
    series: Sequence[HeatSeries],
) -> None:
    """Store sums per bucket of one (host, service); `series` hold one bucket width. Starts without data lose rows."""
    host_id, service_id = subject
    delete_buckets(transaction, table, service_id, [(host_id, start) for start in starts])
    width_us = _WIDTH_US[table]
    wanted = {int(start.timestamp() * 1e6) for start in starts}
    out = []
    for part in series:
        for i, end_us in enumerate(part.ends_us.tolist()):
            if end_us - width_us not in wanted:
                continue
            key = (copy.int8(host_id), copy.int8(service_id), copy.instant((end_us - width_us) * 1000))
            kinds = np.array([KINDS.index(kind) for kind in part.kinds], np.int64)
            groups = (copy.int4(int(part.n_intervals[i])), copy.int2_array(kinds), copy.text_array(part.tiers))
            folded = (getattr(part.folded, field)[i] for field, _ in FOLDED_COLUMNS.values())
            sums = (copy.int8_array(np.ascontiguousarray(values)) for values in folded)
            beside = (_unless_zero(part.beside[name][i]) for name in BESIDE_WIDTHS)
            sizes = copy.int4_array(np.array(part.sizes, np.int64))
            out.append(copy.row([*key, *_method(part.method), *groups, *sums, *beside, sizes]))
    copy.copy_rows(transaction, table, _ROLLUP, out)


_WIDTH_US: dict[RollupTable, int] = {"heat_1h": HOUR_US, "heat_1d": DAY_US}


def read_rollups(
    session: ReadSession,
    table: RollupTable,
    service_id: int,
    start: datetime,
    end: datetime,
    host_ids: Sequence[int] | None = None,
) -> list[HeatSeries]:
    """Buckets that start in [start, end), one series per bucket row."""
    query = (
        f"SELECT {ROLLUP_COLUMNS} FROM {table}"  # noqa: S608 - names of our own and integers
        f" WHERE service_id = {int(service_id)}{_hosts(host_ids)}"
        f" AND ts >= '{start.isoformat()}' AND ts < '{end.isoformat()}' ORDER BY host_id, ts"
    )
    return [rollup_series(row, _WIDTH_US[table]) for row in copy_out(session, query)]


def read_host_rollups(
    session: ReadSession, table: RollupTable, host_ids: Sequence[int], start: datetime, end: datetime
) -> list[tuple[int, HeatSeries]]:
    """The same of all services of hosts, each with its service, by host, service and time."""
    query = (
        f"SELECT service_id, {ROLLUP_COLUMNS} FROM {table} WHERE TRUE{_hosts(host_ids)}"  # noqa: S608 - as above
        f" AND ts >= '{start.isoformat()}' AND ts < '{end.isoformat()}' ORDER BY host_id, service_id, ts, backend"
    )
    return [(parse_int(row[0]) or 0, rollup_series(row[1:], _WIDTH_US[table])) for row in copy_out(session, query)]


def rollup_series(row: Sequence[bytes | None], width_us: int) -> HeatSeries:
    """A bucket of `width_us` from the raw fields of `ROLLUP_COLUMNS`."""
    cells = dict(zip(_READ, row, strict=True))
    kinds = tuple(KINDS[kind] for kind in parse_small_array(cells["kinds"]))
    n = parse_int(cells["n_intervals"]) or 0

    def read(name: str, width: int) -> npt.NDArray[np.int64]:
        """Sums of the bucket's groups; null is nothing of the kind."""
        shape = (1, len(kinds)) if width == 1 else (1, len(kinds), width)
        cell = cells[name]
        return np.zeros(shape, np.int64) if cell is None else parse_int8_array(cell).reshape(shape)

    return HeatSeries(
        host_id=parse_int(cells["host_id"]) or 0,
        method=_read_method(cells),
        ends_us=np.array([parse_us(cells["ts"]) + width_us], np.int64),
        n_intervals=np.array([n], np.int64),
        kinds=kinds,
        tiers=tuple(parse_text_array(cells["tiers"])),
        sizes=tuple(parse_small_array(cells["page_sizes"])) or (0,) * len(kinds),
        folded=Folded(**{field: read(name, width) for name, (field, width) in FOLDED_COLUMNS.items()}),
        beside=Beside({name: read(name, width) for name, width in BESIDE_WIDTHS.items()}),
        history=FULL_HISTORY if n >= FULL_INTERVALS else n,
    )


def _read_method(cells: Mapping[str, bytes | None]) -> Method:
    return Method(*(parse_int(cells[name]) or 0 for name in METHOD_COLUMNS))


def _unless_zero(values: npt.NDArray[np.int64]) -> bytes:
    return copy.int8_array(np.ascontiguousarray(values)) if values.any() else copy.NULL


def _method(method: Method) -> tuple[bytes, bytes, bytes]:
    return copy.int2(method.backend), copy.int2(method.granularity), copy.int8(method.interval_ns)


def _instant(at: datetime) -> bytes:
    return copy.instant(int(at.timestamp()) * 1_000_000_000)


def _hosts(host_ids: Iterable[int] | None) -> str:
    if host_ids is None:
        return ""
    return f" AND host_id IN ({', '.join(str(int(host)) for host in host_ids) or 'NULL'})"
