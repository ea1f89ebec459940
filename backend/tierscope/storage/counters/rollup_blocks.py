"""Rolled-up counters of closed days (of thirty for those of whole days) as blocks: one a host, read by key.

A block's first part is when its buckets start, in seconds after its own start; then each key of the layout has a part
with first, last, min, max, sum and n of its buckets, n missing where it is 0. Rows that were rolled up anew since stand
beside a block until it is packed again, and count instead of what it says of their buckets.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

import numpy as np
from sqlalchemy import Table

from tierscope.core.database import ReadSession, WriteTransaction
from tierscope.domain.base.blocks import pack_floats, pack_ints, unpack_floats, unpack_ints
from tierscope.domain.base.buckets import floor_to
from tierscope.domain.counters.rollups import STATISTICS, Rollup
from tierscope.storage.base.binary import to_us
from tierscope.storage.base.blocks import (
    Block,
    Days,
    read_parts,
    replace_blocks,
    start_seconds,
    stored_layouts,
)
from tierscope.storage.counters.schemas import ensure_layout, read_layouts
from tierscope.storage.tables import metrics_1d_months, metrics_1h_days, metrics_10m_days

MetricsTable = Literal["metrics_10m", "metrics_1h", "metrics_1d"]


@dataclass(frozen=True, slots=True)
class BlockTable:
    """Where the rows of a table are packed, and how long the stretch of a block is."""

    table: Table
    width: timedelta


BLOCKS: Mapping[MetricsTable, BlockTable] = {
    "metrics_10m": BlockTable(metrics_10m_days, timedelta(days=1)),
    "metrics_1h": BlockTable(metrics_1h_days, timedelta(days=1)),
    "metrics_1d": BlockTable(metrics_1d_months, timedelta(days=30)),
}


def replace_rollup_block(
    transaction: WriteTransaction, table: MetricsTable, host_id: int, start: datetime, rollup: Rollup
) -> None:
    """Store the buckets of the stretch that begins at `start`, in place of the block that was there."""
    offsets_s = (rollup.starts_us - to_us(start)) // 1_000_000
    n = np.where(rollup.n > 0, rollup.n.astype(np.float64), np.nan)
    columns = np.stack([*(getattr(rollup, name) for name in STATISTICS), n])
    parts = (pack_ints(offsets_s[None]), *(pack_floats(columns[:, :, key]) for key in range(len(rollup.keys))))
    layout_id = ensure_layout(transaction, rollup.keys)
    block = Block(host_id, 0, start_seconds(start), layout_id, len(rollup), parts)
    replace_blocks(transaction, BLOCKS[table].table, host_id, [start], [block] if len(rollup) else [])


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
    packed = BLOCKS[table]
    low, high = to_us(starts[0]), to_us(starts[1])
    days = Days(floor_to(starts[0], packed.width), starts[1], host_ids)
    wanted = keys if keys is None or callable(keys) else frozenset(keys).__contains__
    found = []
    for layout_id, names in read_layouts(session, stored_layouts(session, packed.table, days)).items():
        places = [place for place, name in enumerate(names) if wanted is None or wanted(name)]
        picked = tuple(names[place] for place in places)
        for block in read_parts(session, packed.table, days, layout_id, [0, *(1 + place for place in places)]):
            rollup = _rollup(block, picked)
            inside = (rollup.starts_us >= low) & (rollup.starts_us < high)
            if picked and inside.any():
                found.append((block.host_id, rollup if inside.all() else rollup.rows(inside)))
    return found


def _rollup(block: Block, keys: tuple[str, ...]) -> Rollup:
    offsets, *parts = block.parts
    starts_us = (unpack_ints(offsets, block.n)[0][0] + block.start_s) * 1_000_000
    columns = np.zeros((len(STATISTICS) + 1, block.n, len(keys)))
    for key, part in enumerate(parts):
        columns[:, :, key] = unpack_floats(part, block.n)
    statistics = dict(zip(STATISTICS, columns, strict=False))
    return Rollup(starts_us=starts_us, keys=keys, n=np.nan_to_num(columns[-1]).astype(np.int64), **statistics)
