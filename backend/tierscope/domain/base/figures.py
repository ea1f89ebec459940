"""Figures: a number with its evidence, or the reason why there is none. Attributes are those of the API's models.

A number that could not be had is `not_collected` (nobody measured it), `not_supported` (this host cannot tell) or
`not_enough_data`; it is never zero.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from datetime import datetime
from typing import Annotated, Literal, TypeVar, cast

import numpy as np
import numpy.typing as npt

from tierscope.domain.base.described import Described

FigureStatus = Literal["ok", "not_collected", "not_supported", "not_enough_data"]
AbsentStatus = Literal["not_collected", "not_supported", "not_enough_data"]
Grade = Literal["early", "partial", "good"]
Answer = TypeVar("Answer")
Origin = Literal["live", "import", "simulated"]
Resolution = Literal["raw", "1m", "10m", "1h", "1d"]
_LITTLE = 0.05
"""Of a window: data that begins later was not there for all of it. [A]"""


@dataclass(frozen=True, slots=True)
class Interval:
    """An interval around a value. `kind` tells a confidence interval from hard bounds."""

    lo: float
    hi: float
    level: Annotated[float | None, Described("Confidence level, 0..1; null for hard bounds.")]
    kind: Literal["confidence", "bounds", "range"]


@dataclass(frozen=True, slots=True)
class Window:
    """The stretch of time a figure speaks of: half-open [start, end), UTC."""

    start: datetime
    end: datetime

    @property
    def seconds(self) -> float:
        """Its length."""
        return (self.end - self.start).total_seconds()

    def seen_from(self, first: datetime) -> "Window":
        """What a figure speaks of that was observed from `first` on: all of it where little is missing at its start."""
        return self if first - self.start <= _LITTLE * (self.end - self.start) else Window(first, self.end)


@dataclass(frozen=True, slots=True)
class Figure:
    """One number with its evidence; `value` is None unless `status` is ok."""

    definition: Annotated[
        str,
        Described("Definition id, such as `heat.hot_ratio/1`; a changed formula has a new id."),
    ]
    status: FigureStatus
    value: Annotated[float | None, Described("Null unless status is ok.")]
    unit: Annotated[str, Described("`ratio`, `bytes`, `pages_per_s`, `ns`, ...")]
    reason: Annotated[str | None, Described("Why there is no value, and what is missing.")] = None
    method: Annotated[str | None, Described("pebs | ibs | spe | damon | abit | referenced | trace | counters")] = None
    window: Window | None = None
    interval: Interval | None = None
    n_hosts: int | None = None
    n_intervals: int | None = None
    n_samples: int | None = None
    coverage: Annotated[float | None, Described("Share of what should have been observed that was, 0..1.")] = None
    grade: Grade | None = None
    grounding: Annotated[
        str, Described("S source paper, L literature or kernel text, R not re-checked, A assumption.")
    ] = "A"
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Series:
    """A named line over time. Times stand once, in the enclosing answer; a gap is null."""

    key: str
    label: str
    unit: str
    values: tuple[float | None, ...]


@dataclass(frozen=True, slots=True)
class TimeAxis:
    """The times of all series in one answer: ends of buckets, UTC, Unix seconds."""

    window: Window
    resolution: Resolution
    step_seconds: Annotated[float | None, Described("Null at raw resolution, where the spacing is as measured.")]
    times: tuple[float, ...]


def absent(
    definition: str,
    unit: str,
    status: AbsentStatus,
    reason: str,
    *,
    window: Window | None = None,
    method: str | None = None,
) -> Figure:
    """A figure without a number: which kind of nothing, and what is missing."""
    return Figure(definition, status, None, unit, reason=reason, window=window, method=method)


def doubt_figures(answer: Answer, doubts: Sequence[str]) -> Answer:
    """The same answer with none of its figures above `partial`, where a file that they may stand on had a problem."""
    if not doubts:
        return answer
    found: object = answer
    if isinstance(answer, tuple):
        found = tuple(doubt_figures(part, doubts) for part in answer)
    elif isinstance(answer, Figure):
        found = doubted(answer, doubts[0])
    elif is_dataclass(answer) and not isinstance(answer, type):
        parts = {field.name: doubt_figures(getattr(answer, field.name), doubts) for field in fields(answer)}
        found = replace(answer, **parts)
    return cast("Answer", found)


def doubted(figure: Figure, why: str) -> Figure:
    """The same at most `partial`, with a warning that says why; as it is where it has no value."""
    if figure.value is None:
        return figure
    grade = "partial" if figure.grade == "good" else figure.grade
    return replace(figure, grade=grade, warnings=(*figure.warnings, why))


def gaps_to_none(values: npt.NDArray[np.float64] | Sequence[float]) -> tuple[float | None, ...]:
    """NaN and infinities as None, the others as Python floats."""
    table = np.asarray(values, np.float64)
    found: list[float | None] = table.tolist()
    for place in np.flatnonzero(~np.isfinite(table)).tolist():
        found[place] = None
    return tuple(found)
