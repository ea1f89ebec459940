"""Heat of whole services as stored: one row per service, method and hour or day, with all its hosts in columns."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

import numpy as np
import numpy.typing as npt
import zstandard
from sqlalchemy import text

from tierscope.core.database import ReadSession, WriteTransaction
from tierscope.domain.base.buckets import DAY_US, HOUR_US
from tierscope.domain.heat.classes import USUAL_RULE
from tierscope.domain.heat.column_parts import sum_classes
from tierscope.domain.heat.columns import HeatColumns, Packed, pack_columns
from tierscope.domain.heat.rows import Method
from tierscope.storage.base import copy
from tierscope.storage.base.binary import copy_columns, to_us

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
ServiceTable = Literal["service_heat_1h", "service_heat_1d"]
WIDTH_US: dict[ServiceTable, int] = {"service_heat_1h": HOUR_US, "service_heat_1d": DAY_US}
ZSTD_LEVEL = 3
_MOST_METHODS = 4
"""Methods that measure one service at a time."""
_COLUMNS = (
    "service_id",
    "ts",
    "backend",
    "granularity",
    "interval_ns",
    "n_hosts",
    "built_at",
    "body",
    "counts",
    "class_bytes",
)


@dataclass(frozen=True, slots=True)
class Bucket:
    """A stored bucket by what tells it from others, without its body."""

    start: datetime
    method: Method
    built_at: datetime
    n_hosts: int


@dataclass(frozen=True, slots=True)
class Unmeasured:
    """Why heat of a service is not measured on a host, or not of all its processes there, as its agent said last."""

    host_id: int
    heat_measured: bool
    reason: str


def read_unmeasured(
    session: ReadSession, service_id: int, host_ids: Sequence[int], *, limit: int | None
) -> list[Unmeasured]:
    """The first hosts of a service that say why heat is not measured, in the order of `host_ids`; None = all."""
    statement = text(
        "SELECT s.host_id, s.heat_measured, s.heat_reason FROM host_services s JOIN hosts h ON h.id = s.host_id"
        " AND h.revoked_at IS NULL WHERE s.service_id = :service AND s.host_id = ANY(:hosts) AND s.heat_reason <> ''"
        " ORDER BY array_position(CAST(:hosts AS bigint[]), s.host_id) LIMIT :limit"
    )
    rows = session.execute(statement, {"service": service_id, "hosts": list(host_ids), "limit": limit})
    return [Unmeasured(*row) for row in rows]


def replace_service_heat(
    transaction: WriteTransaction,
    table: ServiceTable,
    service_id: int,
    starts: Sequence[datetime],
    columns: Sequence[HeatColumns],
    *,
    built_at: datetime,
) -> None:
    """Store buckets of a service in place of what was there. `columns` are of one method each."""
    statement = text(
        f"DELETE FROM {table} WHERE service_id = :service AND ts = ANY(CAST(:starts AS timestamptz[]))"  # noqa: S608
        " AND ts >= :first AND ts <= :last"
    )
    values = {"service": service_id, "starts": list(starts), "first": min(starts), "last": max(starts)}
    transaction.execute(statement, values)
    wanted = {to_us(start) for start in starts}
    deflate = zstandard.ZstdCompressor(level=ZSTD_LEVEL)
    rows = []
    for found in columns:
        classes = sum_classes(found, USUAL_RULE)
        method = (copy.int2(found.method.backend), copy.int2(found.method.granularity))
        for at, end_us in enumerate(found.ends_us.tolist()):
            start_us = end_us - WIDTH_US[table]
            if start_us not in wanted:
                continue
            body, counts = (copy.blob(deflate.compress(part)) for part in pack_columns(found, at))
            n_hosts = int((found.n_intervals[at] > 0).sum())
            key = (copy.int8(service_id), copy.instant(start_us * 1000), *method, copy.int8(found.method.interval_ns))
            built = copy.instant(to_us(built_at) * 1000)
            rows.append(copy.row([*key, copy.int4(n_hosts), built, body, counts, copy.float8_array(classes[at])]))
    copy.copy_rows(transaction, table, _COLUMNS, rows)


def list_buckets(
    session: ReadSession, table: ServiceTable, service_id: int, start: datetime, end: datetime
) -> list[Bucket]:
    """Buckets that start in [start, end), in order of time."""
    statement = text(
        f"SELECT ts, backend, granularity, interval_ns, built_at, n_hosts FROM {table}"  # noqa: S608 - a table's own name
        " WHERE service_id = :service AND ts >= :start AND ts < :end ORDER BY ts"
    )
    rows = session.execute(statement, {"service": service_id, "start": start, "end": end})
    return [
        Bucket(row.ts, Method(row.backend, row.granularity, row.interval_ns), row.built_at, row.n_hosts) for row in rows
    ]


def newest_buckets(
    session: ReadSession,
    *,
    since: datetime,
    hours: int,
    service_ids: Sequence[int] | None = None,
    until: datetime | None = None,
) -> dict[int, list[Bucket]]:
    """The newest `hours` hours after `since` of each service that has any, in order of time.

    With `until` of those that had ended by then.
    """
    some = "" if service_ids is None else " WHERE s.id = ANY(:services)"
    ended = "" if until is None else " AND ts <= :last"
    statement = text(
        "SELECT h.* FROM services s CROSS JOIN LATERAL (SELECT service_id, ts, backend, granularity, interval_ns,"  # noqa: S608
        " built_at, n_hosts FROM service_heat_1h WHERE service_id = s.id AND ts > :since"
        f"{ended} ORDER BY ts DESC LIMIT :rows) AS h{some} ORDER BY h.service_id, h.ts"
    )
    values: dict[str, object] = {"since": since, "rows": hours * _MOST_METHODS}
    if service_ids is not None:
        values["services"] = list(service_ids)
    if until is not None:
        values["last"] = until - timedelta(hours=1)
    found: dict[int, list[Bucket]] = {}
    for row in session.execute(statement, values):
        method = Method(row.backend, row.granularity, row.interval_ns)
        found.setdefault(row.service_id, []).append(Bucket(row.ts, method, row.built_at, row.n_hosts))
    newest = {key: sorted({bucket.start for bucket in some})[-hours:][0] for key, some in found.items()}
    return {key: [bucket for bucket in some if bucket.start >= newest[key]] for key, some in found.items()}


@dataclass(frozen=True, slots=True)
class ClassHours:
    """n hours of services in order of service and time, each by one method.

    `methods` [n, 3]: back end, granularity and interval in ns. `class_bytes` [n, 4]: over the `n_hosts` [n] hosts by
    the usual rule.
    """

    service_ids: Ints
    ends_s: Floats
    methods: Ints
    n_hosts: Ints
    class_bytes: Floats


def read_class_hours(session: ReadSession, start: datetime, end: datetime) -> ClassHours | None:
    """Hours of all services that start in [start, end).

    None where there are none, or some were stored before there were such sums.
    """
    classes = ", ".join(f"coalesce(class_bytes[{place}], 'NaN')" for place in range(1, 5))
    found = copy_columns(
        session,
        f"SELECT service_id, ts, backend, granularity, interval_ns, n_hosts, {classes}, (class_bytes IS NULL)::int"  # noqa: S608 - own names
        f" FROM service_heat_1h WHERE ts >= '{start.isoformat()}' AND ts < '{end.isoformat()}'"
        " ORDER BY service_id, ts",
    )
    if found is None or found.ints(10).any():
        return None
    return ClassHours(
        service_ids=found.ints(0),
        ends_s=(found.times_us(1) + HOUR_US) / 1e6,
        methods=np.stack([found.ints(place) for place in (2, 3, 4)], axis=1),
        n_hosts=found.ints(5),
        class_bytes=np.stack([found.floats(place) for place in range(6, 10)], axis=1),
    )


def read_bodies(
    session: ReadSession, table: ServiceTable, service_id: int, buckets: Sequence[Bucket], *, with_counts: bool
) -> list[Packed]:
    """The bodies of buckets of one method, in order of time. One that was replaced since is left out."""
    if not buckets:
        return []
    method = buckets[0].method
    query = (
        f"SELECT ts, built_at, body, {'counts' if with_counts else 'NULL::bytea'} FROM {table}"  # noqa: S608 - own names
        " WHERE service_id = %s AND ts >= %s AND ts <= %s AND backend = %s AND granularity = %s AND interval_ns = %s"
        " ORDER BY ts"
    )
    times = (buckets[0].start, buckets[-1].start)
    values = (service_id, *times, method.backend, method.granularity, method.interval_ns)
    wanted = {(bucket.start, bucket.built_at) for bucket in buckets}
    inflate = zstandard.ZstdDecompressor()
    found = []
    # In binary, because the text form of a body is twice as long.
    with session.driver.cursor(binary=True) as cursor:
        for start, built_at, body, counts in cursor.execute(query.encode(), values):
            if (start, built_at) in wanted:
                opened = None if counts is None else inflate.decompress(counts)
                found.append(Packed(to_us(start) + WIDTH_US[table], inflate.decompress(body), opened))
    return found
