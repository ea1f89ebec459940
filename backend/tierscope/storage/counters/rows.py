"""Counters as stored: live rows, packed hours, and the samples of a window from both."""

from collections.abc import Sequence
from datetime import datetime
from typing import cast

import numpy as np
import zstandard
from sqlalchemy import text

from tierscope.core.database import ReadSession, WriteTransaction
from tierscope.domain.counters.packing import NO_BOOTTIME, Block, empty_block, join_blocks, pack_block, unpack_block
from tierscope.storage.base import copy
from tierscope.storage.base.binary import MISSING, copy_out, from_us, parse_int, parse_int8_array, parse_us, to_us
from tierscope.storage.counters.schemas import ensure_layout, read_layouts

ZSTD_LEVEL = 3
_LIVE = (
    "SELECT ts, layout_id, boot_ref, boottime_ns, flags, array_replace(vals, NULL, {missing})"
    " FROM counters_live WHERE host_id = {host} AND ts > '{start}' AND ts <= '{end}' ORDER BY ts"
)


def read_live(session: ReadSession, host_id: int, start: datetime, end: datetime) -> Block:
    """Live samples of (start, end], over the union of their layouts' keys."""
    query = _LIVE.format(missing=f"({MISSING + 1} - 1)::bigint", host=int(host_id), start=_iso(start), end=_iso(end))
    by_layout: dict[int, list[list[bytes | None]]] = {}
    for row in copy_out(session, query):
        layout_id = parse_int(row[1])
        assert layout_id is not None
        by_layout.setdefault(layout_id, []).append(row)
    keys = read_layouts(session, by_layout)
    return join_blocks([_to_block(rows, keys[layout_id]) for layout_id, rows in by_layout.items() if layout_id in keys])


def _to_block(rows: Sequence[Sequence[bytes | None]], keys: Sequence[str]) -> Block:
    raw = np.stack([parse_int8_array(row[5]) for row in rows])
    present = raw != MISSING
    return Block(
        np.array([parse_us(row[0]) for row in rows], np.int64),
        np.array([parse_int(row[2]) for row in rows], np.int64),
        np.array([NO_BOOTTIME if row[3] is None else parse_int(row[3]) for row in rows], np.int64),
        np.array([parse_int(row[4]) for row in rows], np.int64),
        tuple(keys),
        np.where(present, raw, 0),
        present,
    )


def read_live_keys(
    session: ReadSession, host_id: int, keys: Sequence[str], layout_ids: Sequence[int], start: datetime, end: datetime
) -> Block:
    """Live samples of (start, end] of some keys alone: the server picks the places, so that little is sent.

    As one array, because the columns of a statement are fewer than the counters of a large host.
    """
    layouts = read_layouts(session, layout_ids)
    blocks = []
    for layout_id, names in layouts.items():
        place = {name: i for i, name in enumerate(names)}
        held = [key for key in keys if key in place]
        if not held:
            continue
        picks = ", ".join(f"vals[{place[key] + 1}]" for key in held)
        statement = text(
            f"SELECT ts, boot_ref, boottime_ns, flags, ARRAY[{picks}] FROM counters_live"  # noqa: S608 - integers alone
            " WHERE host_id = :host AND layout_id = :layout AND ts > :start AND ts <= :end ORDER BY ts"
        )
        values = {"host": host_id, "layout": layout_id, "start": start, "end": end}
        rows = session.execute(statement, values).all()
        if rows:
            blocks.append(_picked(rows, held))
    return join_blocks(blocks) if blocks else empty_block(keys)


def _picked(rows: Sequence[Sequence[object]], held: Sequence[str]) -> Block:
    cells = [cast("list[int | None]", row[4]) for row in rows]
    present = np.array([[cell is not None for cell in row] for row in cells], bool)
    values = np.array([[cell or 0 for cell in row] for row in cells], np.int64)
    return Block(
        np.array([to_us(row[0]) for row in rows], np.int64),  # type: ignore[arg-type]
        np.array([row[1] for row in rows], np.int64),
        np.array([NO_BOOTTIME if row[2] is None else row[2] for row in rows], np.int64),
        np.array([row[3] for row in rows], np.int64),
        tuple(held),
        values,
        present,
    )


