"""When a series changed: offline by PELT, online by CUSUM, and what in the change log lies near."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import numpy.typing as npt

from tierscope.domain.statistics.levels import HOUR_S, Scale, moved_hours, without_courses

Floats = npt.NDArray[np.float64]
Direction = Literal["rise", "fall"]

MIN_SIZE = 30
DRIFT = 0.5
ALARM = 4.0
NEAR_SECONDS = 15 * 60
WATCHED_HOURS = 72
"""In which changes are looked for, at the end of a series."""
MIN_SHIFT = 2.0
"""Robust standard deviations that a level must move by."""
STEP_SEEN = 1.5
"""Below `MIN_SHIFT`, so that a step that counts is not missed for lying across two stretches."""
ONLINE_SHIFT = 3.0
"""The same for changes seen online, which rest on a few buckets."""
_NEAR_INDEXES = 6
_MAD_SCALE = 0.6745
_MIN_BASE = 12


def find_changes(series: Floats, *, min_size: int = MIN_SIZE) -> tuple[int, ...]:
    """Indexes at which a new regime begins. Penalty by BIC; regimes of fewer than `min_size` intervals are not seen."""
    import ruptures  # noqa: PLC0415 - takes seconds to load, and only workers search

    if len(series) < 2 * min_size or np.ptp(series) == 0:
        return ()
    penalty = math.log(len(series))
    ends = ruptures.Pelt(model="rbf", min_size=min_size).fit(series.reshape(-1, 1)).predict(pen=penalty)
    return tuple(int(end) for end in ends[:-1])


@dataclass(frozen=True, slots=True)
class Alarm:
    """A change seen online at `index`; the sum began to grow at `onset`."""

    index: int
    direction: Direction
    onset: int = 0


def watch(scores: Sequence[float]) -> tuple[tuple[float, ...], tuple[Alarm, ...]]:
    """CUSUM on robust scores: the sum for rises after each step, and alarms on either side.

    S = max(0, S + z - 0.5), alarm above 4, reset after it; a second sum on -z watches for falls.
    """
    rises, alarms = [], []
    up = down = 0.0
    up_from = down_from = 0
    for index, score in enumerate(scores):
        up, down = max(0.0, up + score - DRIFT), max(0.0, down - score - DRIFT)
        up_from = up_from if up > 0 else index + 1
        down_from = down_from if down > 0 else index + 1
        rises.append(up)
        if up > ALARM:
            alarms.append(Alarm(index, "rise", up_from))
            up, up_from = 0.0, index + 1
        if down > ALARM:
            alarms.append(Alarm(index, "fall", down_from))
            down, down_from = 0.0, index + 1
    return tuple(rises), tuple(alarms)


@dataclass(frozen=True, slots=True)
class Change:
    """A level that moved: the start of the first bucket of the new level in Unix seconds, and both levels."""

    at_s: float
    direction: Direction
    before: float
    after: float
    found_by: Literal["pelt", "cusum"]


def level_changes(times_s: Floats, values: Floats) -> tuple[Change, ...]:
    """Changes of level within the newest three days of a series with NaN in gaps.

    What lies before them says what is usual: the courses of day and week are taken out, and a level counts as moved
    only where means of some hours before and after differ by more than they ever do by chance, to about one false
    change in `YEARS_A_FALSE_ONE` years. PELT and CUSUM then say when it moved.

    Args:
        times_s: ends of buckets of one width, Unix seconds.
        values: of each bucket; positive ones are compared by their logarithm.
    """
    known = np.isfinite(values)
    if int(known.sum()) < _MIN_BASE:
        return ()
    times, scale = times_s[known], Scale.of(values[known])
    flat, hours = without_courses(times, scale.to(values[known]))
    spots = moved_hours(hours.values, watched=WATCHED_HOURS)
    if not spots:
        return ()
    newest = times > times[-1] - WATCHED_HOURS * HOUR_S
    width = float(np.median(np.diff(times_s)))
    found = _date(times[newest] - width, flat[newest])
    told = [change for change in found if any(spot.holds(change.at_s, hours.start_s) for spot in spots)]
    return tuple(replace(change, before=scale.back(change.before), after=scale.back(change.after)) for change in told)


def _date(starts_s: Floats, flat: Floats) -> list[Change]:
    """When levels moved, by PELT where there are 30 buckets on either side, and by CUSUM in what is newer."""
    if len(flat) < _MIN_BASE:
        return []
    places = [_nearest_step(flat, place) for place in _offline(flat)]
    edges = [0, *places, len(flat)]
    found = []
    for i, place in enumerate(places):
        before, after = flat[edges[i] : place], flat[place : edges[i + 2]]
        found += _change(starts_s[place], before, after, "pelt")
    tail = max(len(flat) - MIN_SIZE, edges[-2])
    newest = _online(flat, edges[-2], tail)
    if newest is not None:
        found += _change(starts_s[newest], flat[edges[-2] : newest], flat[newest:], "cusum")
    return found


def match_events(change_at: float, events: Sequence[tuple[float, str]]) -> tuple[str, ...]:
    """Ids of events within 15 minutes of a change, nearest first. Times are Unix seconds."""
    near = [(abs(at - change_at), event) for at, event in events if abs(at - change_at) <= NEAR_SECONDS]
    return tuple(event for _, event in sorted(near))


def _offline(flat: Floats) -> tuple[int, ...]:
    """PELT, for series with a step between any two neighbouring stretches: that is cheap to see, and PELT is not."""
    if len(flat) < 2 * MIN_SIZE:
        return ()
    middles = np.median(np.lib.stride_tricks.sliding_window_view(flat, MIN_SIZE), axis=1)
    noise = _spread(flat - np.interp(np.arange(len(flat)), np.arange(len(middles)) + MIN_SIZE / 2, middles))
    steps = np.abs(middles[MIN_SIZE:] - middles[:-MIN_SIZE])
    return find_changes(flat) if float(steps.max()) > STEP_SEEN * noise else ()


def _nearest_step(flat: Floats, place: int) -> int:
    """PELT looks at every fifth index, and CUSUM needs a few to be sure: the sharpest step near the one found."""
    around = range(max(place - _NEAR_INDEXES, 1), min(place + _NEAR_INDEXES + 1, len(flat) - 1))
    low, high = max(place - MIN_SIZE, 0), min(place + MIN_SIZE, len(flat))

    def cost(at: int) -> float:
        left, right = flat[low:at], flat[at:high]
        return float(np.abs(left - np.median(left)).sum() + np.abs(right - np.median(right)).sum())

    return min((at for at in around if low < at < high), key=cost, default=place)


def _online(flat: Floats, start: int, tail: int) -> int | None:
    """Where the newest alarm began that still stands, against the level since `start`; None without one."""
    base = flat[start:tail]
    spread = _spread(base - np.median(base)) if len(base) >= _MIN_BASE else 0.0
    if spread == 0:
        return None
    alarms = watch(((flat[tail:] - np.median(base)) / spread).tolist())[1]
    return _nearest_step(flat, tail + alarms[0].index) if alarms else None


def _change(at_s: float, before: Floats, after: Floats, found_by: Literal["pelt", "cusum"]) -> list[Change]:
    """The change between two stretches, if their levels differ by more than their noise."""
    if not len(before) or not len(after):
        return []
    first, second = float(np.median(before)), float(np.median(after))
    noise = max(_spread(before - first), _spread(after - second) if len(after) >= _MIN_BASE else 0.0)
    wanted = MIN_SHIFT if found_by == "pelt" else ONLINE_SHIFT
    if abs(second - first) <= wanted * noise or first == second:
        return []
    return [Change(float(at_s), "rise" if second > first else "fall", first, second, found_by)]


def _spread(centred: Floats) -> float:
    mad = float(np.median(np.abs(centred)))
    return mad / _MAD_SCALE if mad > 0 else float(centred.std())
