"""How complete the data of a host is: minutes that should have arrived, those that did, and the gaps between them.

An interval counts in the minute in which it ends; one that ends on the full minute ends the minute before. Hours are
bit sets: bit i of an hour is set where an interval ended in its minute i.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

import numpy as np
import numpy.typing as npt

from tierscope.domain.base.buckets import HOUR_US, hour_of

LATE_SECONDS = 600
"""Intervals that arrive longer after their end are counted as late; they are stored all the same."""
SETTLING_SECONDS = 180
"""The newest intervals are on their way: nothing is missing yet."""
MINUTE_SECONDS = 60
_MINUTE_US = 60_000_000
_MINUTES = 60

GapKind = Literal["silent", "restart", "new_stream", "dropped", "paused", "on_the_way", "unknown"]


@dataclass(frozen=True, slots=True)
class Gap:
    """Minutes without an interval, half-open [start, end)."""

    start: datetime
    end: datetime


@dataclass(frozen=True, slots=True)
class HostFacts:
    """What may explain a gap. Times are UTC; None where there is no such thing."""

    boots: tuple[datetime, ...]
    """When boots of the machine began to send."""
    streams: tuple[datetime, ...]
    """When streams began: a spool of which nothing is left begins a new one."""
    drops: tuple[tuple[datetime, int], ...]
    """Hours in which the agent counted batches that it had to drop, with their number."""
    missing_batches: int
    """Numbers of the newest stream that have not arrived."""
    paused_since: datetime | None


@dataclass(frozen=True, slots=True)
class ExplainedGap:
    """A gap with its reason."""

    gap: Gap
    kind: GapKind
    why: str


def minute_of(end_us: int) -> tuple[int, int]:
    """Start of the hour in microseconds, and the minute in it, that an interval's end belongs to."""
    within = end_us - 1
    hour_us = within - within % HOUR_US
    return hour_us, (within - hour_us) // _MINUTE_US


def find_gaps(hours: Mapping[datetime, int], start: datetime, end: datetime, *, step_seconds: int) -> tuple[Gap, ...]:
    """Stretches without an interval, oldest first.

    Args:
        hours: bit sets by the start of the hour; an hour that is not there has none.
        start: whole minute.
        end: whole minute.
        step_seconds: nominal time between intervals.
    """
    count = max(0, int((end - start).total_seconds()) // MINUTE_SECONDS)
    if count == 0:
        return ()
    step = max(1, step_seconds // MINUTE_SECONDS)
    seen = np.flatnonzero(_bits(hours, start, count))
    edges = np.concatenate(([-1], seen, [count]))
    found = []
    for before, after in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        # An interval covers the `step` minutes up to the one in which it ends.
        last = after - step if after < count else after - 1
        if last - before >= (1 if after < count else step):
            found.append(Gap(_at(start, before + 1), _at(start, last + 1)))
    return tuple(found)


def explain(gap: Gap, facts: HostFacts, *, now: datetime) -> ExplainedGap:
    """The most certain reason that the store knows for a gap; `now`: less what the host holds back."""
    reach = timedelta(seconds=SETTLING_SECONDS)
    if gap.end >= now - 2 * reach:
        if facts.paused_since is not None and facts.paused_since <= gap.start + reach:
            return ExplainedGap(gap, "paused", "the agent is paused from here: see `tierscope agents pauses`")
        return ExplainedGap(gap, "silent", "nothing has arrived since: the host, its agent or the way to here is down")
    if any(gap.start - reach <= boot <= gap.end + reach for boot in facts.boots):
        return ExplainedGap(gap, "restart", "the machine was restarted")
    dropped = sum(count for at, count in facts.drops if gap.start - timedelta(hours=1) <= at <= gap.end + reach)
    if dropped:
        return ExplainedGap(
            gap, "dropped", f"the agent lost {dropped} batches: its spool was full or damaged, or they were refused"
        )
    if any(gap.start - reach <= stream <= gap.end + reach for stream in facts.streams):
        return ExplainedGap(gap, "new_stream", "the agent began with an empty spool: it was reinstalled or wiped")
    if facts.missing_batches:
        word = "batch has" if facts.missing_batches == 1 else "batches have"
        return ExplainedGap(gap, "on_the_way", f"{facts.missing_batches} {word} not arrived; the agent may still send")
    return ExplainedGap(gap, "unknown", "the agent measured nothing here: it did not run, or the host was suspended")


def increases(values: Sequence[tuple[datetime, int | None]]) -> tuple[tuple[datetime, int], ...]:
    """When a count rose and by how much; one that falls restarted at zero. The first value is what was before."""
    found = []
    before: int | None = None
    for at, value in values:
        if value is None:
            continue
        if before is not None and value != before:
            risen = value - before if value > before else value
            if risen:
                found.append((at, risen))
        before = value
    return tuple(found)


def _bits(hours: Mapping[datetime, int], start: datetime, count: int) -> npt.NDArray[np.bool_]:
    first = hour_of(start)
    skip = int((start - first).total_seconds()) // MINUTE_SECONDS
    n_hours = (skip + count + _MINUTES - 1) // _MINUTES
    words = np.array([hours.get(first + timedelta(hours=i), 0) for i in range(n_hours)], dtype=np.int64)
    bits = (words[:, None] >> np.arange(_MINUTES)) & 1
    return bits.reshape(-1)[skip : skip + count].astype(bool)


def _at(start: datetime, minutes: int) -> datetime:
    return start + timedelta(minutes=minutes)
