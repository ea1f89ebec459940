"""The newest counter samples of many hosts at once, a few keys each: for figures before rollups are there."""

from collections.abc import Mapping, Sequence
from datetime import datetime

import numpy as np
from sqlalchemy import text

from tierscope.core.database import ReadSession
from tierscope.domain.counters.packing import NO_BOOTTIME, Block, join_blocks
from tierscope.storage.base.binary import to_us
from tierscope.storage.base.layouts import read_layouts
from tierscope.storage.base.live_rows import live_from
from tierscope.storage.counters.rows import hosts_packed_since, read_keys

_Sample = tuple[datetime, int, int, list[int | None]]
"""When, on which boot, with which flags, and the values that are wanted."""


def read_recent(
    session: ReadSession, by_layout: Mapping[int, Mapping[int, datetime]], keys: Mapping[int, Sequence[str]]
) -> dict[int, Block]:
    """Samples of hosts after a time of each: `by_layout` gives {layout: {host: after}}, `keys` those wanted of it.

    One statement per layout and hour of these times, and one for each host that has been silent since its rows were
    packed. Samples of other layouts in the window are left out.
    """
    edge = live_from(session, "counters_live")
    names = read_layouts(session, by_layout)
    found: dict[int, list[Block]] = {}
    for layout_id, host_ids in by_layout.items():
        place = {name: i + 1 for i, name in enumerate(names.get(layout_id, ()))}
        held = [key for key in keys.get(layout_id, ()) if key in place]
        if not held:
            continue
        rows = _live_samples(session, layout_id, [place[key] for key in held], host_ids)
        older = {} if edge is None else {host: after for host, after in host_ids.items() if after < edge}
        for host_id in sorted(hosts_packed_since(session, older)):
            block = read_keys(session, host_id, held, [layout_id], older[host_id], edge or older[host_id])
            if len(block):
                found.setdefault(host_id, []).append(block)
        for host_id, samples in rows.items():
            found.setdefault(host_id, []).append(_to_block(samples, held))
    return {host_id: join_blocks(blocks) for host_id, blocks in found.items()}


def _live_samples(
    session: ReadSession, layout_id: int, places: Sequence[int], host_ids: Mapping[int, datetime]
) -> dict[int, list[_Sample]]:
    """By host, in order of time. Hosts of one hour are asked of together: servers send what is after the earliest."""
    hours: dict[datetime, list[int]] = {}
    for host_id, after in host_ids.items():
        hours.setdefault(after.replace(minute=0, second=0, microsecond=0), []).append(host_id)
    statement = text(
        f"SELECT host_id, ts, boot_ref, flags, ARRAY[{', '.join(f'vals[{place}]' for place in places)}] AS picked"  # noqa: S608
        " FROM counters_live WHERE host_id = ANY(:hosts) AND layout_id = :layout AND ts > :after ORDER BY host_id, ts"
    )
    found: dict[int, list[_Sample]] = {}
    for ids in hours.values():
        values = {"hosts": ids, "after": min(host_ids[host_id] for host_id in ids), "layout": layout_id}
        for row in session.execute(statement, values):
            if row.ts > host_ids[row.host_id]:
                found.setdefault(row.host_id, []).append((row.ts, row.boot_ref, row.flags, row.picked))
    return found


def _to_block(samples: Sequence[_Sample], keys: Sequence[str]) -> Block:
    return Block(
        np.array([to_us(ts) for ts, *_ in samples], np.int64),
        np.array([boot for _, boot, _, _ in samples], np.int64),
        np.full(len(samples), NO_BOOTTIME, np.int64),
        np.array([flags for *_, flags, _ in samples], np.int64),
        tuple(keys),
        np.array([[value or 0 for value in values] for *_, values in samples], np.int64),
        np.array([[value is not None for value in values] for *_, values in samples], bool),
    )
