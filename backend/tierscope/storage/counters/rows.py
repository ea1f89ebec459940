"""Counters as stored: live rows, packed hours, and the samples of a window from both.

Live rows are whole from some moment on; older samples are in packs, and live rows beside them came late.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import cast

import numpy as np
from sqlalchemy import text

from tierscope.core.database import ReadSession, WriteTransaction
from tierscope.domain.base.buckets import HOUR_US, bucket_start
from tierscope.domain.base.jobs import COUNTERS_PACK
from tierscope.domain.counters.packing import (
    NO_BOOTTIME,
    Block,
    Bools,
    empty_block,
    join_blocks,
    pack_block,
    unpack_block,
)
from tierscope.storage.base import copy
from tierscope.storage.base.binary import MISSING, copy_out, from_us, parse_int, parse_int8_array, parse_us, to_us
from tierscope.storage.base.layouts import ensure_layout, read_layouts
from tierscope.storage.base.live_rows import live_from

_HOUR = timedelta(hours=1)
_DAY = timedelta(days=1)
_LIVE = (
    "SELECT h.id, s.* FROM (VALUES {hosts}) AS h (id, since) CROSS JOIN LATERAL"
    " (SELECT ts, layout_id, boot_ref, boottime_ns, flags, array_replace(vals, NULL, {missing}) FROM counters_live"
    " WHERE host_id = h.id AND ts > h.since AND ts > '{first}' AND ts <= '{end}' ORDER BY ts, ctid) AS s"
)


def read_parts(session: ReadSession, host_id: int, start: datetime, end: datetime) -> list[Block]:
    """All samples of (start, end], those of each layout in a block of its keys; no time twice.

    Of samples with one time the last stored counts: live rows before packs.
    """
    return _read_parts(session, {host_id: start}, end)[host_id]


def _read_parts(session: ReadSession, since: Mapping[int, datetime], end: datetime) -> dict[int, list[Block]]:
    """The same of many hosts, each from a moment of its own on."""
    edge = live_from(session, "counters_live")
    found = _live_parts(session, since, end)
    for host_id, start in since.items():
        if edge is not None and start < edge:
            _add_packed(session, host_id, found[host_id], start, end)
    return found


def _add_packed(session: ReadSession, host_id: int, parts: list[Block], start: datetime, end: datetime) -> None:
    taken = np.concatenate([np.zeros(0, np.int64), *(part.times_us for part in parts)])
    for packed in reversed(read_packed(session, host_id, start, end)):
        inside = _inside(packed, start, end) & ~np.isin(packed.times_us, taken)
        if inside.any():
            part = packed if inside.all() else packed.rows(inside)
            parts.append(part)
            taken = np.concatenate([taken, part.times_us])


def read_block(session: ReadSession, host_id: int, start: datetime, end: datetime) -> Block:
    """All samples of (start, end], over the union of their layouts' keys."""
    return read_blocks(session, {host_id: start}, end)[host_id]


def read_blocks(session: ReadSession, since: Mapping[int, datetime], end: datetime) -> dict[int, Block]:
    """The same of many hosts, each from a moment of its own on."""
    return {host: join_blocks(parts) for host, parts in _read_parts(session, since, end).items()}


def _live_parts(session: ReadSession, since: Mapping[int, datetime], end: datetime) -> dict[int, list[Block]]:
    if not since:
        return {}
    hosts = ", ".join(f"({int(host)}::bigint, '{_iso(start)}'::timestamptz)" for host, start in since.items())
    missing = f"({MISSING + 1} - 1)::bigint"
    query = _LIVE.format(missing=missing, hosts=hosts, first=_iso(min(since.values())), end=_iso(end))
    last = {(bytes(row[0] or b""), bytes(row[1] or b"")): row[1:] for row in copy_out(session, query)}
    by_layout: dict[int, dict[int, list[list[bytes | None]]]] = {host: {} for host in since}
    for (host, _), row in last.items():
        by_layout[parse_int(host) or 0].setdefault(parse_int(row[1]) or 0, []).append(row)
    keys = read_layouts(session, {layout_id for rows in by_layout.values() for layout_id in rows})
    return {
        host: [_to_block(some, keys[layout_id]) for layout_id, some in rows.items() if layout_id in keys]
        for host, rows in by_layout.items()
    }


def _inside(block: Block, start: datetime, end: datetime) -> Bools:
    return (block.times_us > to_us(start)) & (block.times_us <= to_us(end))


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


def read_keys(
    session: ReadSession, host_id: int, keys: Sequence[str], layout_ids: Sequence[int], start: datetime, end: datetime
) -> Block:
    """Samples of (start, end] of some keys alone, of those layouts that hold any of them.

    The server picks the places in live rows, so that little is sent: as one array, because the columns of a statement
    are fewer than the counters of a large host.
    """
    edge = live_from(session, "counters_live")
    layouts = read_layouts(session, layout_ids)
    blocks = [] if edge is None or start >= edge else _packed_keys(session, host_id, keys, layouts, (start, end))
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


