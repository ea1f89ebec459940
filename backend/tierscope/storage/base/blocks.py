"""Blocks as stored: one row for each host, service, day and layout. Their parts: domain/base/blocks.py.

A table of blocks has the columns of `tables.time.blocks_table`. A read names the parts that it needs, and the server
cuts them out of the body, so that one column of a thousand days is not sent with all others.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from typing import Literal, TypeVar

import numpy as np
from sqlalchemy import Table, text

from tierscope.core.database import ReadSession, WriteTransaction
from tierscope.core.errors import Unavailable
from tierscope.storage.base import copy
from tierscope.storage.base.binary import EPOCH, copy_out, parse_int, parse_small_array
from tierscope.storage.base.partitions import ensure_partitions
from tierscope.storage.tables import TIME_TABLES

Rows = TypeVar("Rows")
Packed = TypeVar("Packed")
_COLUMNS = ("host_id", "service_id", "ts", "layout_id", "n", "offsets", "body")
_HEADS = ("host_id", "service_id", "extract(epoch FROM ts)::bigint", "layout_id", "n::bigint")
_JOIN_BYTES = "coalesce(string_agg({}, ''::bytea), ''::bytea)"
_JOIN_NUMBERS = "coalesce(string_agg(int8send({}), ''::bytea), ''::bytea)"
_TRIES = 10
_INDEX_BYTES = 48
"""Of a block's place in the index, about."""


@dataclass(frozen=True, slots=True)
class Block:
    """n rows of a host, or of a service on it, in one day. `parts` are those that were read."""

    host_id: int
    service_id: int
    start_s: int
    """The day's start, in seconds of the Unix epoch."""
    layout_id: int
    n: int
    parts: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class Days:
    """Which blocks: those that begin in [first, end)."""

    first: datetime
    end: datetime
    host_ids: Sequence[int] | None
    """None = of all hosts."""
    services: int | Literal["each", "any"] = 0
    """Of one service, 0 = of whole hosts; of `each` service; or of `any`, which are both."""

    def condition(self) -> str:
        """The same in SQL, made of numbers and times alone."""
        said = [f"ts >= '{self.first.isoformat()}'", f"ts < '{self.end.isoformat()}'"]
        if self.host_ids is not None:
            said.append(f"host_id IN ({', '.join(str(int(host)) for host in self.host_ids) or 'NULL'})")
        if self.services == "each":
            said.append("service_id > 0")
        elif self.services != "any":
            said.append(f"service_id = {int(self.services)}")
        return " AND ".join(said)


def replace_blocks(
    transaction: WriteTransaction, table: Table, host_id: int, starts: Sequence[datetime], blocks: Iterable[Block]
) -> None:
    """Store the blocks of a host's days, in place of all that were there."""
    statement = text(f"DELETE FROM {table.name} WHERE host_id = :host AND ts = ANY(:starts)")  # noqa: S608
    ensure_days(transaction, table, min(starts), max(starts))
    transaction.execute(statement, {"host": host_id, "starts": list(starts)})
    rows = []
    for block in blocks:
        offsets = np.cumsum([0, *map(len, block.parts)], dtype=np.int64)
        fields = [copy.int8(block.host_id), copy.int8(block.service_id), copy.instant(block.start_s * 10**9)]
        fields += [copy.int8(block.layout_id), copy.int4(block.n), copy.int4_array(offsets)]
        rows.append(copy.row([*fields, copy.blob(b"".join(block.parts))]))
    if rows:
        copy.copy_rows(transaction, table.name, _COLUMNS, rows)


def ensure_days(transaction: WriteTransaction, table: Table, first: datetime, last: datetime) -> None:
    """Make the partitions of days of a time table where one is missing: days may be older than the usual ones."""
    ensure_partitions(transaction, first, last, [entry for entry in TIME_TABLES if entry.table is table])


def stored_bytes(session: ReadSession, table: Table, host_ids: Sequence[int]) -> int:
    """Bytes of the blocks of hosts: bodies, rows with their directories, and places in the index."""
    statement = text(
        f"SELECT coalesce(sum(octet_length(body) + pg_column_size(t.*) + {_INDEX_BYTES}), 0)::bigint"  # noqa: S608
        f" FROM (SELECT host_id, service_id, ts, layout_id, n, offsets, body FROM {table.name}"
        " WHERE host_id = ANY(:hosts)) AS b, LATERAL (SELECT host_id, service_id, ts, layout_id, n, offsets) AS t"
    )
    return int(session.execute(statement, {"hosts": list(host_ids)}).scalar_one())


