"""When a report is sent: every so many days at a time of day, or by a cron expression of five fields. All UTC."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from cronsim import CronSim, CronSimError

_FIELDS: Mapping[str, str] = {
    "minute": "0 to 59",
    "hour": "0 to 23",
    "day-of-month": "days 1 to 31 that the month has",
    "month": "1 to 12 or jan to dec",
    "day-of-week": "0 to 7 or sun to sat",
}
_ONE_WITH_STEP = re.compile(r"(?<![\d*])(\d+)-0*\1/\d+")
"""A range of one value with a step, such as `4-4/4`: that value alone; cronsim takes it for every fourth from 4 on."""
_CHECKED_AT = datetime(2000, 1, 1, tzinfo=UTC)
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
    """The times of a cron expression in UTC. As in cron, a day meets either of both fields where neither is a star."""

    expression: str

    def after(self, at: datetime, previous: datetime | None) -> datetime | None:  # noqa: ARG002 - as of the other kind
        """The first time after `at`; None where there is none in the next decades."""
        return next(CronSim(self.expression, at.astimezone(UTC)), None)


Schedule = Daily | Cron


def parse_cron(text: str) -> Cron | str:
    """A cron expression, or what is wrong with it. Lists, ranges, steps, English names, `L` and `#` are understood."""
    fields = text.split()
    if len(fields) != len(_FIELDS):
        return f"{len(fields)} fields instead of five: {', '.join(_FIELDS)}"
    expression = _ONE_WITH_STEP.sub(r"\1", " ".join(fields))
    try:
        CronSim(expression, _CHECKED_AT)
    except (CronSimError, ValueError) as error:  # ValueError: a number of thousands of digits
        name = str(error).removeprefix("Bad ")
        if name not in _FIELDS:
            return "it is not understood"
        field = fields[list(_FIELDS).index(name)]
        return f"{name}: {field[:40]!r} does not fit; it takes {_FIELDS[name]}"
    return Cron(expression)


def parse_time(text: str) -> tuple[int, int] | None:
    """Hour and minute of `HH:MM`; None where it is no time of day."""
    hour, _, minute = text.partition(":")
    if not (hour.isascii() and hour.isdigit() and minute.isascii() and minute.isdigit() and len(minute) == 2):  # noqa: PLR2004
        return None
    found = int(hour), int(minute)
    return found if found[0] <= 23 and found[1] <= 59 else None  # noqa: PLR2004 - a day has 24 hours of 60 minutes
