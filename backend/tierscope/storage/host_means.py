"""Means of many hosts by bucket of time, one statement per source: the ledger, and rolled-up counters."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

import numpy as np
import numpy.typing as npt
from sqlalchemy import text

from tierscope.core.database import ReadSession
from tierscope.domain.counter_names import describe_counter
from tierscope.domain.rollups import OBSERVED_KEY
from tierscope.domain.tier_moves import COLUMNS
from tierscope.storage.binary import copy_out, parse_float, parse_int, parse_us
from tierscope.storage.layouts import read_layouts

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
    ids = ", ".join(str(int(host)) for host in host_ids)
    if not ids or not known:
        return []
    picks = ", ".join(mean_of(key) for key in known)
    end = f"(ceil(extract(epoch FROM ts) / {int(width_s)}) * {int(width_s)})::bigint"
    query = (
        f"SELECT host_id, {end}, {picks} FROM tier_moves WHERE host_id IN ({ids})"  # noqa: S608 - names of our own
        f" AND service_id = {int(service_id)} AND ts > '{window[0].isoformat()}' AND ts <= '{window[1].isoformat()}'"
        " GROUP BY 1, 2"
    )
    found = []
    for row in copy_out(session, query):
        host, at = parse_int(row[0]) or 0, parse_int(row[1]) or 0
        for key, field in zip(known, row[2:], strict=True):
            value = parse_float(field)
            if value is not None:
                found.append(Cell(host, at, key, value))
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
    values = {"hosts": list(host_ids), "start": window[0], "end": window[1]}
    statement = text(
        f"SELECT DISTINCT keys_layout_id FROM {table} WHERE host_id = ANY(:hosts)"  # noqa: S608 - a table's own name
        " AND ts >= :start AND ts < :end"
    )
    layouts = read_layouts(session, [int(found) for found in session.execute(statement, values).scalars()])
    found: list[Cell] = []
    for layout_id, names in layouts.items():
        place = {name: i + 1 for i, name in enumerate(names)}
        held = [key for key in keys if key in place]
        if held and OBSERVED_KEY in place:
            found += _read_layout(session, host_ids, (layout_id, place), held, window, table)
    return found


def _read_layout(
    session: ReadSession,
    host_ids: Sequence[int],
    layout: tuple[int, Mapping[str, int]],
    keys: Sequence[str],
    window: tuple[datetime, datetime],
    table: MeansTable,
) -> list[Cell]:
    layout_id, place = layout
    width_s = WIDTHS[table]
    seconds = f"nullif(sum[{place[OBSERVED_KEY]}], 0)"
    picks = ", ".join(
        f"sum[{place[key]}] / {seconds}"
        if describe_counter(key).kind == "counter"
        else f"sum[{place[key]}] / nullif(n[{place[key]}], 0)"
        for key in keys
    )
    ids = ", ".join(str(int(host)) for host in host_ids)
    query = (
        f"SELECT host_id, ts, {picks} FROM {table} WHERE host_id IN ({ids})"  # noqa: S608 - names and integers alone
        f" AND keys_layout_id = {int(layout_id)} AND ts >= '{window[0].isoformat()}' AND ts < '{window[1].isoformat()}'"
    )
    found = []
    for row in copy_out(session, query):
        host, at = parse_int(row[0]) or 0, parse_us(row[1]) // 1_000_000 + width_s
        for key, field in zip(keys, row[2:], strict=True):
            value = parse_float(field)
            if value is not None and np.isfinite(value):
                found.append(Cell(host, at, key, value))
    return found
