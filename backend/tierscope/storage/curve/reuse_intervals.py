"""Reuse gaps as stored: one row per block of intervals of a service on a host."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
import numpy.typing as npt

from tierscope.core.database import ReadSession
from tierscope.domain.curve.reaccess import LENGTHS
from tierscope.domain.heat.rows import KINDS, Method
from tierscope.storage.base.binary import copy_out, parse_int, parse_int8_array, parse_small_array, parse_us

Ints = npt.NDArray[np.int64]
_COLUMNS = (
    "host_id, ts, backend, granularity, interval_ns, intervals, kinds, closed_bytes, freed_bytes, open_bytes, "
    "censored_bytes, groups"
)


@dataclass(frozen=True, slots=True)
class GapBlock:
    """One block. Arrays [groups, 63]: bytes by length of gap; `open` is the state at the block's end."""

    host_id: int
    end_us: int
    method: Method
    intervals: int
    kinds: tuple[str, ...]
    closed: Ints
    freed: Ints
    open: Ints
    censored: Ints


def read_gaps(
    session: ReadSession, service_id: int, start: datetime, end: datetime, host_ids: Sequence[int]
) -> list[GapBlock]:
    """Blocks that end in (start, end], by host and time. A block may lie in several rows; repeats are dropped."""
    hosts = ", ".join(str(int(host)) for host in host_ids) or "NULL"
    query = (
        f"SELECT {_COLUMNS} FROM gaps WHERE service_id = {int(service_id)} AND host_id IN ({hosts})"  # noqa: S608
        f" AND ts > '{start.isoformat()}' AND ts <= '{end.isoformat()}' ORDER BY host_id, ts"
    )
    found: dict[tuple[object, ...], GapBlock] = {}
    for row in copy_out(session, query):
        block = _block(row)
        found.setdefault((block.host_id, block.end_us, block.method, block.kinds, row[11]), block)
    return list(found.values())


def _block(row: Sequence[bytes | None]) -> GapBlock:
    kinds = tuple(KINDS[kind] for kind in parse_small_array(row[6]))
    shape = (len(kinds), LENGTHS)
    closed, freed, open_ = (parse_int8_array(field).reshape(shape) for field in row[7:10])
    censored = np.zeros(shape, np.int64) if row[10] is None else parse_int8_array(row[10]).reshape(shape)
    return GapBlock(
        host_id=parse_int(row[0]) or 0,
        end_us=parse_us(row[1]),
        method=Method(parse_int(row[2]) or 0, parse_int(row[3]) or 0, parse_int(row[4]) or 0),
        intervals=parse_int(row[5]) or 0,
        kinds=kinds,
        closed=closed,
        freed=freed,
        open=open_,
        censored=censored,
    )
