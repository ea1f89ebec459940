"""Reuse gaps as stored: one row per block of intervals of a service on a host, and days past as packed blocks.

What comes for a packed day (`gap_days`) is stored as rows beside it, and joined with it when the day is packed again.

Parts of a packed day, in the order of `PARTS`. Those up to `groups` have a row for each block of intervals; those after
it have one for each process group and page kind in it. Bytes by length of gap are 63 columns of one part. `words` are
the texts that `group` points into.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import chain

import numpy as np
import numpy.typing as npt

from tierscope.core.clock import utc_now
from tierscope.core.database import ReadSession, WriteTransaction
from tierscope.domain.base.blocks import pack_ints, pack_words, unpack_ints, unpack_words
from tierscope.domain.base.buckets import day_of
from tierscope.domain.base.jobs import GAP_DAYS
from tierscope.domain.curve.reaccess import LENGTHS
from tierscope.domain.heat.rows import KINDS, Method
from tierscope.storage.base.binary import (
    copy_out,
    parse_int,
    parse_int8_array,
    parse_small_array,
    parse_text_array,
    parse_us,
    to_us,
)
from tierscope.storage.base.blocks import Block, Contents, Days, Packing, read_blocks
from tierscope.storage.tables.time import gap_days

Ints = npt.NDArray[np.int64]
PARTS = (
    "ts_us",
    "backend",
    "granularity",
    "interval_ns",
    "intervals",
    "groups",
    "words",
    "group",
    "kind",
    "closed_bytes",
    "freed_bytes",
    "open_bytes",
    "censored_bytes",
)
_COLUMNS = (
    "host_id, ts, backend, granularity, interval_ns, intervals, kinds, closed_bytes, freed_bytes, open_bytes, "
    "censored_bytes, groups, service_id"
)
_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class GapBlock:
    """One block of intervals of a service on a host.

    Arrays [groups, 63]: bytes by length of gap; `open` is the state at the block's end. `censored` are zeros where the
    agent does not tell them.
    """

    host_id: int
    service_id: int
    end_us: int
    method: Method
    intervals: int
    groups: tuple[str, ...]
    kinds: tuple[str, ...]
    closed: Ints
    freed: Ints
    open: Ints
    censored: Ints
    tells_censored: bool

    def same_as(self) -> tuple[object, ...]:
        """What two rows of one block have alike."""
        return self.host_id, self.service_id, self.end_us, self.method, self.kinds, self.groups


def read_gaps(
    session: ReadSession, service_id: int, start: datetime, end: datetime, host_ids: Sequence[int]
) -> list[GapBlock]:
    """Blocks that end in (start, end], by host and time. A block may lie in several rows; repeats are dropped."""
    hosts = ", ".join(str(int(host)) for host in host_ids) or "NULL"
    query = (
        f"SELECT {_COLUMNS} FROM gaps WHERE service_id = {int(service_id)} AND host_id IN ({hosts})"  # noqa: S608
        f" AND ts > '{start.isoformat()}' AND ts <= '{end.isoformat()}' ORDER BY host_id, ts"
    )

    # Rows first: packing may move them into a block between the two reads, never out of one.
    rows = [_of_row(row) for row in copy_out(session, query)]
    if start >= utc_now() - GAP_DAYS.wait:
        return _once(rows)
    days = Days(day_of(start), end, host_ids, service_id)
    packed = chain.from_iterable(_unpack(block) for block in read_blocks(session, gap_days, days))
    inside = [block for block in packed if to_us(start) < block.end_us <= to_us(end)]
    return _once(sorted([*inside, *rows], key=lambda block: (block.host_id, block.end_us)))


def _once(blocks: Iterable[GapBlock]) -> list[GapBlock]:
    """Without repeats: the first of them stays."""
    found: dict[tuple[object, ...], GapBlock] = {}
    for block in blocks:
        found.setdefault(block.same_as(), block)
    return list(found.values())


def _of_row(row: Sequence[bytes | None]) -> GapBlock:
    kinds = tuple(KINDS[kind] for kind in parse_small_array(row[6]))
    shape = (len(kinds), LENGTHS)
    closed, freed, open_ = (parse_int8_array(field).reshape(shape) for field in row[7:10])
    return GapBlock(
        host_id=parse_int(row[0]) or 0,
        service_id=parse_int(row[12]) or 0,
        end_us=parse_us(row[1]),
        method=Method(parse_int(row[2]) or 0, parse_int(row[3]) or 0, parse_int(row[4]) or 0),
        intervals=parse_int(row[5]) or 0,
        groups=tuple(parse_text_array(row[11])),
        kinds=kinds,
        closed=closed,
        freed=freed,
        open=open_,
        censored=np.zeros(shape, np.int64) if row[10] is None else parse_int8_array(row[10]).reshape(shape),
        tells_censored=row[10] is not None,
    )


def _take(transaction: WriteTransaction, host_id: int, day: datetime) -> list[list[GapBlock]]:
    # Deleted and read in one statement: rows that come meanwhile stay, with a mark of their own.
    query = (
        f"DELETE FROM gaps WHERE host_id = {int(host_id)} AND ts > '{day.isoformat()}'"  # noqa: S608
        f" AND ts <= '{(day + _DAY).isoformat()}' RETURNING {_COLUMNS}"
    )
    rows = [_of_row(row) for row in copy_out(transaction, query)]
    return [rows] if rows else []


def _join(packed: Sequence[Sequence[GapBlock]], rows: Sequence[Sequence[GapBlock]]) -> list[list[GapBlock]]:
    by_service: dict[int, list[GapBlock]] = {}
    for block in sorted(chain(*packed, *rows), key=lambda block: block.end_us):
        by_service.setdefault(block.service_id, []).append(block)
    return [_once(blocks) for _, blocks in sorted(by_service.items())]


def _pack(blocks: Sequence[GapBlock]) -> Contents:
    words = sorted({group for block in blocks for group in block.groups})
    place = {word: at for at, word in enumerate(words)}
    told = np.repeat([block.tells_censored for block in blocks], [len(block.groups) for block in blocks])

    def column(values: Iterable[int]) -> bytes:
        return pack_ints(np.array([list(values)], np.int64))

    def lengths(name: str, present: npt.NDArray[np.bool_] | None = None) -> bytes:
        table = np.concatenate([getattr(block, name) for block in blocks]).T
        return pack_ints(table, None if present is None else np.broadcast_to(present, table.shape))

    parts = (
        column(block.end_us for block in blocks),
        column(block.method.backend for block in blocks),
        column(block.method.granularity for block in blocks),
        column(block.method.interval_ns for block in blocks),
        column(block.intervals for block in blocks),
        column(len(block.groups) for block in blocks),
        pack_words(words),
        column(place[group] for block in blocks for group in block.groups),
        column(KINDS.index(kind) for block in blocks for kind in block.kinds),
        lengths("closed"),
        lengths("freed"),
        lengths("open"),
        lengths("censored", told),
    )
    return blocks[0].service_id, len(blocks), (), parts


def _unpack(block: Block) -> list[GapBlock]:
    part = dict(zip(PARTS, block.parts, strict=True))
    heads = [unpack_ints(part[name], block.n)[0][0].tolist() for name in PARTS[:6]]
    ends = np.cumsum([0, *heads[5]]).tolist()
    words = unpack_words(part["words"])
    group, kind = (unpack_ints(part[name], ends[-1])[0][0].tolist() for name in ("group", "kind"))
    closed, freed, open_ = (unpack_ints(part[name], ends[-1])[0].T for name in PARTS[9:12])
    censored, told = unpack_ints(part["censored_bytes"], ends[-1])
    found = []
    for row, (end_us, backend, granularity, interval_ns, intervals, _) in enumerate(zip(*heads, strict=True)):
        of = slice(ends[row], ends[row + 1])
        found.append(
            GapBlock(
                host_id=block.host_id,
                service_id=block.service_id,
                end_us=end_us,
                method=Method(backend, granularity, interval_ns),
                intervals=intervals,
                groups=tuple(words[at] for at in group[of]),
                kinds=tuple(KINDS[at] for at in kind[of]),
                closed=closed[of],
                freed=freed[of],
                open=open_[of],
                censored=censored.T[of],
                tells_censored=bool(told.T[of].all()),
            )
        )
    return found


GAPS = Packing(gap_days, _take, _join, _pack, _unpack)
