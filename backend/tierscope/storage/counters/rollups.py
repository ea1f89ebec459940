"""Rolled-up counters as stored: metrics_10m, metrics_1h and metrics_1d, and the blocks that their rows move into."""

from collections.abc import Mapping, Sequence
from datetime import datetime

import numpy as np

from tierscope.core.database import ReadSession, WriteTransaction
from tierscope.domain.counters.rollups import STATISTICS, Rollup, widen
from tierscope.storage.base import copy
from tierscope.storage.base.binary import copy_out, from_us, parse_float8_array, parse_int, parse_small_array, parse_us
from tierscope.storage.base.bucket_rows import delete_blocks
from tierscope.storage.counters.rollup_blocks import BLOCKS, MetricsTable, read_rollup_blocks, replace_rollup_block
from tierscope.storage.counters.schemas import ensure_layout, read_layouts

_COLUMNS = ("host_id", "ts", "keys_layout_id", *STATISTICS, "n")
_READ = ", ".join(_COLUMNS[1:])


def replace_metrics(transaction: WriteTransaction, table: MetricsTable, rollups: Mapping[int, Rollup]) -> None:
    """Store buckets of hosts in place of what was there for the same starts."""
    buckets = [(host_id, from_us(start)) for host_id, rollup in rollups.items() for start in rollup.starts_us]
    if not buckets:
        return
    delete_blocks(transaction, table, 0, buckets)
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


def pack_days(transaction: WriteTransaction, host_id: int, days: Sequence[datetime]) -> None:
    """Move metrics of ten minutes and of an hour of closed days into blocks."""
    for day in days:
        pack_rollups(transaction, "metrics_10m", host_id, day)
        pack_rollups(transaction, "metrics_1h", host_id, day)


def pack_months(transaction: WriteTransaction, host_id: int, starts: Sequence[datetime]) -> None:
    """The same with metrics of whole days, thirty in a block."""
    for start in starts:
        pack_rollups(transaction, "metrics_1d", host_id, start)


def pack_rollups(transaction: WriteTransaction, table: MetricsTable, host_id: int, start: datetime) -> None:
    """Move the rows of a stretch that has closed into its block, over what is packed of it already.

    Rows that another process commits meanwhile stay rows, and are packed the next time.
    """
    stretch = (start, start + BLOCKS[table].width)
    query = f"DELETE FROM {table} WHERE {_between(host_id, stretch)} RETURNING {_READ}"  # noqa: S608 - as above
    rows = _read_rows(transaction, query, None)
    if rows:
        packed = [rollup for _, rollup in read_rollup_blocks(transaction, table, [host_id], stretch, None)]
        replace_rollup_block(transaction, table, host_id, start, widen([*packed, *rows]))


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
