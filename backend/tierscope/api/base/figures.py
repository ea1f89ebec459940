"""The shapes that every answer is made of: figures, series, pages of a list, time windows.

A figure never travels as a bare number. It says what it is (definition id), in which unit, how and from what it
was measured, how sure it is, and, when there is no number, which kind of nothing this is.
"""

from datetime import datetime
from typing import Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from tierscope.domain.base.figures import Grade

FigureStatus = Literal["ok", "not_collected", "not_supported", "not_enough_data"]


PageKind = Literal["anon", "file", "tmpfs"]

Resolution = Literal["raw", "1m", "10m", "1h", "1d"]


MAX_COUNT = 2**31 - 1
"""The largest count, version or number of seconds that a stored integer holds."""


class Model(BaseModel):
    """Base of all request and response bodies: unknown fields are refused, nothing has a hidden default."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Interval(Model):
    """An interval around a value. `kind` tells a confidence interval from hard bounds."""

    lo: float
    hi: float
    level: float | None = Field(description="Confidence level, 0..1; null for hard bounds.")
    kind: Literal["confidence", "bounds", "range"]


class Window(Model):
    """The stretch of time a figure speaks of: half-open [start, end), UTC."""

    start: datetime
    end: datetime


class Figure(Model):
    """One number with its evidence."""

    definition: str = Field(description="Definition id, such as `heat.hot_ratio/1`; a changed formula has a new id.")
    status: FigureStatus
    value: float | None = Field(description="Null unless status is ok.")
    unit: str = Field(description="`ratio`, `bytes`, `pages_per_s`, `ns`, ...")
    reason: str | None = Field(description="Why there is no value, and what is missing.")
    method: str | None = Field(description="pebs | ibs | spe | damon | abit | referenced | trace | counters")
    window: Window | None
    interval: Interval | None
    n_hosts: int | None
    n_intervals: int | None
    n_samples: int | None
    coverage: float | None = Field(description="Share of what should have been observed that was, 0..1.")
    grade: Grade | None
    grounding: str = Field(description="S source paper, L literature or kernel text, R not re-checked, A assumption.")
    warnings: list[str]


class Series(Model):
    """A named line over time. Times stand once, in the enclosing answer; a gap is null."""

    key: str
    label: str
    unit: str
    values: list[float | None]


class TimeAxis(Model):
    """The times of all series in one answer: ends of buckets, UTC, Unix seconds."""

    window: Window
    resolution: Resolution
    step_seconds: float | None = Field(description="Null at raw resolution, where the spacing is as measured.")
    times: list[float]


T = TypeVar("T")


class Page(Model, Generic[T]):
    """One page of a list, in a stable order. `next_cursor` is null on the last page."""

    items: list[T]
    next_cursor: str | None


class Problem(Model):
    """RFC 9457 problem details: the cause and the next step."""

    type: str
    title: str
    status: int
    detail: str
    next_step: str
    instance: str | None = None
