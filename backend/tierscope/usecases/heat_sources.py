"""Where the heat of a window comes from: intervals while there are few enough, else sums per hour or day."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np

from tierscope.core.database import ReadSession
from tierscope.domain.figures import Window
from tierscope.domain.heat.rows import HeatSeries, Method, fold_rows, join_series
from tierscope.storage.heat import RollupTable, count_live, read_live, read_rollups

MAX_ROWS = 12_000
"""Rows of single intervals that one request unpacks."""
LIVE_KEPT = timedelta(days=8)
PROBE = timedelta(minutes=10)
"""The stretch whose rows tell how many there are per minute: intervals may be shorter than one."""
DAILY_FROM = timedelta(days=30)
HOUR = timedelta(hours=1)
DAY = timedelta(days=1)


def read_heat(
    session: ReadSession, service_id: int, host_ids: Sequence[int], window: Window, *, now: datetime
) -> dict[Method, dict[int, HeatSeries]]:
    """The heat of the window by method and host. Buckets that are not summed yet are taken from their intervals."""
    minutes = (window.end - window.start).total_seconds() / 60
    live_start = max(window.start, now - LIVE_KEPT)
    probed = count_live(session, service_id, window.end - PROBE, window.end, host_ids)
    rows_per_minute = max(probed / (PROBE.total_seconds() / 60), float(len(host_ids)), 1.0)
    if live_start == window.start and minutes * rows_per_minute <= MAX_ROWS:
        return _join(_read_intervals(session, service_id, host_ids, window.start, window.end))
    daily = window.end - window.start > DAILY_FROM
    table: RollupTable = "heat_1d" if daily else "heat_1h"
    width = DAY if daily else HOUR
    first = _floor(window.start, width)
    sums = read_rollups(session, table, service_id, first, window.end, host_ids)
    newest = max((int(part.ends_us[-1]) for part in sums), default=None)
    covered = window.start if newest is None else datetime.fromtimestamp(newest / 1e6, tz=UTC)
    budget = timedelta(minutes=MAX_ROWS / rows_per_minute)
    tail = max(covered, live_start, window.end - budget)
    parts = [*sums]
    if tail < window.end:
        parts += _read_intervals(session, service_id, host_ids, tail, window.end)
    return _join(parts)


def _read_intervals(
    session: ReadSession, service_id: int, host_ids: Sequence[int], start: datetime, end: datetime
) -> list[HeatSeries]:
    found = []
    for host_id, rows in read_live(session, service_id, start, end, host_ids).items():
        for method in {row.method for row in rows}:
            folded = fold_rows(host_id, [row for row in rows if row.method == method])
            if folded is not None:
                found.append(folded)
    return found


def _join(parts: Sequence[HeatSeries]) -> dict[Method, dict[int, HeatSeries]]:
    grouped: dict[tuple[Method, int], list[HeatSeries]] = {}
    for part in parts:
        grouped.setdefault((part.method, part.host_id), []).append(part)
    found: dict[Method, dict[int, HeatSeries]] = {}
    for (method, host_id), some in grouped.items():
        joined = join_series(some)
        if joined is not None:
            found.setdefault(method, {})[host_id] = joined
    return found


def pick_kind(series: HeatSeries, kind: str) -> HeatSeries | None:
    """One page kind of a series, None where the host has no such memory."""
    places = np.array([i for i, found in enumerate(series.kinds) if found == kind], np.int64)
    if not len(places):
        return None
    return replace(
        series,
        kinds=tuple(series.kinds[i] for i in places),
        tiers=tuple(series.tiers[i] for i in places),
        folded=series.folded.take((slice(None), places)),
        beside=series.beside.take((slice(None), places)),
    )


def _floor(at: datetime, width: timedelta) -> datetime:
    epoch = datetime(1970, 1, 1, tzinfo=UTC)
    return epoch + (at - epoch) // width * width
