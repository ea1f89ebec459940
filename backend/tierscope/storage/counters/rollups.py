"""Rolled-up counters as stored: metrics_10m, metrics_1h and metrics_1d."""

from collections.abc import Sequence
from datetime import datetime
from typing import Literal

import numpy as np

from tierscope.core.database import ReadSession, WriteTransaction
from tierscope.domain.counters.rollups import Rollup, widen
from tierscope.storage.base import copy
from tierscope.storage.base.binary import copy_out, from_us, parse_float8_array, parse_int, parse_small_array, parse_us
from tierscope.storage.base.bucket_rows import delete_buckets
from tierscope.storage.counters.schemas import ensure_layout, read_layouts

MetricsTable = Literal["metrics_10m", "metrics_1h", "metrics_1d"]
_FLOATS = ("first", "last", "min", "max", "sum")
_COLUMNS = ("host_id", "ts", "keys_layout_id", *_FLOATS, "n")


def replace_metrics(transaction: WriteTransaction, table: MetricsTable, host_id: int, rollup: Rollup) -> None:
    """Store buckets in place of what was there for the same starts."""
    if len(rollup) == 0:
        return
    delete_buckets(transaction, table, host_id, 0, [from_us(start) for start in rollup.starts_us])
    layout_id = ensure_layout(transaction, rollup.keys)
    rows = []
    for i, start in enumerate(rollup.starts_us.tolist()):
        fields = [copy.int8(host_id), copy.instant(start * 1000), copy.int8(layout_id)]
        fields += [copy.float8_array(getattr(rollup, name)[i]) for name in _FLOATS]
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
    query = (
        f"SELECT ts, keys_layout_id, {', '.join(_FLOATS)}, n FROM {table} WHERE host_id = {int(host_id)}"  # noqa: S608
        f" AND ts >= '{starts[0].isoformat()}' AND ts < '{starts[1].isoformat()}' ORDER BY ts"
    )
    by_layout: dict[int, list[list[bytes | None]]] = {}
    for row in copy_out(session, query):
        layout_id = parse_int(row[1])
        assert layout_id is not None
        by_layout.setdefault(layout_id, []).append(row)
    names = read_layouts(session, by_layout)
    return widen([_to_rollup(rows, names[layout_id], keys) for layout_id, rows in by_layout.items()])


def _to_rollup(rows: Sequence[Sequence[bytes | None]], names: Sequence[str], keys: Sequence[str] | None) -> Rollup:
    wanted = None if keys is None else set(keys)
    picks = [i for i, name in enumerate(names) if wanted is None or name in wanted]
    first, last, low, high, total = (
        np.stack([parse_float8_array(row[2 + place])[picks] for row in rows]) for place in range(len(_FLOATS))
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
