"""The ledger of whole services as stored: per hour what each host counted since midnight, and lines over all hosts."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import numpy as np
import zstandard
from sqlalchemy import text

from tierscope.core.database import ReadSession, WriteTransaction
from tierscope.domain.ledger import COLUMN_KEYS, COLUMNS
from tierscope.domain.ledger.gathered import Floats, Gathered, gather, pack_gathered, unpack_gathered
from tierscope.storage.base import copy
from tierscope.storage.base.binary import to_us
from tierscope.storage.ledger.days import Moves, may_be_packed, read_moves

HOUR = timedelta(hours=1)
ZSTD_LEVEL = 3
_COLUMNS = ("service_id", "ts", "own", "n_hosts", "lines", "body")


@dataclass(frozen=True, slots=True)
class Reset:
    """A row of some host that was left out, in whole or in part: its end (Unix seconds), cause and lost columns."""

    at: float
    cause: int
    lost: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class MovesHour:
    """An hour of a service. `own`: of its own cgroups, else of its whole hosts. `rates` [c] as `Gathered.rates`."""

    start: datetime
    own: bool
    n_hosts: int
    rates: Floats
    resets: tuple[Reset, ...]


def sum_hour(session: ReadSession, service_id: int, host_ids: Sequence[int], start: datetime) -> tuple[Gathered, bool]:
    """What the hosts counted in one hour: in the service's own cgroups where any has such rows, else altogether."""
    if may_be_packed(start):
        for scope in (service_id, 0):
            moves = read_moves(session, host_ids, scope, start, start + HOUR)
            if moves:
                return _gather_moves(moves), scope != 0
        return gather([], [], [], []), False
    cells = []
    for column in COLUMNS:
        key = column.key
        newest = f"(array_agg({key} ORDER BY ts DESC) FILTER (WHERE {key} IS NOT NULL))[1]" if column.gauge else "0"
        cells += [f"sum({key})", f"sum(dt_seconds) FILTER (WHERE {key} IS NOT NULL)", f"count({key})", newest]
    statement = text(
        f"SELECT host_id, count(*), coalesce(max(trust_id), 0), {', '.join(cells)} FROM tier_moves"  # noqa: S608 - own names
        " WHERE host_id = ANY(:hosts) AND service_id = :service AND ts > :start AND ts <= :end GROUP BY host_id"
    )
    values = {"hosts": list(host_ids), "start": start, "end": start + HOUR}
    for scope in (service_id, 0):
        rows = session.execute(statement, values | {"service": scope}).all()
        if rows:
            found = gather(
                [row[0] for row in rows], [row[3:] for row in rows], [row[2] for row in rows], [row[1] for row in rows]
            )
            return found, scope != 0
    return gather([], [], [], []), False


def _gather_moves(moves: Sequence[Moves]) -> Gathered:
    cells: list[list[float | int | None]] = []
    for part in moves:
        seconds = np.where(part.present, part.seconds[:, None], 0.0).sum(axis=0)
        row: list[float | int | None] = []
        for place, column in enumerate(COLUMNS):
            values = part.values[part.present[:, place], place]
            newest = int(values[-1]) if column.gauge and len(values) else 0
            row += [int(values.sum()), float(seconds[place]), len(values), newest]
        cells.append(row)
    trusts = [int(part.trust_ids.max()) for part in moves]
    return gather([part.host_id for part in moves], cells, trusts, [len(part.times_us) for part in moves])


def list_resets(
    session: ReadSession, service_id: int, host_ids: Sequence[int], start: datetime, used: dict[int, frozenset[str]]
) -> list[Reset]:
    """Rows of the hour with a cause. `used` are the columns that each host has; `service_id` 0 = whole hosts."""
    keys = [column.key for column in COLUMNS]
    if may_be_packed(start):
        rows = [
            (at_us / 1e6, part.host_id, cause, [key for key, there in zip(keys, present, strict=True) if not there])
            for part in read_moves(session, host_ids, service_id, start, start + HOUR)
            for at_us, cause, present in zip(
                part.times_us.tolist(), part.causes.tolist(), part.present.tolist(), strict=True
            )
            if cause
        ]
        return [
            Reset(at, cause, tuple(key for key in absent if key in used.get(host_id, frozenset())))
            for at, host_id, cause, absent in sorted(rows)
        ]
    statement = text(
        f"SELECT host_id, extract(epoch FROM ts), cause, {', '.join(f'{key} IS NULL' for key in keys)}"  # noqa: S608 - own names
        " FROM tier_moves WHERE host_id = ANY(:hosts) AND service_id = :service AND ts > :start AND ts <= :end"
        " AND cause IS NOT NULL ORDER BY ts, host_id"
    )
    values = {"hosts": list(host_ids), "service": service_id, "start": start, "end": start + HOUR}
    found = []
    for host_id, at, cause, *absent in session.execute(statement, values):
        lost = tuple(
            key for key, gone in zip(keys, absent, strict=True) if gone and key in used.get(host_id, frozenset())
        )
        found.append(Reset(float(at), int(cause), lost))
    return found


