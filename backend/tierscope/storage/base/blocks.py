"""Blocks: rows of closed time, packed. One for each kind, host, service, stretch of time and set of names.

A read names what it needs, and the server cuts those parts out of the body, so that one column of a thousand days is
not sent with all others. Parts: domain/base/blocks.py.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from typing import Generic, Literal, TypeVar

import numpy as np
from sqlalchemy import text

from tierscope.core.database import ReadSession, WriteTransaction
from tierscope.core.errors import Unavailable
from tierscope.storage.base import copy
from tierscope.storage.base.binary import EPOCH, copy_out, parse_int, parse_small_array
from tierscope.storage.base.layouts import ensure_layout, read_layouts
from tierscope.storage.base.partitions import ensure_partitions
from tierscope.storage.tables import TIME_TABLES, BlockKind

Rows = TypeVar("Rows")
Packed = TypeVar("Packed")
Names = Sequence[str] | Callable[[str], object] | None
Contents = tuple[int, int, tuple[str, ...], tuple[bytes, ...]]
"""Of a block: its service, number of rows, names and parts."""
_COLUMNS = ("host_id", "service_id", "ts", "layout_id", "n", "offsets", "body", "kind")
_HEADS = ("host_id", "extract(epoch FROM ts)::bigint", "service_id", "n::bigint")
_JOIN_BYTES = "coalesce(string_agg({}, ''::bytea), ''::bytea)"
_JOIN_NUMBERS = "coalesce(string_agg(int8send({}), ''::bytea), ''::bytea)"
_NO_NAMES = 0
"""Not an id of `layouts`: all parts are those of the kind."""
_TRIES = 10
_INDEX_BYTES = 48
"""Of a block's place in the index, about."""


@dataclass(frozen=True, slots=True)
class Block:
    """n rows of a host, or of a service on it, in one stretch. `parts`: what was read, heads and then `names`."""

    host_id: int
    start_s: int
    """The stretch's start, in seconds of the Unix epoch."""
    service_id: int
    n: int
    names: tuple[str, ...]
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

    def condition(self, kind: BlockKind) -> str:
        """The same in SQL, made of the name of a kind, numbers and times alone."""
        said = [f"kind = '{kind.name}'", f"ts >= '{self.first.isoformat()}'", f"ts < '{self.end.isoformat()}'"]
        if self.host_ids is not None:
            said.append(f"host_id IN ({', '.join(str(int(host)) for host in self.host_ids) or 'NULL'})")
        if self.services == "each":
            said.append("service_id > 0")
        elif self.services != "any":
            said.append(f"service_id = {int(self.services)}")
        return " AND ".join(said)


@dataclass(frozen=True, slots=True)
class Packing(Generic[Rows]):
    """How the rows of a host become blocks of one kind, once their stretch of time has closed."""

    kind: BlockKind
    take: Callable[[WriteTransaction, int, datetime], Sequence[Rows]]
    """The rows of the stretch of a host that begins then; they leave, unless something else makes them."""
    join: Callable[[Sequence[Rows], Sequence[Rows]], Iterable[Rows]]
    """What is packed already with the rows, which count: as many parts as there are to be blocks."""
    pack: Callable[[Rows], Contents]
    unpack: Callable[[Block], Rows]

    def close(self, transaction: WriteTransaction, host_id: int, starts: Sequence[datetime]) -> None:
        """Pack closed stretches of a host: what is packed of them, and the rows that came since."""
        for start in starts:
            if rows := self.take(transaction, host_id, start):
                days = Days(start, start + self.kind.width, [host_id], "any")
                packed = [self.unpack(block) for block in read_blocks(transaction, self.kind, days)]
                self.store(transaction, host_id, start, self.join(packed, rows))

    def store(self, transaction: WriteTransaction, host_id: int, start: datetime, parts: Iterable[Rows]) -> None:
        """Store a stretch of a host, packed, in place of what was there."""
        blocks = [Block(host_id, start_seconds(start), *self.pack(part)) for part in parts]
        replace_blocks(transaction, self.kind, host_id, [start], blocks)


def replace_blocks(
    transaction: WriteTransaction, kind: BlockKind, host_id: int, starts: Sequence[datetime], blocks: Iterable[Block]
) -> None:
    """Store the blocks of a host's stretches, in place of all that were there."""
    statement = text(f"DELETE FROM blocks WHERE kind = '{kind.name}' AND host_id = :host AND ts = ANY(:starts)")  # noqa: S608
    ensure_days(transaction, kind.name, min(starts), max(starts))
    transaction.execute(statement, {"host": host_id, "starts": list(starts)})
    rows = []
    for block in blocks:
        layout_id = ensure_layout(transaction, block.names) if block.names else _NO_NAMES
        offsets = np.cumsum([0, *map(len, block.parts)], dtype=np.int64)
        fields = [copy.int8(block.host_id), copy.int8(block.service_id), copy.instant(block.start_s * 10**9)]
        fields += [copy.int8(layout_id), copy.int4(block.n), copy.int4_array(offsets)]
        rows.append(copy.row([*fields, copy.blob(b"".join(block.parts)), copy.text(kind.name)]))
    if rows:
        copy.copy_rows(transaction, "blocks", _COLUMNS, rows)


def ensure_days(transaction: WriteTransaction, table: str, first: datetime, last: datetime) -> None:
    """Make the partitions of days of a time table where one is missing: days may be older than the usual ones."""
    ensure_partitions(transaction, first, last, [entry for entry in TIME_TABLES if entry.name == table])