def read_packed(session: ReadSession, host_id: int, start: datetime, end: datetime) -> list[Block]:
    """Packed hours that touch (start, end], each a whole hour."""
    statement = text(
        "SELECT ts, layout_id, body FROM counters_packed"
        " WHERE host_id = :host AND ts > CAST(:start AS timestamptz) - interval '1 hour' AND ts < :end ORDER BY ts"
    )
    rows = session.execute(statement, {"host": host_id, "start": start, "end": end}).all()
    keys = read_layouts(session, {row.layout_id for row in rows})
    inflate = zstandard.ZstdDecompressor()
    return [unpack_block(inflate.decompress(bytes(row.body)), keys[row.layout_id]) for row in rows]


def read_block(session: ReadSession, host_id: int, start: datetime, end: datetime) -> Block:
    """All samples of (start, end]: packed hours first, live rows over them."""
    parts = [*read_packed(session, host_id, start, end), read_live(session, host_id, start, end)]
    block = join_blocks(parts)
    lo, hi = to_us(start), to_us(end)
    inside = (block.times_us > lo) & (block.times_us <= hi)
    return block if inside.all() else block.rows(inside)


def find_before(session: ReadSession, host_id: int, at: datetime) -> datetime | None:
    """The newest sample at or before `at`, within a day: what the first difference after it needs."""
    statement = text(
        "SELECT max(ts) FROM counters_live WHERE host_id = :host AND ts <= :at"
        " AND ts > CAST(:at AS timestamptz) - interval '1 day'"
    )
    found: datetime | None = session.execute(statement, {"host": host_id, "at": at}).scalar_one()
    if found is not None:
        return found
    statement = text(
        "SELECT max(ts) FROM counters_packed WHERE host_id = :host AND ts < :at"
        " AND ts > CAST(:at AS timestamptz) - interval '1 day'"
    )
    hour: datetime | None = session.execute(statement, {"host": host_id, "at": at}).scalar_one()
    if hour is None:
        return None
    blocks = [block for block in read_packed(session, host_id, hour, at) if len(block)]
    times = [int(t) for block in blocks for t in block.times_us if t <= to_us(at)]
    return from_us(max(times)) if times else None


def find_after(session: ReadSession, host_id: int, at: datetime) -> datetime | None:
    """The oldest sample after `at`, within a day: whose difference ends on what comes before it."""
    statement = text(
        "SELECT min(ts) FROM counters_live WHERE host_id = :host AND ts > :at"
        " AND ts <= CAST(:at AS timestamptz) + interval '1 day'"
    )
    found: datetime | None = session.execute(statement, {"host": host_id, "at": at}).scalar_one()
    return found


def replace_packed(transaction: WriteTransaction, host_id: int, hours: Sequence[tuple[datetime, Block]]) -> None:
    """Store packed hours in place of what was there."""
    if not hours:
        return
    statement = text("DELETE FROM counters_packed WHERE host_id = :host AND ts = ANY(CAST(:hours AS timestamptz[]))")
    transaction.execute(statement, {"host": host_id, "hours": [hour for hour, _ in hours]})
    deflate = zstandard.ZstdCompressor(level=ZSTD_LEVEL)
    rows = []
    known: dict[tuple[str, ...], int] = {}
    for hour, block in hours:
        if block.keys not in known:
            known[block.keys] = ensure_layout(transaction, block.keys)
        body = deflate.compress(pack_block(block))
        fields = (copy.int8(host_id), copy.instant(to_us(hour) * 1000), copy.int8(known[block.keys]))
        rows.append(copy.row([*fields, copy.int4(len(block)), copy.blob(body)]))
    copy.copy_rows(transaction, "counters_packed", ("host_id", "ts", "layout_id", "n", "body"), rows)


def _iso(at: datetime) -> str:
    return at.isoformat()
