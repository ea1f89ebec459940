"""Means of many hosts by bucket of time, one statement per source: the ledger, and rolled-up counters."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

import numpy as np
import numpy.typing as npt

from tierscope.core.database import ReadSession
from tierscope.domain.base.buckets import SECOND_US
from tierscope.domain.counters.names import describe_counter
from tierscope.domain.counters.rollups import OBSERVED_KEY, Rollup
from tierscope.domain.ledger import COLUMNS
from tierscope.storage.base.binary import copy_out, parse_float, parse_int, parse_us
from tierscope.storage.base.layouts import layouts_with_any, read_layouts
from tierscope.storage.counters.rollups import read_rollup_blocks
from tierscope.storage.ledger.sums import sum_moves

Floats = npt.NDArray[np.float64]
MeansTable = Literal["metrics_10m", "metrics_1h"]
FINE_TABLE: MeansTable = "metrics_10m"
WIDTHS: Mapping[MeansTable, int] = {"metrics_10m": 600, "metrics_1h": 3600}
_GAUGES = frozenset(column.key for column in COLUMNS if column.gauge)


@dataclass(frozen=True, slots=True)
class Cell:
    """The mean of one column or counter of a host in a bucket, named by its end in Unix seconds."""

    host_id: int
    end_s: int
    name: str
    value: float


def read_ledger_means(
    session: ReadSession,
    host_ids: Sequence[int],
    service_id: int,
    columns: Sequence[str],
    window: tuple[datetime, datetime],
    width_s: int,
) -> list[Cell]:
    """Columns of the ledger in (start, end]: flows per observed second, states as means; `service_id` 0 = the host."""
    known = [column.key for column in COLUMNS if column.key in set(columns)]
    if not host_ids or not known:
        return []
    width_us = width_s * SECOND_US
    sums = sum_moves(session, known, *window, service_id=service_id, host_ids=host_ids, width_us=width_us)
    ends_s = (sums.buckets_us + width_us) // SECOND_US
    found = []
    for place, key in enumerate(known):
        values = sums.means(place) if key in _GAUGES else sums.rates(place)
        there = ~np.isnan(values)
        cells = zip(sums.host_ids[there].tolist(), ends_s[there].tolist(), values[there].tolist(), strict=True)
        found += [Cell(host, end_s, key, value) for host, end_s, value in cells]
    return found


def mean_of(column: str) -> str:
    """SQL of a state's mean, or of a flow's sum over the seconds in which it was counted."""
    if column in _GAUGES:
        return f"avg({column})::float8"
    return f"(sum({column}) / nullif(sum(dt_seconds) FILTER (WHERE {column} IS NOT NULL), 0))::float8"


def read_counter_means(
    session: ReadSession,
    host_ids: Sequence[int],
    keys: Sequence[str],
    window: tuple[datetime, datetime],
    table: MeansTable,
) -> list[Cell]:
    """Rolled-up counters of buckets within the window: counters per observed second, gauges as means."""
    if not host_ids or not keys:
        return []
    # Layouts are asked which counters they have, not the rows: most fleets have few of those that are read like this.
    layouts = read_layouts(session, layouts_with_any(session, keys))
    places = {
        layout_id: {name: i + 1 for i, name in enumerate(names)}
        for layout_id, names in layouts.items()
        if OBSERVED_KEY in names
    }
    held = [key for key in keys if any(key in place for place in places.values())]
    return _read_layouts(session, host_ids, places, held, window, table) if held else []


def _read_layouts(
    session: ReadSession,
    host_ids: Sequence[int],
    places: Mapping[int, Mapping[str, int]],
    keys: Sequence[str],
    window: tuple[datetime, datetime],
    table: MeansTable,
) -> list[Cell]:
    """One pass over the rows, whatever their layouts: `places` are those of the counters in each, from 1."""
    width_s = WIDTHS[table]
    rows = ", ".join(
        f"({layout_id}::bigint, {place[OBSERVED_KEY]}, "
        + ", ".join(f"{place[key]}" if key in place else "NULL::int" for key in keys)
        + ")"
        for layout_id, place in places.items()
    )
    names = ", ".join(f"p{i}" for i in range(len(keys)))
    picks = ", ".join(
        f"t.sum[l.p{i}] / nullif(t.sum[l.seconds], 0)"
        if describe_counter(key).kind == "counter"
        else f"t.sum[l.p{i}] / nullif(t.n[l.p{i}], 0)"
        for i, key in enumerate(keys)
    )
    ids = ", ".join(str(int(host)) for host in host_ids)
    query = (
        f"SELECT t.host_id, t.ts, {picks} FROM {table} t"  # noqa: S608 - names and integers alone
        f" JOIN (VALUES {rows}) AS l (id, seconds, {names}) ON l.id = t.keys_layout_id"
        f" WHERE t.host_id IN ({ids}) AND t.ts >= '{window[0].isoformat()}' AND t.ts < '{window[1].isoformat()}'"
    )
    found, rows_of = [], set()
    for row in copy_out(session, query):
        host, at = parse_int(row[0]) or 0, parse_us(row[1]) // 1_000_000 + width_s
        rows_of.add((host, at))
        for key, field in zip(keys, row[2:], strict=True):
            value = parse_float(field)
            if value is not None and np.isfinite(value):
                found.append(Cell(host, at, key, value))
    packed = read_rollup_blocks(session, table, host_ids, window, [*keys, OBSERVED_KEY])
    found += [cell for cell in _packed_cells(packed, width_s) if (cell.host_id, cell.end_s) not in rows_of]
    return found


def _packed_cells(packed: Iterable[tuple[int, Rollup]], width_s: int) -> Iterator[Cell]:
    """The same of buckets that are packed."""
    for host_id, rollup in packed:
        if OBSERVED_KEY not in rollup.keys:
            continue
        ends_s = (rollup.starts_us // 1_000_000 + width_s).tolist()
        seconds = rollup.sum[:, rollup.keys.index(OBSERVED_KEY)]
        for place, key in enumerate(rollup.keys):
            if key == OBSERVED_KEY:
                continue
            over = seconds if describe_counter(key).kind == "counter" else rollup.n[:, place]
            means = np.divide(rollup.sum[:, place], over, out=np.full(len(rollup), np.nan), where=over != 0)
            for at in np.flatnonzero(np.isfinite(means)).tolist():
                yield Cell(host_id, ends_s[at], key, float(means[at]))
