"""From a history to its forecast: days ahead, intervals, exhaustion, or why there is none."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from typing import Any

from tierscope.domain.base.figures import Figure, Window, absent
from tierscope.domain.capacity import exhaustion
from tierscope.domain.capacity.combining import NO_JUMPS, Jumps
from tierscope.domain.capacity.exhaustion import THRESHOLD_RATIO
from tierscope.domain.capacity.forecast import Forecast, Refused, forecast_days
from tierscope.storage.capacity.rows import StoredDay
from tierscope.usecases.capacity.history import MOST_KEPT, History
from tierscope.usecases.capacity.views import Exhaustion, ForecastDay, Metric

HORIZON_DAYS = 90
"""Of the forecasts that lists show."""
MEDIAN, EARLY, GROWTH = "capacity.days_to_exhaustion/1", "capacity.early_warning_days/1", "capacity.growth/1"
NO_CAPACITY = "The memory size is unknown: the hosts have sent no inventory."
GROUNDING = "A threshold of 90 % of the capacity"


@dataclass(frozen=True, slots=True)
class Outlook:
    """What lists show of a forecast, and how it is stored."""

    refused: str | None
    method: str | None
    growth: float | None
    median_days: float | None
    early_days: int | None
    none_within_horizon: bool
    threshold_bytes: float | None
    horizon_days: int
    false_alarm_ratio: float | None = None
    """Of early warnings like this one; null without one, and in what was stored before it was known."""

    @property
    def warned_days(self) -> float | None:
        """Until the upper bound may be there: it is known by whole days, and is there no later than the forecast."""
        known = [days for days in (self.early_days, self.median_days) if days is not None]
        return None if self.early_days is None else min(known)

    @classmethod
    def from_body(cls, body: Mapping[str, Any]) -> "Outlook":
        """As it was stored."""
        return cls(**{name: body.get(name) for name in cls.__slots__})  # type: ignore[arg-type]  # by the fields' names


def make_forecast(history: History, horizon: int) -> Forecast | Refused:
    """The forecast from the usable days; after a shift the reason says how long ago that was."""
    found = _forecast(history.usable, reach(history, horizon), jumps_of(history))
    if isinstance(found, Refused):
        shift = next((change for change in reversed(history.changes) if change.kind == "change_point"), None)
        if shift is not None:
            return Refused(f"The level moved on {shift.at:%Y-%m-%d}; days before it are left out. {found.why}")
    return found


_forecast = lru_cache(MOST_KEPT)(forecast_days)
"""Fitting the models to the same points again would find the same."""


def jumps_of(history: History) -> Jumps:
    """How often the level moved in the days of a history, and by how much."""
    moved = [change for change in history.changes if change.kind == "change_point" and change.before and change.after]
    if not moved:
        return NO_JUMPS
    steps = [math.log(change.after / change.before) for change in moved if change.after and change.before]
    return Jumps(len(moved) / len(history.days), math.fsum(step**2 for step in steps) / len(steps))


def reach(history: History, horizon: int) -> int:
    """No forecast goes further ahead than the days that it rests on reach back."""
    return max(min(horizon, len(history.usable)), 1)


def threshold_of(stored: Sequence[StoredDay], metric: Metric) -> float | None:
    """Bytes at which a subject is held to be full: of all memory, or of DRAM for what must be in it."""
    if not stored:
        return None
    newest = stored[-1].day
    capacity = newest.capacity_bytes if metric == "resident" else newest.dram_bytes
    return None if capacity is None else THRESHOLD_RATIO * capacity


def make_body(history: History, stored: Sequence[StoredDay], metric: Metric, horizon: int) -> dict[str, Any]:
    """What is stored of a forecast."""
    found = make_forecast(history, horizon)
    outlook = outline(found, threshold_of(stored, metric), reach(history, horizon))
    return {name: getattr(outlook, name) for name in outlook.__slots__}


def outline(found: Forecast | Refused, threshold: float | None, horizon: int) -> Outlook:
    """The few numbers of a forecast that lists show."""
    if isinstance(found, Refused):
        return Outlook(found.why, None, None, None, None, False, threshold, horizon)  # noqa: FBT003 - by the fields' order
    end = exhaustion.Exhaustion(None, None) if threshold is None else found.exhaustion(threshold)
    never = threshold is not None and end.none_within_horizon
    false = None if threshold is None or end.early_days is None else found.false_alarm_ratio(threshold)
    return Outlook(None, found.method, found.growth, end.median_days, end.early_days, never, threshold, horizon, false)


@dataclass(frozen=True, slots=True)
class Dated:
    """An outlook, the start of the last day that it rests on, and the moment of the answer."""

    outlook: Outlook
    last_day: datetime | None
    now: datetime

    def at(self, days: float | None) -> datetime | None:
        """When so many days have passed since the last day; None for None, or where no day has a point."""
        if days is None or self.last_day is None:
            return None
        return datetime.fromtimestamp(exhaustion.reached_s(self.last_day.timestamp(), days), UTC)

    def days_to(self, at: datetime | None) -> float | None:
        """Days from now on; 0 for what has passed."""
        return None if at is None else max((at - self.now) / timedelta(days=1), 0.0)


def exhaustion_view(dated: Dated | None, window: Window | None, reason: str) -> Exhaustion:
    """Days to exhaustion as figures; `reason` where nothing was forecast yet."""
    outlook = None if dated is None else dated.outlook
    median_at = early_at = None
    if outlook is None or outlook.refused is not None:
        why = reason if outlook is None or outlook.refused is None else outlook.refused
        median = absent(MEDIAN, "days", "not_enough_data", why, window=window)
        early = absent(EARLY, "days", "not_enough_data", why, window=window)
    elif outlook.threshold_bytes is None:
        median = absent(MEDIAN, "days", "not_collected", NO_CAPACITY, window=window)
        early = absent(EARLY, "days", "not_collected", NO_CAPACITY, window=window)
    else:
        assert dated is not None
        median_at, early_at = dated.at(outlook.median_days), dated.at(outlook.warned_days)
        median = _days(MEDIAN, dated.days_to(median_at), "the forecast", outlook, window)
        early = _days(EARLY, dated.days_to(early_at), "the upper bound", outlook, window)
        if early.value is not None and outlook.false_alarm_ratio is not None:
            early = replace(early, grounding=_with_false_alarms(outlook.false_alarm_ratio, outlook.horizon_days))
    return Exhaustion(
        median,
        early,
        outlook is not None and outlook.none_within_horizon,
        THRESHOLD_RATIO,
        None if outlook is None else outlook.threshold_bytes,
        HORIZON_DAYS if outlook is None else outlook.horizon_days,
        median_at,
        early_at,
    )


def growth_figure(outlook: Outlook | None, window: Window | None, reason: str) -> Figure:
    """Bytes per day by which the forecast's median moves."""
    if outlook is None or outlook.growth is None:
        why = reason if outlook is None or outlook.refused is None else outlook.refused
        return absent(GROWTH, "bytes_per_day", "not_enough_data", why, window=window)
    return Figure(GROWTH, "ok", outlook.growth, "bytes_per_day", method=outlook.method, window=window, grade="good")