def stored_bytes(session: ReadSession, kind: BlockKind, host_ids: Sequence[int]) -> int:
    """Bytes of the blocks of hosts: bodies, rows with their directories, and places in the index."""
    statement = text(
        f"SELECT coalesce(sum(octet_length(body) + pg_column_size(t.*) + {_INDEX_BYTES}), 0)::bigint FROM blocks,"  # noqa: S608
        " LATERAL (SELECT blocks.host_id, service_id, ts, layout_id, n, offsets, blocks.kind) AS t"
        " WHERE blocks.kind = :kind AND blocks.host_id = ANY(:hosts)"
    )
    return int(session.execute(statement, {"kind": kind.name, "hosts": list(host_ids)}).scalar_one())


def stored_days(session: ReadSession, kind: BlockKind, days: Days) -> dict[datetime, tuple[int, int]]:
    """The starts of stretches with blocks, each with what tells them from those of another moment."""
    query = (
        "SELECT ts, count(*), bit_xor(hashint8(host_id)::bigint * 31 + hashint8(service_id) + n)"  # noqa: S608
        f" FROM blocks WHERE {days.condition(kind)} GROUP BY ts ORDER BY ts"
    )
    return {row[0]: (int(row[1]), int(row[2])) for row in session.execute(text(query))}


def read_beside(
    session: ReadSession,
    kind: BlockKind,
    days: Days,
    read_rows: Callable[[], Rows],
    read_packed: Callable[[], list[Packed]],
) -> tuple[Rows, list[Packed]]:
    """What rows say and what blocks say, at one moment, though a worker may pack or unpack days between two reads.

    Raises:
        Unavailable: days are packed faster than they can be read.
    """
    for _ in range(_TRIES):
        before = stored_days(session, kind, days)
        packed = read_packed() if before else []
        rows = read_rows()
        if stored_days(session, kind, days) == before:
            return rows, packed
    raise Unavailable("days are being packed right now", retry_after_seconds=1)


def read_blocks(session: ReadSession, kind: BlockKind, days: Days, names: Names = None) -> list[Block]:
    """Blocks by host, service and time: with all their parts, or with their heads and those of these names.

    Names are given, or are those for which `names` answers something; each block tells which of them it has, in its
    own order.
    """
    where = f"FROM blocks WHERE {days.condition(kind)}"
    blocks = []
    if names is None:
        heads = f"{', '.join(_HEADS)}, layout_id, offsets, body"
        stored = list(copy_out(session, f"SELECT {heads} {where} ORDER BY host_id, service_id, ts, layout_id"))
        layouts = _names_of(session, {parse_int(row[4]) or 0 for row in stored})
        for *numbers, offsets, body in stored:
            host, start, service, n, layout_id = (parse_int(number) or 0 for number in numbers)
            parts = tuple((body or b"")[at:end] for at, end in pairwise(parse_small_array(offsets)))
            blocks.append(Block(host, start, service, n, layouts[layout_id], parts))
        return blocks
    found = session.execute(text(f"SELECT DISTINCT layout_id {where}")).scalars()
    wanted = names if callable(names) else frozenset(names).__contains__
    for layout_id, held in sorted(_names_of(session, set(map(int, found))).items()):
        places = [place for place, name in enumerate(held) if wanted(name)]
        at = [*range(kind.heads), *(kind.heads + place for place in places)]
        blocks += _read_parts(session, f"{where} AND layout_id = {layout_id}", at, tuple(held[i] for i in places))
    return sorted(blocks, key=lambda block: (block.host_id, block.service_id, block.start_s))


def _names_of(session: ReadSession, layout_ids: set[int]) -> dict[int, tuple[str, ...]]:
    return dict.fromkeys(layout_ids & {_NO_NAMES}, ()) | read_layouts(session, layout_ids - {_NO_NAMES})


def _read_parts(session: ReadSession, where: str, places: Sequence[int], names: tuple[str, ...]) -> list[Block]:
    """Blocks of one layout with the parts at these places alone, in the order given.

    The server joins what it cuts out by part, so that one row is sent for all blocks.
    """
    joined = [_JOIN_NUMBERS.format(head) for head in _HEADS]
    for place in places:
        length = f"offsets[{place + 2}] - offsets[{place + 1}]"
        joined.append(_JOIN_NUMBERS.format(f"({length})::bigint"))
        joined.append(_JOIN_BYTES.format(f"substring(body FROM offsets[{place + 1}] + 1 FOR {length})"))
    query = f"SELECT {', '.join(joined)} FROM (SELECT * {where} ORDER BY host_id, service_id, ts) AS d"  # noqa: S608
    fields = next(copy_out(session, query))
    heads = [np.frombuffer(field or b"", ">i8").tolist() for field in fields[: len(_HEADS)]]
    columns = []
    for lengths, body in zip(fields[len(_HEADS) :: 2], fields[len(_HEADS) + 1 :: 2], strict=True):
        ends = np.cumsum([0, *np.frombuffer(lengths or b"", ">i8").tolist()]).tolist()
        columns.append([(body or b"")[start:end] for start, end in pairwise(ends)])
    parts = zip(*columns, strict=True) if columns else [()] * len(heads[0])
    return [
        Block(host, start, service, n, names, cut)
        for (host, start, service, n), cut in zip(zip(*heads, strict=True), parts, strict=True)
    ]


def start_seconds(start: datetime) -> int:
    """The start of a stretch as a block has it."""
    return round((start - EPOCH).total_seconds())
