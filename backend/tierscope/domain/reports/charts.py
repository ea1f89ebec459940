"""The lines of a forecast chart as coordinates, so that a page and a PDF draw the same picture."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta

Point = tuple[float, float]
_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)
_Y_TICKS = 4
_X_TICKS = 6
_ROOM = 1.06
_LABEL_ROOM = 28.0


@dataclass(frozen=True, slots=True)
class ChartDay:
    """A day of a chart: a point of the history, or what a forecast says. None = not there."""

    day: date
    value: float | None = None
    excluded: bool = False
    median: float | None = None
    band80: tuple[float, float] | None = None
    band95: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class Tick:
    """A place on an axis and what stands there."""

    at: float
    value: float
    label: str


@dataclass(frozen=True, slots=True)
class Chart:
    """Coordinates from the upper left corner, y downwards, of a plot of `width` x `height` without its labels."""

    width: float
    height: float
    history: tuple[tuple[Point, ...], ...]
    excluded: tuple[Point, ...]
    median: tuple[Point, ...]
    band80: tuple[Point, ...]
    band95: tuple[Point, ...]
    threshold: float | None
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]


def draw_forecast(days: Sequence[ChartDay], threshold: float | None, *, width: float, height: float) -> Chart | None:
    """The chart of days in order; None without any value. A threshold far above all values is not drawn."""
    highs = [value for day in days for value in (day.value, day.median, day.band95 and day.band95[1]) if value]
    if not highs or not days:
        return None
    shown = threshold if threshold is not None and threshold <= 2 * max(highs) else None
    top = max([*highs, *([shown] if shown is not None else [])]) * _ROOM
    first, span = days[0].day, max((days[-1].day - days[0].day).days, 1)

    def x(day: date) -> float:
        return (day - first).days / span * width

    def y(value: float) -> float:
        return height - value / top * height

    ahead = [day for day in days if day.median is not None]
    return Chart(
        width=width,
        height=height,
        history=_segments([(x(day.day), y(day.value)) if day.value is not None else None for day in days]),
        excluded=tuple((x(day.day), y(day.value)) for day in days if day.excluded and day.value is not None),
        median=tuple((x(day.day), y(day.median)) for day in ahead if day.median is not None),
        band80=_band([(x(day.day), y(day.band80[0]), y(day.band80[1])) for day in ahead if day.band80]),
        band95=_band([(x(day.day), y(day.band95[0]), y(day.band95[1])) for day in ahead if day.band95]),
        threshold=None if shown is None else y(shown),
        x_ticks=_dates(first, span, width),
        y_ticks=tuple(Tick(y(value), value, "") for value in _values(top)),
    )


def _segments(points: Sequence[Point | None]) -> tuple[tuple[Point, ...], ...]:
    """Runs without a gap."""
    runs: list[list[Point]] = [[]]
    for point in points:
        if point is not None:
            runs[-1].append(point)
        elif runs[-1]:
            runs.append([])
    return tuple(tuple(run) for run in runs if run)


def _band(rows: Sequence[tuple[float, float, float]]) -> tuple[Point, ...]:
    return tuple((x, high) for x, _, high in rows) + tuple((x, low) for x, low, _ in reversed(rows))


def _values(top: float) -> list[float]:
    """Round numbers of a binary unit, from zero on."""
    unit = 1024.0 ** math.floor(math.log(top, 1024.0)) if top >= 1 else 1.0
    rough = top / unit / _Y_TICKS
    power = 10.0 ** math.floor(math.log10(rough)) if rough > 0 else 1.0
    step = next(size * power for size in _STEPS if size * power >= rough * (1 - 1e-9)) * unit
    return [n * step for n in range(int(top / step) + 1)]


def _dates(first: date, span: int, width: float) -> tuple[Tick, ...]:
    step = max(math.ceil(span / _X_TICKS), 1)
    days = range(0, span + 1, step)
    return tuple(
        Tick(n / span * width, float(n), f"{first + timedelta(days=n):%d %b}")
        for n in days
        if n == 0 or n / span * width <= width - _LABEL_ROOM / 2
    )
