"""The daily points of a metric as a forecast takes them: whole days, without those before a shift or at an edit."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from itertools import pairwise

import numpy as np

from tierscope.core.database import ReadSession
from tierscope.domain.capacity.need import Advised, dram_need
from tierscope.domain.capacity.shifts import Shift, find_shifts
from tierscope.storage.base.retention import kept
from tierscope.storage.capacity.rows import Kind, StoredDay
from tierscope.storage.fleet.events import EventItem, list_events
from tierscope.usecases.capacity.views import CapacityChange, Excluded, HistoryDay, Metric

DAY = timedelta(days=1)
SPAN = kept("metrics_1h_days")
NEAR = timedelta(days=1)
"""An event within a day of a shift may be its cause."""
SAME_CAPACITY = 0.02
MAX_EVENTS = 1000
MOST_KEPT = 256
"""Shifts and forecasts that a process remembers, by the points that they are of: these change once a day."""


@dataclass(frozen=True, slots=True)
class History:
    """Points of whole days by calendar day; `usable` is what forecasts rest on, None where there is no point."""

    days: tuple[HistoryDay, ...]
    changes: tuple[CapacityChange, ...]
    usable: tuple[float | None, ...]

    @property
    def last_day(self) -> date | None:
        """The last day with a point."""
        return self.days[-1].day if self.days else None


def metric_value(stored: StoredDay, metric: Metric, advised: Advised | None) -> float | None:
    """The point of a metric."""
    if metric == "resident":
        return stored.day.in_use_bytes
    if metric == "hot":
        return stored.day.hot_bytes
    return dram_need(stored.day.resident_bytes, stored.day.hot_bytes, advised)


def make_history(
    stored: Sequence[StoredDay],
    metric: Metric,
    advised: Advised | None,
    events: Sequence[EventItem],
    *,
    today: date,
    lacking: Collection[datetime] = (),
) -> History:
    """The points up to yesterday with what is excluded, and why: days `lacking` hosts of a node say too little."""
    points = {
        day.ts.astimezone(UTC).date(): metric_value(day, metric, advised)
        for day in stored
        if day.day.is_whole and day.ts.astimezone(UTC).date() < today
    }
    known = sorted(day for day, value in points.items() if value is not None)
    if not known:
        return History((), (), ())
    dates = [known[0] + n * DAY for n in range((known[-1] - known[0]).days + 1)]
    values = [points.get(day) for day in dates]
    edits = _edits([day for day in stored if day.ts not in lacking], events)
    parts = {day.astimezone(UTC).date() for day in lacking}
    why: list[Excluded | None] = [
        "node_away" if day in parts else "capacity_edit" if day in edits else None for day in dates
    ]
    kept = [value if reason is None else None for value, reason in zip(values, why, strict=True)]
    shifts = _shifts(tuple(kept))
    if shifts:
        for i in range(shifts[-1].index):
            why[i] = "change_point"
    days = tuple(HistoryDay(*one) for one in zip(dates, values, why, strict=True))
    changes = [
        CapacityChange(
            _midnight(dates[shift.index]), "change_point", shift.before, shift.after, _near(dates[shift.index], events)
        )
        for shift in shifts
    ]
    changes += [
        CapacityChange(at, "capacity_edit", before, after, text)
        for day, (at, before, after, text) in edits.items()
        if dates[0] <= day <= dates[-1]
    ]
    start = shifts[-1].index if shifts else 0
    usable = tuple(value if reason is None else None for value, reason in zip(values[start:], why[start:], strict=True))
    return History(days, tuple(sorted(changes, key=lambda change: change.at)), usable)


def read_events(session: ReadSession, kind: Kind, subject: str, start: datetime, end: datetime) -> list[EventItem]:
    """Marks of a service; of host groups all marks of capacity that name no service."""
    service = subject if kind == "service" else None
    rows = list_events(session, start=start, end=end, service=service, host=None, before=None, limit=MAX_EVENTS)
    return rows if kind == "service" else [row for row in rows if row.service_id is None]


def _edits(
    stored: Sequence[StoredDay], events: Sequence[EventItem]
) -> dict[date, tuple[datetime, float | None, float | None, str | None]]:
    """Days on which memory was added or taken: as marked, and as the hosts' number and memory say."""
    found: dict[date, tuple[datetime, float | None, float | None, str | None]] = {}
    for before, after in pairwise(stored):
        if before.day.n_hosts == after.day.n_hosts or not before.day.is_whole or not after.day.is_whole:
            continue
        old, new = before.day.dram_bytes, after.day.dram_bytes
        if old and new and abs(new / old - 1.0) > SAME_CAPACITY:
            text = f"{before.day.n_hosts} to {after.day.n_hosts} hosts"
            found[after.ts.astimezone(UTC).date()] = (after.ts, old, new, text)
    for event in events:
        if event.kind == "capacity":
            found[event.at.astimezone(UTC).date()] = (event.at, None, None, event.text)
    return found


@lru_cache(MOST_KEPT)
def _shifts(values: tuple[float | None, ...]) -> tuple[Shift, ...]:
    known = np.array([np.nan if value is None else value for value in values], np.float64)
    there = np.isfinite(known)
    if there.sum() < 2:  # noqa: PLR2004 - one point has no level to move from
        return ()
    x = np.arange(len(known), dtype=np.float64)
    return find_shifts(np.interp(x, x[there], known[there]))


def _near(day: date, events: Sequence[EventItem]) -> str | None:
    """The text of the event that is nearest to the start of the day."""
    at = _midnight(day)
    close = [event for event in events if -NEAR <= event.at - at < NEAR + DAY]
    nearest = min(close, key=lambda event: abs(event.at - at), default=None)
    return None if nearest is None else f"{nearest.kind}: {nearest.text}"


def _midnight(day: date) -> datetime:
    return datetime(day.year, day.month, day.day, tzinfo=UTC)
