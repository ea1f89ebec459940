"""The ledger of closed days, packed: a block for each host and service (`tier_move_days`).

What is stored of a host and day is either rows or blocks, never both: packing deletes the rows, and whoever changes a
packed day makes rows of it again first. Both hold a lock of the host meanwhile.

Parts of a block: ends in microseconds, lengths in seconds, cause and trust (null = none), then the columns that its
layout names: those that any row of the day has.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Literal

import numpy as np
import numpy.typing as npt
from sqlalchemy import text

from tierscope.core.clock import utc_now
from tierscope.core.database import ReadSession, WriteTransaction
from tierscope.domain.base.blocks import pack_floats, pack_ints, unpack_floats, unpack_ints
from tierscope.domain.base.buckets import day_of
from tierscope.domain.base.jobs import TIER_MOVE_DAYS
from tierscope.domain.ledger import COLUMN_INDEX, COLUMN_KEYS
from tierscope.storage.base import copy, dirty_buckets
from tierscope.storage.base.binary import MISSING, Columns, copy_columns, copy_out, parse_int, to_us
from tierscope.storage.base.blocks import (
    Block,
    Contents,
    Days,
    Packing,
    Rows,
    ensure_days,
    read_beside,
    read_blocks,
    replace_blocks,
    stored_days,
)
from tierscope.storage.tables.time import tier_move_days

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
_COLUMNS = ("host_id", "service_id", "ts", "dt_seconds", *COLUMN_KEYS, "trust_id", "cause")
_DAY = timedelta(days=1)
_MARGIN = timedelta(hours=1)
"""Whoever changes rows may have begun so long before a worker packs them."""
MOVES_ARRAYS = ("times_us", "seconds", "causes", "trust_ids", "values", "present")


@dataclass(frozen=True, slots=True)
class Moves:
    """n rows of a host (service 0), or of a service on it, in order of time. `values` [n, k] is 0 where not `present`.

    `causes` and `trust_ids` are 0 where there is none.
    """

    host_id: int
    service_id: int
    times_us: Ints
    seconds: Floats
    causes: Ints
    trust_ids: Ints
    values: Ints
    present: Bools

    def rows(self, index: Bools | Ints | slice) -> "Moves":
        """Some of the rows."""
        return Moves(self.host_id, self.service_id, *(getattr(self, name)[index] for name in MOVES_ARRAYS))

    def between(self, start: datetime, end: datetime) -> "Moves":
        """The rows of (start, end]."""
        inside = (self.times_us > to_us(start)) & (self.times_us <= to_us(end))
        return self if inside.all() else self.rows(inside)


def join_moves(parts: Sequence[Moves]) -> Moves:
    """Parts of one host and service, in order of time."""
    if len(parts) == 1:
        return parts[0]
    joined = [np.concatenate([getattr(part, name) for part in parts]) for name in MOVES_ARRAYS]
    whole = Moves(parts[0].host_id, parts[0].service_id, *joined)
    return whole.rows(np.argsort(whole.times_us, kind="stable"))


def select_moves(keys: Sequence[str] = COLUMN_KEYS) -> str:
    """What `moves_of` reads. The columns are one array: a field of its own for each would cost an object per cell."""
    return (
        "host_id, service_id, ts, coalesce(dt_seconds, 0), coalesce(cause, 0::smallint), coalesce(trust_id, 0),"
        f" array_replace(ARRAY[{', '.join(keys)}]::bigint[], NULL, ({MISSING + 1} - 1)::bigint)"
    )


def moves_of(found: Columns | None) -> list[Moves]:
    """Rows as `select_moves` names their columns, in order of host, service and time."""
    if found is None:
        return []
    subjects = np.stack((found.ints(0), found.ints(1)), axis=1)
    raw = found.int8_arrays(6)
    whole = Moves(0, 0, found.times_us(2), found.floats(3), found.ints(4), found.ints(5), raw, raw != MISSING)
    whole.values[~whole.present] = 0
    starts = np.flatnonzero(np.concatenate(([True], (subjects[1:] != subjects[:-1]).any(axis=1)))).tolist()
    return [
        replace(whole.rows(slice(start, end)), host_id=int(subjects[start, 0]), service_id=int(subjects[start, 1]))
        for start, end in pairwise([*starts, len(raw)])
    ]


def may_be_packed(start: datetime) -> bool:
    """Whether days from this moment on can have been packed."""
    return start < utc_now() - TIER_MOVE_DAYS.wait + _MARGIN


def days_of_window(
    host_ids: Sequence[int] | None, services: int | Literal["any"], start: datetime, end: datetime
) -> Days:
    """The days that rows of (start, end] lie in."""
    return Days(day_of(start), end, host_ids, services)


def beside_rows(
    session: ReadSession, days: Days, read_rows: Callable[[], Rows], keys: Sequence[str] = COLUMN_KEYS
) -> tuple[Rows, list[Moves]]:
    """What rows say, and the packed days beside them, at one moment."""
    return read_beside(session, tier_move_days, days, read_rows, lambda: read_days(session, days, keys))


def read_moves(
    session: ReadSession,
    host_ids: Sequence[int] | None,
    service_id: int | Sequence[int],
    start: datetime,
    end: datetime,
    keys: Sequence[str] = COLUMN_KEYS,
) -> list[Moves]:
    """All of (start, end] by host, and by service where several are asked for: rows, and packed days, in order of time.

    `values` have `keys`.
    """
    services = list(service_id) if isinstance(service_id, Sequence) else [service_id]
    whose = "" if host_ids is None else f"host_id IN ({', '.join(str(int(host)) for host in host_ids) or 'NULL'}) AND "
    which = ", ".join(str(int(service)) for service in services) or "NULL"
    query = (
        f"SELECT {select_moves(keys)} FROM tier_moves WHERE {whose}service_id IN ({which})"  # noqa: S608
        f" AND ts > '{start.isoformat()}' AND ts <= '{end.isoformat()}' ORDER BY host_id, service_id, ts"
    )

    def read_rows() -> list[Moves]:
        return moves_of(copy_columns(session, query))

    if not may_be_packed(start):
        return read_rows()
    days = days_of_window(host_ids, services[0] if len(services) == 1 else "any", start, end)
    rows, packed = beside_rows(session, days, read_rows, keys)
    by_subject: dict[tuple[int, int], list[Moves]] = {}
    for part in (*packed, *rows):
        inside = part.between(start, end)
        if len(inside.times_us) and part.service_id in services:
            by_subject.setdefault((part.host_id, part.service_id), []).append(inside)
    return [join_moves(parts) for _, parts in sorted(by_subject.items())]


def newest_packed(
    session: ReadSession, host_ids: Sequence[int], service_id: int, since: datetime, rows: int
) -> dict[datetime, list[int]]:
    """Hosts by the packed day from which on they have at least so many rows, or all that there are."""
    condition = days_of_window(host_ids, service_id, since, utc_now()).condition(tier_move_days)
    statement = text(
        "SELECT host_id, min(ts) FROM (SELECT host_id, ts, sum(n) OVER (PARTITION BY host_id ORDER BY ts DESC) - n"  # noqa: S608
        f" AS later FROM blocks WHERE {condition}) AS days WHERE later < :rows GROUP BY host_id"
    )
    found: dict[datetime, list[int]] = {}
    for host_id, day in session.execute(statement, {"rows": rows}):
        found.setdefault(day, []).append(int(host_id))
    return found


def packed_spans(session: ReadSession, host_ids: Sequence[int]) -> dict[int, tuple[float, float]]:
    """From the start of the first packed interval of a whole host to the end of the last one, in Unix seconds."""
    ids = ", ".join(str(int(host)) for host in host_ids) or "NULL"
    cuts = ", ".join(f"substring(body FROM offsets[{i}] + 1 FOR offsets[{i + 1}] - offsets[{i}])" for i in (1, 2))

    def edge(order: str, place: int) -> dict[int, tuple[float, float]]:
        query = (
            f"SELECT host_id, n, {cuts} FROM (SELECT DISTINCT ON (host_id) * FROM blocks"  # noqa: S608
            f" WHERE kind = '{tier_move_days.name}' AND service_id = 0 AND host_id IN ({ids})"
            f" ORDER BY host_id, ts {order}) AS days"
        )
        found = {}
        for host, n, ends, lengths in copy_out(session, query):
            rows = parse_int(n) or 0
            end_s = float(unpack_ints(ends or b"", rows)[0][0, place]) / 1e6
            found[parse_int(host) or 0] = end_s - float(unpack_floats(lengths or b"", rows)[0, place]), end_s
        return found

    first, last = edge("ASC", 0), edge("DESC", -1)
    return {host: (first[host][0], last[host][1]) for host in first.keys() & last.keys()}


def read_days(session: ReadSession, days: Days, keys: Sequence[str] = COLUMN_KEYS) -> list[Moves]:
    """Packed days by host, service and time, with `keys` of the columns in this order."""
    places = {key: place for place, key in enumerate(keys)}
    return [_unpack(block, places) for block in read_blocks(session, tier_move_days, days, keys)]


def _unpack(block: Block, places: Mapping[str, int] = COLUMN_INDEX) -> Moves:
    ends, lengths, causes, trusts, *columns = block.parts
    n = block.n
    values, present = np.zeros((n, len(places)), np.int64), np.zeros((n, len(places)), np.bool_)
    for name, part in zip(block.names, columns, strict=True):
        if name in places:
            column, there = unpack_ints(part, n)
            values[:, places[name]], present[:, places[name]] = column[0], there[0]
    times_us, cause_numbers, trust_ids = (unpack_ints(part, n)[0][0] for part in (ends, causes, trusts))
    seconds = unpack_floats(lengths, n)[0]
    return Moves(block.host_id, block.service_id, times_us, seconds, cause_numbers, trust_ids, values, present)


def _pack(moves: Moves) -> Contents:
    held = np.flatnonzero(moves.present.any(axis=0)).tolist()
    parts = (
        pack_ints(moves.times_us[None]),
        pack_floats(moves.seconds[None]),
        pack_ints(moves.causes[None], moves.causes[None] != 0),
        pack_ints(moves.trust_ids[None], moves.trust_ids[None] != 0),
        *(pack_ints(moves.values[None, :, place], moves.present[None, :, place]) for place in held),
    )
    names = tuple(COLUMN_KEYS[place] for place in held)
    return moves.service_id, len(moves.times_us), names, parts


def _take(transaction: WriteTransaction, host_id: int, day: datetime) -> list[Moves]:
    _lock(transaction, host_id)
    where = f"host_id = {int(host_id)} AND ts > '{day.isoformat()}' AND ts <= '{(day + _DAY).isoformat()}'"
    query = f"SELECT {select_moves()} FROM tier_moves WHERE {where} ORDER BY host_id, service_id, ts"  # noqa: S608
    rows = moves_of(copy_columns(transaction, query))
    transaction.execute(text(f"DELETE FROM tier_moves WHERE {where}"))  # noqa: S608
    return rows


def _rows_win(packed: Sequence[Moves], rows: Sequence[Moves]) -> list[Moves]:
    """By service: rows, and what was packed of other instants."""
    by_service = {part.service_id: part for part in rows}
    for part in packed:
        newer = by_service.get(part.service_id)
        if newer is None:
            by_service[part.service_id] = part
        else:
            other = part.rows(~np.isin(part.times_us, newer.times_us))
            by_service[part.service_id] = join_moves([newer, other])
    return [part for _, part in sorted(by_service.items())]


LEDGER = Packing(tier_move_days, _take, _rows_win, _pack, _unpack)


def unpack_days(transaction: WriteTransaction, host_id: int, spans: Sequence[tuple[datetime, datetime]]) -> None:
    """Make rows again of the packed days that (start, end] spans of a host lie in, and ask for them to be packed.

    Has to come before every change of rows that may be so old.
    """
    old = [(start, end) for start, end in spans if may_be_packed(start)]
    if not old:
        return
    _lock(transaction, host_id)
    for start, end in old:
        ensure_days(transaction, "tier_moves", day_of(start), end)
        days = days_of_window([host_id], "any", start, end)
        packed = read_days(transaction, days)
        if not packed:
            continue
        begins = stored_days(transaction, tier_move_days, days)
        ensure_days(transaction, "tier_moves", min(begins), max(begins) + _DAY)
        copy_moves(transaction, packed)
        replace_blocks(transaction, tier_move_days, host_id, list(begins), [])
        dirty_buckets.append(transaction, TIER_MOVE_DAYS.kind, host_id, 0, begins)


def copy_moves(transaction: WriteTransaction, parts: Sequence[Moves]) -> None:
    """Store rows where there are none, in one COPY. `values` have all columns."""
    rows = []
    for part in parts:
        head = len(_COLUMNS).to_bytes(2, "big") + copy.int8(part.host_id) + copy.int8(part.service_id)
        for i, at_us in enumerate(part.times_us.tolist()):
            cells = [
                copy.int8(value) if present else copy.NULL
                for value, present in zip(part.values[i].tolist(), part.present[i].tolist(), strict=True)
            ]
            trust, cause = int(part.trust_ids[i]) or None, int(part.causes[i]) or None
            body = [copy.instant(at_us * 1000), copy.float8(float(part.seconds[i])), *cells]
            rows.append(b"".join([head, *body, copy.int8(trust), copy.int2(cause)]))
    copy.copy_rows(transaction, "tier_moves", _COLUMNS, rows)


def _lock(transaction: WriteTransaction, host_id: int) -> None:
    """Until the transaction ends nobody else packs days of this host or makes rows of them."""
    statement = text("SELECT pg_advisory_xact_lock(hashtextextended(:key, 7))")
    transaction.execute(statement, {"key": f"tier_move_days:{host_id}"})
