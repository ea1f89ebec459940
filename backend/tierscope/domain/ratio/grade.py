"""How firm an answer about a ratio is, and how much it is widened for what was not seen.

A grade is by time and hosts. What was not seen is an error of the logarithm of the share on slow memory: of a day's
other hours, of a week's other days, and of hosts without samples. Each has a standard deviation when nothing of it was
seen, and shrinks with the square root of what is left to see. The three are assumptions [A]: no week of many hosts is
published; docs/method/ratio.md says what they stand for.
"""

import math
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

RatioGrade = Literal["early", "provisional", "established"]
Unseen = Literal["hours", "days", "hosts"]

DAY, WEEK = timedelta(days=1), timedelta(days=7)
HOSTS = 3
GAPS_MAX = 0.10
"""Share of the intervals that may be missing in an established answer."""
COVERAGE_MIN = 0.8
"""Share of the traffic on pages with samples that an established answer needs."""
HOURS_SD = 0.5
"""Of ln share: what ten minutes say of a whole day."""
DAYS_SD = 0.25
"""Of ln share: what a day says of a week."""
HOSTS_SD = 0.3
"""Of ln share between hosts of one kind; from `HOSTS` on their spread is measured instead."""
ACTIVE_SD = 2.5
"""Of ln share downwards, where an interval in which a page was touched counts once, however often that was. Of recorded
traces and of the papers' workloads one in twenty has less than 0.016 of the share that active intervals say."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What page samples showed: from `start` for `days`, of `n_hosts` hosts.

    `gaps_ratio`: share of the intervals without an observation. `coverage`: share of the traffic on pages with samples,
    None where none was missed. `share_days`: what the shares were made from, where that is less than all days.
    """

    start: datetime
    days: float
    n_hosts: int
    gaps_ratio: float
    coverage: float | None
    share_days: float | None = None

    @property
    def observed_days(self) -> float:
        """Days that the shares stand for, gaps taken off."""
        days = self.days if self.share_days is None else min(self.days, self.share_days)
        return days * (1.0 - self.gaps_ratio)


def grade_of(seen: Seen) -> RatioGrade:
    """`early` below a day; `established` from a week of three hosts with few gaps; `provisional` between."""
    if seen.days < 1.0:
        return "early"
    complete = seen.gaps_ratio <= GAPS_MAX and (seen.coverage is None or seen.coverage >= COVERAGE_MIN)
    if complete and seen.days >= WEEK / DAY and seen.n_hosts >= HOSTS:
        return "established"
    return "provisional"


def unseen_sd(seen: Seen) -> dict[Unseen, float]:
    """Standard deviation of ln share for each part that was not seen; absent where nothing is left to see."""
    days = seen.observed_days
    found: dict[Unseen, float] = {}
    if days < 1.0:
        found["hours"] = HOURS_SD * math.sqrt(1.0 - days)
    if days < WEEK / DAY:
        found["days"] = DAYS_SD * math.sqrt(1.0 - days / (WEEK / DAY))
    if seen.n_hosts < HOSTS:
        found["hosts"] = HOSTS_SD / math.sqrt(max(seen.n_hosts, 1))
    return found


def total_sd(parts: dict[Unseen, float]) -> float:
    """All parts together: they are independent."""
    return math.hypot(*parts.values()) if parts else 0.0


def reached_at(grade: RatioGrade, seen: Seen) -> datetime:
    """When samples have lasted long enough for a grade; hosts and gaps are another matter."""
    return seen.start + {"early": timedelta(), "provisional": DAY, "established": WEEK}[grade]