def _packed_keys(
    session: ReadSession,
    host_id: int,
    keys: Sequence[str],
    layouts: Mapping[int, Sequence[str]],
    span: tuple[datetime, datetime],
) -> list[Block]:
    """The same from packs, in the order of `keys`."""
    found = []
    for layout_id, body in _packed_bodies(session, host_id, *span):
        held = [key for key in keys if key in set(layouts.get(layout_id, ()))]
        if not held:
            continue
        block = unpack_block(body, layouts[layout_id], set(held))
        inside = _inside(block, *span)
        if inside.any():
            places = [block.keys.index(key) for key in held]
            block = block.rows(inside)
            found.append(
                replace(block, keys=tuple(held), values=block.values[:, places], present=block.present[:, places])
            )
    return found


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


def _packed_bodies(session: ReadSession, host_id: int, start: datetime, end: datetime) -> list[tuple[int, bytes]]:
    """Layout and body of packed hours that touch (start, end]."""
    statement = text(
        "SELECT layout_id, body FROM counters_packed"
        " WHERE host_id = :host AND ts > CAST(:start AS timestamptz) - interval '1 hour' AND ts < :end ORDER BY ts"
    )
    rows = session.execute(statement, {"host": host_id, "start": start, "end": end})
    return [(row.layout_id, bytes(row.body)) for row in rows]


def read_packed(session: ReadSession, host_id: int, start: datetime, end: datetime) -> list[Block]:
    """Packed hours that touch (start, end], each a whole hour of one layout."""
    found = _packed_bodies(session, host_id, start, end)
    keys = read_layouts(session, {layout_id for layout_id, _ in found})
    return [unpack_block(body, keys[layout_id]) for layout_id, body in found]


def packed_layouts(session: ReadSession, host_id: int, start: datetime, end: datetime) -> set[int]:
    """The layouts of the packed samples of (start, end]."""
    found: set[int] = set()
    statement = text(
        "SELECT ts, layout_id FROM counters_packed"
        " WHERE host_id = :host AND ts > CAST(:start AS timestamptz) - interval '1 hour' AND ts < :end"
    )
    edges = set()
    for row in session.execute(statement, {"host": host_id, "start": start, "end": end}):
        if row.ts >= start and row.ts + _HOUR <= end:
            found.add(row.layout_id)
        else:
            edges.add((row.ts, row.layout_id))
    for hour, layout_id in sorted(edges):
        if layout_id in found:
            continue
        names = read_layouts(session, [layout_id])[layout_id]
        bodies = [body for known, body in _packed_bodies(session, host_id, hour, hour + _HOUR) if known == layout_id]
        if any(_inside(unpack_block(body, names, ()), start, end).any() for body in bodies):
            found.add(layout_id)
    return found


def layouts_in(session: ReadSession, host_id: int, start: datetime, end: datetime) -> list[int]:
    """The layouts of a host's samples in (start, end]."""
    return layouts_in_each(session, [host_id], start, end)[host_id]


def layouts_in_each(
    session: ReadSession, host_ids: Sequence[int], start: datetime, end: datetime
) -> dict[int, list[int]]:
    """The same of each of these hosts."""
    edge = live_from(session, "counters_live")
    statement = text(
        "SELECT DISTINCT host_id, layout_id FROM counters_live"
        " WHERE host_id = ANY(:hosts) AND ts > :start AND ts <= :end"
    )
    found: dict[int, set[int]] = {host_id: set() for host_id in host_ids}
    for row in session.execute(statement, {"hosts": list(host_ids), "start": start, "end": end}):
        found[row.host_id].add(int(row.layout_id))
    if edge is not None and start < edge:
        for host_id in found:
            found[host_id] |= packed_layouts(session, host_id, start, end)
    return {host_id: sorted(layout_ids) for host_id, layout_ids in found.items()}


def find_before(session: ReadSession, host_ids: Sequence[int], at: datetime) -> dict[int, datetime]:
    """The newest sample of each host at or before `at`, within a day: what the first difference after it needs."""
    return _nearest(session, host_ids, at - _DAY, at, newest=True)


def find_after(session: ReadSession, host_ids: Sequence[int], at: datetime) -> dict[int, datetime]:
    """The oldest sample of each host after `at`, within a day: whose difference ends on what comes before it."""
    return _nearest(session, host_ids, at, at + _DAY, newest=False)


def _nearest(
    session: ReadSession, host_ids: Sequence[int], first: datetime, last: datetime, *, newest: bool
) -> dict[int, datetime]:
    """The newest or the oldest sample of each host in (first, last]; packs are opened where live rows leave room."""
    edge = live_from(session, "counters_live")
    statement = text(
        f"SELECT h.id, (SELECT {'max' if newest else 'min'}(ts) FROM counters_live WHERE host_id = h.id"  # noqa: S608
        " AND ts > :first AND ts <= :last) AS ts FROM unnest(CAST(:hosts AS bigint[])) AS h (id)"
    )
    rows = session.execute(statement, {"hosts": list(host_ids), "first": first, "last": last})
    found = {row.id: row.ts for row in rows if row.ts is not None}
    for host_id in host_ids:
        start, end = (found.get(host_id, first), last) if newest else (first, found.get(host_id, last))
        if edge is not None and start < edge:
            packed = _packed_times(session, host_id, start, end, newest=newest)
            found |= {} if packed is None else {host_id: packed}
    return found