def forecast_lines(found: Forecast, last_day: date) -> tuple[ForecastDay, ...]:
    """The days ahead with their dates."""
    columns = (found.median, found.lo80, found.hi80, found.lo95, found.hi95, found.upper95)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    return tuple(ForecastDay(last_day + timedelta(days=i), *row) for i, row in enumerate(rows, 1))


def window_of(history: History) -> Window | None:
    """The days of a history."""
    from_day, to_day = (history.days[0].day, history.days[-1].day) if history.days else (None, None)
    if from_day is None or to_day is None:
        return None
    return Window(start_of(from_day), start_of(to_day + timedelta(days=1)))


def _days(definition: str, value: float | None, what: str, outlook: Outlook, window: Window | None) -> Figure:
    if value is None:
        why = f"None within the horizon: {what} stays below the threshold for {outlook.horizon_days} days."
        return absent(definition, "days", "not_enough_data", why, window=window, method=outlook.method)
    return Figure(
        definition,
        "ok",
        float(value),
        "days",
        method=outlook.method,
        window=window,
        grade="good",
        grounding=GROUNDING,
    )


def _with_false_alarms(ratio: float, horizon_days: int) -> str:
    """Words on what an early warning is worth."""
    return f"{GROUNDING}; of such warnings {ratio:.0%} are false: the threshold is not reached in {horizon_days} days"


def start_of(day: date) -> datetime:
    """The start of a day, UTC."""
    return datetime(day.year, day.month, day.day, tzinfo=UTC)
