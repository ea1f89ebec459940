"""Counters made of differences: what was counted since midnight (UTC), as if the counter began anew each day."""

from itertools import pairwise

import numpy as np

from tierscope.domain.promql.series import Bools, Floats, Ints

DAY_MS = 86_400_000
_SOON_MS = 1


def count_up(times_ms: Ints, differences: Floats, counted_before: float) -> tuple[Ints, Floats]:
    """Samples of a counter that was at `counted_before` when the first interval began; `differences` [n] of intervals.

    `times_ms` [n] are their ends, ascending. The counter begins anew with the first interval that ends after a
    midnight. Readers know that by a lower value; where it would not be lower, a zero stands right after the interval
    before. It never falls else: a difference below zero, which is one of reading times, waits for the next ones.
    """
    if not len(times_ms):
        return times_ms, differences
    days = (times_ms - 1) // DAY_MS
    starts: Bools = np.concatenate(([True], days[1:] != days[:-1]))
    values = np.empty(len(times_ms))
    bounds = [*np.flatnonzero(starts).tolist(), len(times_ms)]
    for first, stop in pairwise(bounds):
        base = counted_before if first == 0 else 0.0
        values[first:stop] = np.maximum.accumulate(np.maximum(base + np.cumsum(differences[first:stop]), base))
    hidden = np.flatnonzero(starts[1:] & (values[1:] >= values[:-1]) & (values[:-1] > 0)) + 1
    return np.insert(times_ms, hidden, times_ms[hidden - 1] + _SOON_MS), np.insert(values, hidden, 0.0)