def _packed_times(
    session: ReadSession, host_id: int, start: datetime, end: datetime, *, newest: bool
) -> datetime | None:
    """The newest or the oldest packed sample of (start, end]: hours are opened one by one until one has any."""
    statement = text(
        "SELECT DISTINCT ts FROM counters_packed WHERE host_id = :host"
        " AND ts > CAST(:start AS timestamptz) - interval '1 hour' AND ts < :end"
    )
    hours = session.execute(statement, {"host": host_id, "start": start, "end": end}).scalars().all()
    for hour in sorted(hours, reverse=newest):
        bodies = _packed_bodies(session, host_id, hour, hour + _HOUR)
        keys = read_layouts(session, {layout_id for layout_id, _ in bodies})
        blocks = [unpack_block(body, keys[layout_id], ()) for layout_id, body in bodies]
        times = [int(at) for block in blocks for at in block.times_us[_inside(block, start, end)]]
        if times:
            return from_us(max(times) if newest else min(times))
    return None


def hosts_packed_since(session: ReadSession, since: Mapping[int, datetime]) -> set[int]:
    """Those hosts of which packs hold samples that have left the live rows, from an hour before a moment of each on."""
    edge = live_from(session, "counters_live")
    older = {} if edge is None else {host: at for host, at in since.items() if at < edge}
    if not older:
        return set()
    statement = text(
        "SELECT h.id FROM unnest(CAST(:hosts AS bigint[]), CAST(:since AS timestamptz[])) AS h (id, since)"
        " WHERE EXISTS (SELECT FROM counters_packed WHERE host_id = h.id AND ts > h.since - interval '1 hour'"
        " AND ts < :edge)"
    )
    values = {"hosts": list(older), "since": list(older.values()), "edge": edge}
    return set(session.execute(statement, values).scalars())


def remove_packed(transaction: WriteTransaction, host_id: int, times_us: Sequence[int]) -> None:
    """Take samples that are no longer true out of the packs of a host."""
    # As the claim of a worker that packs: it must not write back what it read before.
    lock = text("SELECT pg_advisory_xact_lock(hashtextextended(:key, 7))")
    transaction.execute(lock, {"key": f"{COUNTERS_PACK.kind}:{host_id}:0"})
    hours = []
    for start_us in sorted({bucket_start(at, HOUR_US) for at in times_us}):
        hour = from_us(start_us)
        blocks = read_packed(transaction, host_id, hour, hour + _HOUR)
        kept = [block.rows(~np.isin(block.times_us, times_us)) for block in blocks]
        if sum(map(len, kept)) < sum(map(len, blocks)):
            hours.append((hour, [block for block in kept if len(block)]))
    replace_packed(transaction, host_id, hours)


def pack_hours(transaction: WriteTransaction, host_id: int, hours: Sequence[datetime]) -> None:
    """Pack closed hours of raw samples, exactly: what is packed already, and the rows that came since."""
    packed: list[tuple[datetime, list[Block]]] = []
    for hour in hours:
        by_keys: dict[tuple[str, ...], list[Block]] = {}
        for part in read_parts(transaction, host_id, hour, hour + _HOUR):
            by_keys.setdefault(part.keys, []).append(part)
        if by_keys:
            packed.append((hour, [join_blocks(by_keys[keys]) for keys in sorted(by_keys)]))
    replace_packed(transaction, host_id, packed)


def replace_packed(
    transaction: WriteTransaction, host_id: int, hours: Sequence[tuple[datetime, Sequence[Block]]]
) -> None:
    """Store packed hours, one row per layout, in place of what was there. An hour without samples loses its rows."""
    if not hours:
        return
    statement = text("DELETE FROM counters_packed WHERE host_id = :host AND ts = ANY(CAST(:hours AS timestamptz[]))")
    transaction.execute(statement, {"host": host_id, "hours": [hour for hour, _ in hours]})
    rows = []
    known: dict[tuple[str, ...], int] = {}
    for hour, blocks in hours:
        for block in blocks:
            if block.keys not in known:
                known[block.keys] = ensure_layout(transaction, block.keys)
            fields = (copy.int8(host_id), copy.instant(to_us(hour) * 1000), copy.int8(known[block.keys]))
            rows.append(copy.row([*fields, copy.int4(len(block)), copy.blob(pack_block(block))]))
    copy.copy_rows(transaction, "counters_packed", ("host_id", "ts", "layout_id", "n", "body"), rows)


def _iso(at: datetime) -> str:
    return at.isoformat()
