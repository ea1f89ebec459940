"""The time axis of an answer: buckets of one width, aligned to UTC, named by their ends."""

from dataclasses import dataclass
from itertools import chain

import numpy as np
import numpy.typing as npt

from tierscope.domain.base.figures import Resolution, TimeAxis, Window

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

DAY_S = 86_400
STEPS_S = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200, DAY_S)


@dataclass(frozen=True, slots=True)
class Grid:
    """Buckets (end - step, end], in seconds since the Unix epoch. `ends_s` [b]."""

    window: Window
    step_s: int
    ends_s: Ints

    def __len__(self) -> int:
        return len(self.ends_s)

    def place(self, times_s: Floats) -> Ints:
        """The bucket of each time; times must lie in the window."""
        steps = np.ceil(np.round(times_s, 6) / self.step_s).astype(np.int64)
        return np.clip(steps - int(self.ends_s[0]) // self.step_s, 0, len(self.ends_s) - 1)

    def means(self, times_s: Floats, values: Floats) -> Floats:
        """The mean of the known values of each bucket [b], NaN where there is none; times must lie in the window."""
        known = np.isfinite(values)
        place = self.place(times_s[known])
        counts = np.bincount(place, minlength=len(self))
        with np.errstate(invalid="ignore", divide="ignore"):
            sums = np.bincount(place, weights=values[known], minlength=len(self))
            out: Floats = np.where(counts > 0, sums / counts, np.nan)
        return out

    def axis(self) -> TimeAxis:
        """The axis as the API answers it."""
        return TimeAxis(self.window, name_resolution(self.step_s), float(self.step_s), tuple(map(float, self.ends_s)))


def grid_of(axis: TimeAxis) -> Grid:
    """The buckets of an axis that was made of a grid."""
    return Grid(axis.window, int(axis.step_seconds or DAY_S), np.array(axis.times, np.int64))


def make_grid(window: Window, *, interval_s: float, max_points: int) -> Grid:
    """Choose the finest step that is no finer than the measurement and needs at most `max_points` buckets."""
    start, end = window.start.timestamp(), window.end.timestamp()
    finest = [step for step in STEPS_S if step >= interval_s - 1e-6] or [DAY_S]
    multiples = (DAY_S * n for n in range(2, 10_000))
    for step in chain(finest, multiples):
        first, last = int(start // step) + 1, int(-(-end // step))
        if last - first + 1 <= max_points:
            break
    return Grid(window, step, np.arange(first, max(last, first) + 1, dtype=np.int64) * step)


def name_resolution(step_s: int) -> Resolution:
    """The coarsest named resolution that the step is not finer than."""
    names: tuple[tuple[int, Resolution], ...] = ((DAY_S, "1d"), (3600, "1h"), (600, "10m"), (60, "1m"))
    for width, name in names:
        if step_s >= width:
            return name
    return "raw"
