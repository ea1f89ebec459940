"""Where the counters of a window come from: samples while they are kept and few enough, else their rollups."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from tierscope.core.database import ReadSession
from tierscope.domain.base.axis import make_grid
from tierscope.domain.base.figures import TimeAxis, Window
from tierscope.domain.counters.names import KnownCounter
from tierscope.domain.counters.packing import Block
from tierscope.domain.counters.rollups import OBSERVED_KEY, Rollup
from tierscope.domain.counters.series import Lines, rollup_lines
from tierscope.storage.base.retention import kept
from tierscope.storage.counters.rollups import MetricsTable, read_metrics
from tierscope.storage.counters.rows import layouts_in, read_keys

RAW_SPAN = timedelta(days=2)
RAW_KEPT = kept("counters_packed")
TABLES: tuple[tuple[MetricsTable, int, timedelta, timedelta], ...] = (
    ("metrics_10m", 600, timedelta(days=10), kept("metrics_10m_days")),
    ("metrics_1h", 3600, timedelta(days=90), kept("metrics_1h_days")),
    ("metrics_1d", 86_400, timedelta(days=10_000), timedelta(days=10_000)),
)
"""Table, width in seconds, up to which window it is used, and how long it is kept."""


def samples_fit(window: Window, now: datetime) -> bool:
    """Whether single samples answer the window: short enough, and still kept."""
    return window.end - window.start <= RAW_SPAN and window.start >= now - RAW_KEPT


def read_samples(
    session: ReadSession, host_id: int, keys: Sequence[str], window: Window, layout_ids: Sequence[int] | None = None
) -> Block:
    """The samples of these keys in the window. `layout_ids`: the layouts that the host sent in it, where known."""
    if layout_ids is None:
        layout_ids = layouts_in(session, host_id, window.start, window.end)
    return read_keys(session, host_id, keys, layout_ids, window.start, window.end)


def read_rollup_lines(
    session: ReadSession, host_id: int, names: Sequence[KnownCounter], window: Window, *, now: datetime, max_points: int
) -> tuple[TimeAxis, Lines | None]:
    """Lines of those counters that are kept beyond samples, from the finest table that covers the window."""
    span, age = window.end - window.start, now - window.start
    table, width_s = next((table, width) for table, width, longest, kept in TABLES if span <= longest and age <= kept)
    keys = [counter.key for counter in names if counter.rolled_up]
    starts = (window.start, window.end)
    rollup = read_metrics(session, table, host_id, starts, [*keys, OBSERVED_KEY])
    grid = make_grid(window, interval_s=float(width_s), max_points=max_points)
    held = [key for key in keys if key in rollup.keys]
    if not len(rollup) or not held or OBSERVED_KEY not in rollup.keys:
        return grid.axis(), None
    rollup = _ordered(rollup, (*held, OBSERVED_KEY))
    kinds = {counter.key: counter.kind for counter in names}
    return grid.axis(), rollup_lines(rollup, width_s, grid, tuple(kinds[key] for key in held))


def _ordered(rollup: Rollup, keys: tuple[str, ...]) -> Rollup:
    places = [rollup.keys.index(key) for key in keys]
    return Rollup(
        starts_us=rollup.starts_us,
        keys=keys,
        first=rollup.first[:, places],
        last=rollup.last[:, places],
        min=rollup.min[:, places],
        max=rollup.max[:, places],
        sum=rollup.sum[:, places],
        n=rollup.n[:, places],
    )
