"""Rolled-up counters as stored: rows of metrics_10m, metrics_1h and metrics_1d, and the blocks that they move into.

A block's first part is when its buckets start, in seconds after its own start; then each key has a part with first,
last, min, max, sum and n of its buckets, n missing where it is 0. Rows that were rolled up anew since stand beside a
block until it is packed again, and count instead of what it says of their buckets.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Literal

import numpy as np

from tierscope.core.database import ReadSession, WriteTransaction
from tierscope.domain.base.blocks import pack_floats, pack_ints, unpack_floats, unpack_ints
from tierscope.domain.base.buckets import floor_to
from tierscope.domain.counters.rollups import STATISTICS, Rollup, widen
from tierscope.storage.base import copy
from tierscope.storage.base.binary import (
    copy_out,
    from_us,
    parse_float8_array,
    parse_int,
    parse_small_array,
    parse_us,
    to_us,
)
from tierscope.storage.base.blocks import Block, Contents, Days, Packing, read_blocks
from tierscope.storage.base.bucket_rows import delete_buckets
from tierscope.storage.base.layouts import ensure_layout, read_layouts
from tierscope.storage.tables import BlockKind
from tierscope.storage.tables.time import metrics_1d_months, metrics_1h_days, metrics_10m_days

MetricsTable = Literal["metrics_10m", "metrics_1h", "metrics_1d"]
BLOCKS: Mapping[MetricsTable, BlockKind] = {
    "metrics_10m": metrics_10m_days,
    "metrics_1h": metrics_1h_days,
    "metrics_1d": metrics_1d_months,
}

_COLUMNS = ("host_id", "ts", "keys_layout_id", *STATISTICS, "n")
_READ = ", ".join(_COLUMNS[1:])


def replace_metrics(transaction: WriteTransaction, table: MetricsTable, rollups: Mapping[int, Rollup]) -> None:
    """Store buckets of hosts in place of what was there for the same starts."""
    buckets = [(host_id, from_us(start)) for host_id, rollup in rollups.items() for start in rollup.starts_us]
    if not buckets:
        return
    delete_buckets(transaction, table, 0, buckets)
    layout_ids: dict[tuple[str, ...], int] = {}
    rows = []
    for host_id, rollup in rollups.items():
        if len(rollup) and rollup.keys not in layout_ids:
            layout_ids[rollup.keys] = ensure_layout(transaction, rollup.keys)
        for i, start in enumerate(rollup.starts_us.tolist()):
            fields = [copy.int8(host_id), copy.instant(start * 1000), copy.int8(layout_ids[rollup.keys])]
            fields += [copy.float8_array(getattr(rollup, name)[i]) for name in STATISTICS]
            rows.append(copy.row([*fields, copy.int4_array(rollup.n[i])]))
    copy.copy_rows(transaction, table, _COLUMNS, rows)


def read_metrics(
    session: ReadSession,
    table: MetricsTable,
    host_id: int,
    starts: tuple[datetime, datetime],
    keys: Sequence[str] | None,
) -> Rollup:
    """Buckets that start in [starts[0], starts[1]); all keys, or those of `keys` that are there."""
    # Rows first: packing may move them into a block between the two reads, never out of one.
    query = f"SELECT {_READ} FROM {table} WHERE {_between(host_id, starts)}"  # noqa: S608 - a number and times
    rows = _read_rows(session, query, keys)
    packed = [rollup for _, rollup in read_rollup_blocks(session, table, [host_id], starts, keys)]
    return widen([*packed, *rows])


def read_rollup_blocks(
    session: ReadSession,
    table: MetricsTable,
    host_ids: Sequence[int],
    starts: tuple[datetime, datetime],
    keys: Sequence[str] | Callable[[str], object] | None,
) -> list[tuple[int, Rollup]]:
    """What is packed of hosts' buckets that start in [starts[0], starts[1]), a rollup for each block that has some.

    Of all keys, of those of `keys` that a block has, or of those for which `keys` answers something; a block with none
    of them is left out.
    """
    low, high = to_us(starts[0]), to_us(starts[1])
    days = Days(floor_to(starts[0], BLOCKS[table].width), starts[1], host_ids)
    found = []
    for block in read_blocks(session, BLOCKS[table], days, keys):
        rollup = _unpack(block)
        inside = (rollup.starts_us >= low) & (rollup.starts_us < high)
        if rollup.keys and inside.any():
            found.append((block.host_id, rollup if inside.all() else rollup.rows(inside)))
    return found


def _unpack(block: Block) -> Rollup:
    offsets, *parts = block.parts
    starts_us = (unpack_ints(offsets, block.n)[0][0] + block.start_s) * 1_000_000
    columns = np.zeros((len(STATISTICS) + 1, block.n, len(parts)))
    for key, part in enumerate(parts):
        columns[:, :, key] = unpack_floats(part, block.n)
    statistics = dict(zip(STATISTICS, columns, strict=False))
    return Rollup(starts_us=starts_us, keys=block.names, n=np.nan_to_num(columns[-1]).astype(np.int64), **statistics)


def _pack(width_s: int, rollup: Rollup) -> Contents:
    n = np.where(rollup.n > 0, rollup.n.astype(np.float64), np.nan)
    columns = np.stack([*(getattr(rollup, name) for name in STATISTICS), n])
    offsets_s = rollup.starts_us // 1_000_000 % width_s
    parts = (pack_ints(offsets_s[None]), *(pack_floats(columns[:, :, key]) for key in range(len(rollup.keys))))
    return 0, len(rollup), rollup.keys, parts


def _join(packed: Sequence[Rollup], rows: Sequence[Rollup]) -> Iterable[Rollup]:
    yield widen([*packed, *rows])


def _take(table: MetricsTable, transaction: WriteTransaction, host_id: int, start: datetime) -> list[Rollup]:
    # Rows that another process commits meanwhile stay rows, and are packed the next time.
    where = _between(host_id, (start, start + BLOCKS[table].width))
    return _read_rows(transaction, f"DELETE FROM {table} WHERE {where} RETURNING {_READ}", None)  # noqa: S608


ROLLUPS = {
    table: Packing(kind, partial(_take, table), _join, partial(_pack, kind.width // timedelta(seconds=1)), _unpack)
    for table, kind in BLOCKS.items()
}


def _between(host_id: int, starts: tuple[datetime, datetime]) -> str:
    low, high = (start.isoformat() for start in starts)
    return f"host_id = {int(host_id)} AND ts >= '{low}' AND ts < '{high}'"


def _read_rows(session: ReadSession, query: str, keys: Sequence[str] | None) -> list[Rollup]:
    """Rows of `_READ`, a rollup for each layout that has any of the keys."""
    by_layout: dict[int, list[list[bytes | None]]] = {}
    for row in copy_out(session, query):
        layout_id = parse_int(row[1])
        assert layout_id is not None
        by_layout.setdefault(layout_id, []).append(row)
    names = read_layouts(session, by_layout)
    found = [_to_rollup(rows, names[layout_id], keys) for layout_id, rows in by_layout.items()]
    return [rollup for rollup in found if rollup.keys]


def _to_rollup(rows: Sequence[Sequence[bytes | None]], names: Sequence[str], keys: Sequence[str] | None) -> Rollup:
    wanted = None if keys is None else set(keys)
    picks = [i for i, name in enumerate(names) if wanted is None or name in wanted]
    first, last, low, high, total = (
        np.stack([parse_float8_array(row[2 + place])[picks] for row in rows]) for place in range(len(STATISTICS))
    )
    return Rollup(
        starts_us=np.array([parse_us(row[0]) for row in rows], np.int64),
        keys=tuple(names[i] for i in picks),
        first=first,
        last=last,
        min=low,
        max=high,
        sum=total,
        n=np.stack([np.array(parse_small_array(row[7]), np.int64)[picks] for row in rows]),
    )
