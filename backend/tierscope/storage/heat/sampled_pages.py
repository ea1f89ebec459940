"""Through how many pages memory was seen, from the few columns of stored intervals that tell it."""

from collections.abc import Iterator, Sequence
from datetime import datetime

import numpy as np
import numpy.typing as npt

from tierscope.core.database import ReadSession
from tierscope.domain.heat.rows import Method
from tierscope.domain.heat.sampled_pages import COLUMNS, SampledPages, SampledRow
from tierscope.storage.base.binary import (
    copy_out,
    parse_int,
    parse_int8_array,
    parse_small_array,
    parse_text_array,
    parse_us,
)
from tierscope.storage.heat.rows import Stretch, read_older_columns, split_rows

Ints = npt.NDArray[np.int64]


def read_sampled_pages(
    session: ReadSession, service_id: int, host_ids: Sequence[int], method: Method, start: datetime, end: datetime
) -> dict[int, SampledPages]:
    """Of the intervals of (start, end] of one method, by host in order of its number: what `read_rows` folded tells."""
    older, newer = split_rows(session, start, end)
    rows: dict[int, dict[int, SampledRow]] = {}
    if older is not None:
        for host_id, end_us, row in _older(session, service_id, host_ids, method, older):
            rows.setdefault(host_id, {})[end_us] = row
    if newer is not None and host_ids:
        for host_id, end_us, row in _live(session, service_id, host_ids, method, newer):
            rows.setdefault(host_id, {})[end_us] = row
    return {host_id: SampledPages.of_rows(rows[host_id]) for host_id in sorted(rows)}


def _older(
    session: ReadSession, service_id: int, host_ids: Sequence[int], method: Method, stretch: Stretch
) -> Iterator[tuple[int, int, SampledRow]]:
    packed = read_older_columns(session, host_ids, stretch, COLUMNS, service_id=service_id, backends=[method.backend])
    for host_id, measured, columns in packed:
        kinds, sizes, resident, pages = (columns.values[name] for name in COLUMNS)
        if measured != method or kinds is None or sizes is None or resident is None:
            continue
        tiers = tuple(columns.tiers)
        for place, end_us in enumerate(columns.ends_us.tolist()):
            mine = None if pages is None else pages[place]
            yield host_id, end_us, SampledRow(kinds[place], sizes[place], tiers, resident[place], mine)


def _live(
    session: ReadSession, service_id: int, host_ids: Sequence[int], method: Method, stretch: Stretch
) -> Iterator[tuple[int, int, SampledRow]]:
    start, end = stretch
    query = (
        "SELECT host_id, ts, resident_bytes, sampled_pages, kinds, page_sizes, tiers FROM heat_live"  # noqa: S608
        f" WHERE service_id = {int(service_id)} AND host_id IN ({', '.join(str(int(one)) for one in host_ids)})"
        f" AND backend = {int(method.backend)} AND granularity = {int(method.granularity)}"
        f" AND interval_ns = {int(method.interval_ns)}"
        f" AND ts > '{start.isoformat()}' AND ts <= '{end.isoformat()}' ORDER BY host_id, ts, ctid"
    )
    # A service has the same strata for hours: what they are is read once.
    known: dict[tuple[bytes | None, ...], tuple[Ints, Ints, tuple[str, ...]]] = {}
    for host, ts, resident, pages, *told in copy_out(session, query):
        strata = known.get(tuple(told))
        if strata is None:
            kinds, sizes = (np.array(parse_small_array(cell), np.int64) for cell in told[:2])
            strata = known[tuple(told)] = kinds, sizes, tuple(parse_text_array(told[2]))
        sampled = None if pages is None else parse_int8_array(pages)
        yield parse_int(host) or 0, parse_us(ts), SampledRow(*strata, parse_int8_array(resident), sampled)
