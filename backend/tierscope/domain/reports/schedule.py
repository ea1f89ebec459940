"""When a report is sent: every so many days at a time of day, or by a cron expression of five fields. All UTC."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

_FIELDS = (("minute", 0, 59), ("hour", 0, 23), ("day of the month", 1, 31), ("month", 1, 12), ("day of the week", 0, 7))
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_WEEKDAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_LOOK_DAYS = 366 * 5
"""Far enough for the 29th of February."""
DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Daily:
    """Every `days` days at `hour`:`minute`."""

    days: int
    hour: int
    minute: int

    def after(self, at: datetime, previous: datetime | None) -> datetime:
        """The first time after `at`; the days are counted from the sending before, where there was one."""
        found = at.astimezone(UTC).replace(hour=self.hour, minute=self.minute, second=0, microsecond=0)
        if previous is not None:
            found = previous.astimezone(UTC).replace(hour=self.hour, minute=self.minute, second=0, microsecond=0)
            found += self.days * DAY
        while found <= at:
            found += DAY if previous is None else self.days * DAY
        return found


@dataclass(frozen=True, slots=True)
class Cron:
    """Minutes, hours, days, months and weekdays (0 = Sunday) at which it is due.

    `any_day`, `any_weekday`: that field was a star. As in cron, a day has to meet either field where both are given.
    """

    minutes: frozenset[int]
    hours: frozenset[int]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    any_day: bool
    any_weekday: bool

    def after(self, at: datetime, previous: datetime | None) -> datetime | None:  # noqa: ARG002 - as of the other kind
        """The first time after `at`; None where there is none, as on the 30th of February."""
        start = at.astimezone(UTC).replace(second=0, microsecond=0) + timedelta(minutes=1)
        midnight = start.replace(hour=0, minute=0)
        for _ in range(_LOOK_DAYS):
            if self._has(midnight):
                times = (
                    midnight.replace(hour=hour, minute=minute)
                    for hour in sorted(self.hours)
                    for minute in sorted(self.minutes)
                )
                found = next((time for time in times if time >= start), None)
                if found is not None:
                    return found
            midnight += DAY
        return None

    def _has(self, day: datetime) -> bool:
        by_day, by_weekday = day.day in self.days, day.isoweekday() % 7 in self.weekdays
        if day.month not in self.months:
            return False
        if self.any_day or self.any_weekday:
            return by_day and by_weekday
        return by_day or by_weekday


Schedule = Daily | Cron


def parse_cron(text: str) -> Cron | str:
    """A cron expression, or what is wrong with it. Lists, ranges, steps and English names are understood."""
    fields = text.split()
    if len(fields) != len(_FIELDS):
        return f"{len(fields)} fields instead of five: minute, hour, day of the month, month, day of the week"
    found = []
    for field, (name, low, high) in zip(fields, _FIELDS, strict=True):
        values = _parse_field(field.lower(), low, high)
        if not values:
            return f"{name}: {field[:40]!r} is not understood; {low} to {high} is possible"
        found.append(frozenset(values))
    minutes, hours, days, months, weekdays = found
    weekdays = frozenset(day % 7 for day in weekdays)
    return Cron(minutes, hours, days, months, weekdays, fields[2].startswith("*"), fields[4].startswith("*"))


def parse_time(text: str) -> tuple[int, int] | None:
    """Hour and minute of `HH:MM`; None where it is no time of day."""
    hour, _, minute = text.partition(":")
    if not (hour.isascii() and hour.isdigit() and minute.isascii() and minute.isdigit() and len(minute) == 2):  # noqa: PLR2004
        return None
    found = int(hour), int(minute)
    return found if found[0] <= 23 and found[1] <= 59 else None  # noqa: PLR2004 - a day has 24 hours of 60 minutes


def _parse_field(field: str, low: int, high: int) -> set[int]:
    """The values of one field; empty where it is not understood."""
    found: set[int] = set()
    for part in field.split(","):
        span, slash, step_text = part.partition("/")
        step = _number(step_text, 1, high, ()) if slash else 1
        start, dash, end = ("*", "", "") if span == "*" else span.partition("-")
        names = _MONTHS if high == len(_MONTHS) else _WEEKDAYS if high == len(_WEEKDAYS) else ()
        first = low if span == "*" else _number(start, low, high, names)
        last = _number(end, low, high, names) if dash else high if slash or span == "*" else first
        if step is None or first is None or last is None or last < first:
            return set()
        found.update(range(first, last + 1, step))
    return found


def _number(text: str, low: int, high: int, names: tuple[str, ...]) -> int | None:
    if text in names:
        return names.index(text) + low
    if not (text.isascii() and text.isdigit()):
        return None
    return int(text) if low <= int(text) <= high else None
