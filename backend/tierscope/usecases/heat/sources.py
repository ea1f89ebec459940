"""Where the heat of a window comes from: intervals while there are few enough, else sums per hour or day."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from tierscope.core.database import ReadSession
from tierscope.domain.base.buckets import TEN_MINUTES_US, floor_to
from tierscope.domain.base.figures import Window
from tierscope.domain.base.jobs import HEAT
from tierscope.domain.heat.rows import HeatSeries, Method, fold_rows, join_series
from tierscope.storage.base.dirty_buckets import pending_buckets
from tierscope.storage.base.retention import kept
from tierscope.storage.heat.rows import BLOCK, RollupTable, count_rows, read_folded_packs, read_rollups, read_rows
from tierscope.usecases.base.spans import Span, join_spans

MAX_ROWS = 12_000
"""Rows of single intervals that one request unpacks."""
LIVE_KEPT = kept("heat")
"""Single intervals; older ones are sums of hours and days."""
PROBE = timedelta(minutes=10)
"""The stretch whose rows tell how many there are per minute: intervals may be shorter than one."""
DAILY_FROM = timedelta(days=30)
HOUR = timedelta(hours=1)
DAY = timedelta(days=1)


def read_heat(
    session: ReadSession, service_id: int, host_ids: Sequence[int], window: Window, *, now: datetime
) -> dict[Method, dict[int, HeatSeries]]:
    """The heat of the window by method and host. Buckets that are not summed yet are taken from their intervals."""
    plan = plan_intervals(session, service_id, host_ids, window, now=now)
    if plan.enough:
        return _join(_read_intervals(session, service_id, host_ids, window.start, window.end))
    daily = window.end - window.start > DAILY_FROM
    table: RollupTable = "heat_1d" if daily else "heat_1h"
    width = DAY if daily else HOUR
    first = floor_to(window.start, width)
    sums = read_rollups(session, table, service_id, first, window.end, host_ids)
    newest = max((int(part.ends_us[-1]) for part in sums), default=None)
    covered = window.start if newest is None else datetime.fromtimestamp(newest / 1e6, tz=UTC)
    tail = max(covered, plan.live_start, window.end - timedelta(minutes=MAX_ROWS / plan.rows_per_minute))
    parts = [*sums]
    if tail < window.end:
        parts += _read_intervals(session, service_id, host_ids, tail, window.end)
    return _join(parts)


@dataclass(frozen=True, slots=True)
class IntervalPlan:
    """Whether single intervals answer a window, since when they are kept, and how many there are per minute."""

    enough: bool
    live_start: datetime
    rows_per_minute: float


def plan_intervals(
    session: ReadSession, service_id: int, host_ids: Sequence[int], window: Window, *, now: datetime
) -> IntervalPlan:
    """Single intervals answer a window that is kept whole and has few enough of them."""
    minutes = (window.end - window.start).total_seconds() / 60
    live_start = max(window.start, now - LIVE_KEPT)
    if live_start > window.start or minutes * len(host_ids) > MAX_ROWS:
        return IntervalPlan(enough=False, live_start=live_start, rows_per_minute=max(float(len(host_ids)), 1.0))
    probed = count_rows(session, service_id, window.end - PROBE, window.end, host_ids)
    per_minute = max(probed / (PROBE.total_seconds() / 60), float(len(host_ids)), 1.0)
    return IntervalPlan(minutes * per_minute <= MAX_ROWS, live_start, per_minute)


def _read_intervals(
    session: ReadSession, service_id: int, host_ids: Sequence[int], start: datetime, end: datetime
) -> list[HeatSeries]:
    """Whole blocks that nothing waits to be packed into are folded as they were packed; the rest row by row."""
    # Marks first: a block that a worker packs in between then only costs its rows.
    waiting = {block for _, block in pending_buckets(session, [HEAT.kind], host_ids, service_id)}
    first = floor_to(start + BLOCK - timedelta(microseconds=1), BLOCK)
    blocks = [first + place * BLOCK for place in range(max((end - first) // BLOCK, 0))]
    packed = join_spans([block for block in blocks if block not in waiting], TEN_MINUTES_US)
    found = [part for span in packed for part in read_folded_packs(session, service_id, *span, host_ids)]
    for span in _between(packed, start, end):
        for host_id, rows in read_rows(session, service_id, *span, host_ids).items():
            for method in {row.method for row in rows}:
                folded = fold_rows(host_id, [row for row in rows if row.method == method])
                if folded is not None:
                    found.append(folded)
    return found


def _between(spans: Sequence[Span], start: datetime, end: datetime) -> list[Span]:
    """What of (start, end] the spans within it leave."""
    edges = [start, *(edge for span in spans for edge in span), end]
    return [(low, high) for low, high in zip(edges[::2], edges[1::2], strict=True) if low < high]


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
