"""When a series changed: offline by PELT, online by CUSUM, and what in the change log lies near."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
import ruptures

Floats = npt.NDArray[np.float64]

MIN_SIZE = 30
DRIFT = 0.5
ALARM = 4.0
NEAR_SECONDS = 15 * 60


def find_changes(series: Floats, *, min_size: int = MIN_SIZE) -> tuple[int, ...]:
    """Indexes at which a new regime begins. Penalty by BIC; regimes of fewer than `min_size` intervals are not seen."""
    if len(series) < 2 * min_size:
        return ()
    penalty = math.log(len(series))
    ends = ruptures.Pelt(model="rbf", min_size=min_size).fit(series.reshape(-1, 1)).predict(pen=penalty)
    return tuple(int(end) for end in ends[:-1])


@dataclass(frozen=True, slots=True)
class Alarm:
    """A change seen online."""

    index: int
    direction: Literal["rise", "fall"]


def watch(scores: Sequence[float]) -> tuple[tuple[float, ...], tuple[Alarm, ...]]:
    """CUSUM on robust scores: the sum for rises after each step, and alarms on either side.

    S = max(0, S + z - 0.5), alarm above 4, reset after it; a second sum on -z watches for falls.
    """
    rises, alarms = [], []
    up = down = 0.0
    for index, score in enumerate(scores):
        up, down = max(0.0, up + score - DRIFT), max(0.0, down - score - DRIFT)
        rises.append(up)
        if up > ALARM:
            alarms.append(Alarm(index, "rise"))
            up = 0.0
        if down > ALARM:
            alarms.append(Alarm(index, "fall"))
            down = 0.0
    return tuple(rises), tuple(alarms)


def match_events(change_at: float, events: Sequence[tuple[float, str]]) -> tuple[str, ...]:
    """Ids of events within 15 minutes of a change, nearest first. Times are Unix seconds."""
    near = [(abs(at - change_at), event) for at, event in events if abs(at - change_at) <= NEAR_SECONDS]
    return tuple(event for _, event in sorted(near))