def replace_moves_hour(
    transaction: WriteTransaction, service_id: int, hour: MovesHour | None, start: datetime, since_midnight: Gathered
) -> None:
    """Store an hour in place of what was there; None removes it."""
    statement = text("DELETE FROM service_moves_1h WHERE service_id = :service AND ts = :start")
    transaction.execute(statement, {"service": service_id, "start": start})
    if hour is None:
        return
    body = zstandard.ZstdCompressor(level=ZSTD_LEVEL).compress(pack_gathered(since_midnight))
    known = zip(COLUMN_KEYS, hour.rates.tolist(), strict=True)
    lines = {
        "rates": {key: rate for key, rate in known if math.isfinite(rate)},
        "resets": [[reset.at, reset.cause, list(reset.lost)] for reset in hour.resets],
    }
    key = (copy.int8(service_id), copy.instant(to_us(start) * 1000), copy.boolean(hour.own), copy.int4(hour.n_hosts))
    row = copy.row([*key, copy.jsonb(lines), copy.blob(body)])
    copy.copy_rows(transaction, "service_moves_1h", _COLUMNS, [row])


def read_moves_hours(session: ReadSession, service_id: int, start: datetime, end: datetime) -> list[MovesHour]:
    """Hours that start in [start, end), in order of time."""
    statement = text(
        "SELECT ts, own, n_hosts, lines FROM service_moves_1h"
        " WHERE service_id = :service AND ts >= :start AND ts < :end ORDER BY ts"
    )
    rows = session.execute(statement, {"service": service_id, "start": start, "end": end})
    return [_hour(row) for row in rows]


def read_newest_hours(session: ReadSession, service_ids: Sequence[int], since: datetime) -> dict[int, MovesHour]:
    """The newest hour of each service that has one which starts after `since`."""
    statement = text(
        "SELECT s.id, h.* FROM unnest(CAST(:services AS bigint[])) AS s (id) CROSS JOIN LATERAL"
        " (SELECT ts, own, n_hosts, lines FROM service_moves_1h WHERE service_id = s.id AND ts > :since"
        " ORDER BY ts DESC LIMIT 1) AS h"
    )
    rows = session.execute(statement, {"services": list(service_ids), "since": since})
    return {int(row.id): _hour(row) for row in rows}


def read_since_midnight(session: ReadSession, service_id: int, starts: Sequence[datetime]) -> dict[datetime, Gathered]:
    """What was counted from midnight to the end of each of these hours."""
    if not starts:
        return {}
    query = "SELECT ts, body FROM service_moves_1h WHERE service_id = %s AND ts = ANY(%s) AND ts >= %s AND ts <= %s"
    inflate = zstandard.ZstdDecompressor()
    with session.driver.cursor(binary=True) as cursor:
        rows = cursor.execute(query.encode(), (service_id, list(starts), min(starts), max(starts))).fetchall()
    return {row[0]: unpack_gathered(inflate.decompress(row[1])) for row in rows}


def _hour(row: Any) -> MovesHour:  # noqa: ANN401 - a row of SQLAlchemy
    resets = tuple(Reset(float(at), int(cause), tuple(lost)) for at, cause, lost in row.lines["resets"])
    rates = row.lines["rates"]
    return MovesHour(row.ts, row.own, row.n_hosts, np.array([rates.get(key, np.nan) for key in COLUMN_KEYS]), resets)


def read_trusts(session: ReadSession, trust_ids: Sequence[int]) -> dict[int, dict[str, Any]]:
    """What columns are made of, by the id that rows refer to."""
    rows = session.execute(text("SELECT id, body FROM ledger_trusts WHERE id = ANY(:ids)"), {"ids": list(trust_ids)})
    return {int(row.id): row.body for row in rows}