def stored_layouts(session: ReadSession, table: Table, days: Days) -> list[int]:
    """The layouts of blocks, in order."""
    found = session.execute(text(f"SELECT DISTINCT layout_id FROM {table.name} WHERE {days.condition()}"))  # noqa: S608
    return sorted(int(layout) for layout in found.scalars())


def stored_days(session: ReadSession, table: Table, days: Days) -> dict[datetime, tuple[int, int]]:
    """The starts of days with blocks, each with what tells them from those of another moment."""
    query = (
        "SELECT ts, count(*), bit_xor(hashint8(host_id)::bigint * 31 + hashint8(service_id) + n)"  # noqa: S608
        f" FROM {table.name} WHERE {days.condition()} GROUP BY ts ORDER BY ts"
    )
    return {row[0]: (int(row[1]), int(row[2])) for row in session.execute(text(query))}


def read_beside(
    session: ReadSession,
    table: Table,
    days: Days,
    read_rows: Callable[[], Rows],
    read_packed: Callable[[], list[Packed]],
) -> tuple[Rows, list[Packed]]:
    """What rows say and what blocks say, at one moment, though a worker may pack or unpack days between two reads.

    Raises:
        Unavailable: days are packed faster than they can be read.
    """
    for _ in range(_TRIES):
        before = stored_days(session, table, days)
        packed = read_packed() if before else []
        rows = read_rows()
        if stored_days(session, table, days) == before:
            return rows, packed
    raise Unavailable("days are being packed right now", retry_after_seconds=1)


def read_blocks(session: ReadSession, table: Table, days: Days) -> list[Block]:
    """Blocks with all of their parts, by host, service and time."""
    query = (
        f"SELECT {', '.join(_HEADS)}, offsets, body FROM {table.name} WHERE {days.condition()}"  # noqa: S608
        " ORDER BY host_id, service_id, ts, layout_id"
    )
    blocks = []
    for *heads, offsets, body in copy_out(session, query):
        host, service, start, layout, n = (parse_int(head) or 0 for head in heads)
        ends = parse_small_array(offsets)
        parts = tuple((body or b"")[at:end] for at, end in pairwise(ends))
        blocks.append(Block(host, service, start, layout, n, parts))
    return blocks


def read_parts(session: ReadSession, table: Table, days: Days, layout_id: int, places: Sequence[int]) -> list[Block]:
    """Blocks of one layout by host, service and time, with the parts at these places alone, in the order given.

    The server joins what it cuts out by part, so that one row is sent for all blocks.
    """
    joined = [_JOIN_NUMBERS.format(head) for head in _HEADS]
    for place in places:
        length = f"offsets[{place + 2}] - offsets[{place + 1}]"
        joined.append(_JOIN_NUMBERS.format(f"({length})::bigint"))
        joined.append(_JOIN_BYTES.format(f"substring(body FROM offsets[{place + 1}] + 1 FOR {length})"))
    query = (
        f"SELECT {', '.join(joined)} FROM (SELECT * FROM {table.name} WHERE {days.condition()}"  # noqa: S608
        f" AND layout_id = {int(layout_id)} ORDER BY host_id, service_id, ts) AS d"
    )
    fields = next(copy_out(session, query))
    heads = [np.frombuffer(field or b"", ">i8").tolist() for field in fields[: len(_HEADS)]]
    columns = []
    for lengths, body in zip(fields[len(_HEADS) :: 2], fields[len(_HEADS) + 1 :: 2], strict=True):
        ends = np.cumsum([0, *np.frombuffer(lengths or b"", ">i8").tolist()]).tolist()
        columns.append([(body or b"")[start:end] for start, end in pairwise(ends)])
    parts = zip(*columns, strict=True) if columns else [()] * len(heads[0])
    return [
        Block(host, service, start, layout, n, cut)
        for (host, service, start, layout, n), cut in zip(zip(*heads, strict=True), parts, strict=True)
    ]


def start_seconds(day: datetime) -> int:
    """The start of a day as a block has it."""
    return round((day - EPOCH).total_seconds())
