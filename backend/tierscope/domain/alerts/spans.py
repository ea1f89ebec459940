"""States over time for people: stretches, and buckets of a chart's axis."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tierscope.domain.alerts.frame import Floats, Ints
from tierscope.domain.alerts.machine import LEVEL_NAMES, Changes, Level, Levels, StateName

_GRAVITY = np.array([0, 2, 3, 1], np.int8)
"""By level: firing over pending over no data over ok."""


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of minutes in one level other than ok: ends of minutes, `end` None while it lasts."""

    level: int
    start: int
    end: int | None
    value: float | None


def levels_of(changes: Changes, n_subjects: int, n_minutes: int, shown: Ints | None = None) -> Levels:
    """The level after each minute, from its changes [subjects, minutes]; of those at `shown` alone, in that order."""
    places = np.arange(n_subjects) if shown is None else shown
    row_of = {int(place): row for row, place in enumerate(places.tolist())}
    levels = np.zeros((len(places), n_minutes), np.int8)
    columns = (changes.subjects, changes.minutes, changes.after)
    for subject, minute, after in zip(*(column.tolist() for column in columns), strict=True):
        if subject in row_of:
            levels[row_of[subject], minute:] = after
    return levels


def firing_minutes(changes: Changes, n_subjects: int, n_minutes: int) -> Ints:
    """How many minutes each subject fired, from its changes."""
    left = n_minutes - changes.minutes
    begun = np.where(changes.after == Level.FIRING, left, 0) - np.where(changes.before == Level.FIRING, left, 0)
    return np.bincount(changes.subjects, weights=begun, minlength=n_subjects).astype(np.int64)


def list_spans(levels: Levels, minutes: Ints, values: Floats) -> list[Span]:
    """The stretches of one subject [minutes] that are not ok, each with the value at its begin."""
    edges = np.flatnonzero(np.diff(levels)) + 1
    starts = [0, *edges.tolist()]
    ends = [*edges.tolist(), None]
    found = []
    for start, end in zip(starts, ends, strict=True):
        if levels[start] == Level.OK:
            continue
        value = float(values[start])
        until = None if end is None else int(minutes[end])
        found.append(Span(int(levels[start]), int(minutes[start]), until, value if np.isfinite(value) else None))
    return found


def bucket_values(values: Floats, groups: Ints, *, greatest: bool) -> Floats:
    """The greatest, or least, value of each bucket; NaN where none is known."""
    size = int(groups[-1]) + 1 if len(groups) else 0
    out = np.full(size, -np.inf if greatest else np.inf)
    known = ~np.isnan(values)
    (np.maximum if greatest else np.minimum).at(out, groups[known], values[known].astype(np.float64))
    return np.where(np.isinf(out), np.nan, out)


def bucket_levels(levels: Levels, groups: Ints) -> Iterator[StateName]:
    """The most severe level of each bucket, by name."""
    size = int(groups[-1]) + 1 if len(groups) else 0
    worst = np.zeros(size, np.int8)
    np.maximum.at(worst, groups, _GRAVITY[levels])
    names = {int(gravity): LEVEL_NAMES[level] for level, gravity in enumerate(_GRAVITY)}
    for gravity in worst.tolist():
        yield names[gravity]
