"""Answers in the shape that clients of Prometheus read."""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import TypeAdapter

from tierscope.domain.base.described import Described
from tierscope.domain.promql.budget import Budget
from tierscope.domain.promql.evaluate import Steps
from tierscope.domain.promql.series import Labels, Scalar, Text, Value, Vector
from tierscope.usecases.promql.sources import MetricHelp

Point = tuple[float, str]
"""Unix seconds, and the value as text: numbers, or `NaN`, `+Inf`, `-Inf`."""


@dataclass(frozen=True, slots=True)
class InstantSeries:
    """A series with its value at one moment."""

    metric: dict[str, str]
    value: Point


@dataclass(frozen=True, slots=True)
class RangeSeries:
    """A series with its values over a range; steps without a value are left out."""

    metric: dict[str, str]
    values: list[Point]


@dataclass(frozen=True, slots=True)
class VectorResult:
    """Series with one value each."""

    resultType: Literal["vector"]  # noqa: N815 - as Prometheus calls it
    result: list[InstantSeries]


@dataclass(frozen=True, slots=True)
class MatrixResult:
    """Series with values over a range."""

    resultType: Literal["matrix"]  # noqa: N815 - as Prometheus calls it
    result: list[RangeSeries]


@dataclass(frozen=True, slots=True)
class SingleResult:
    """A number or a text at one moment."""

    resultType: Literal["scalar", "string"]  # noqa: N815 - as Prometheus calls it
    result: Point


Result = VectorResult | MatrixResult | SingleResult


@dataclass(frozen=True, slots=True)
class QueryAnswer:
    """The answer to a query."""

    status: Literal["success"]
    data: Result


@dataclass(frozen=True, slots=True)
class TextsAnswer:
    """Names or values of labels, in order."""

    status: Literal["success"]
    data: list[str]


@dataclass(frozen=True, slots=True)
class SeriesAnswer:
    """Labels of series."""

    status: Literal["success"]
    data: list[dict[str, str]]


@dataclass(frozen=True, slots=True)
class MetadataAnswer:
    """What metrics are, by name; of series that were written nothing is known."""

    status: Literal["success"]
    data: dict[str, list[MetricHelp]]


@dataclass(frozen=True, slots=True)
class Build:
    """What answers. The version is that of the Prometheus whose PromQL is spoken, so that clients know what to send."""

    version: str
    revision: Annotated[str, Described("The version of Tierscope.")]
    branch: str
    buildUser: str  # noqa: N815 - as Prometheus calls it
    buildDate: str  # noqa: N815 - as Prometheus calls it
    goVersion: str  # noqa: N815 - as Prometheus calls it


@dataclass(frozen=True, slots=True)
class BuildAnswer:
    """What answers queries."""

    status: Literal["success"]
    data: Build


@dataclass(frozen=True, slots=True)
class QueryProblem:
    """Why there is no answer."""

    status: Literal["error"]
    errorType: Literal["bad_data", "execution", "timeout", "internal", "unavailable"]  # noqa: N815 - as Prometheus calls it
    error: str


_range_series, _answer = TypeAdapter(RangeSeries), TypeAdapter(QueryAnswer)
_POINT_BYTES = 250
"""Of a time and a value before they are text."""


def show_instant(value: Value, steps: Steps) -> Result:
    """The value of an expression at one moment."""
    at_s = steps.start_ms / 1e3
    if isinstance(value, Scalar):
        return SingleResult("scalar", (at_s, show_number(float(value.values[0]))))
    if isinstance(value, Text):
        return SingleResult("string", (at_s, value.value))
    values = value.values[:, 0].tolist()
    rows = zip(value.labels, values, value.present[:, 0].tolist(), strict=True)
    return VectorResult(
        "vector", [InstantSeries(dict(labels), (at_s, show_number(one))) for labels, one, there in rows if there]
    )


def show_range(value: Vector, steps: Steps) -> Iterator[RangeSeries]:
    """The values of an expression over a range, by labels, one series after another."""
    times_s = (steps.times_ms() / 1e3).tolist()
    for row in sorted(range(len(value)), key=lambda at: value.labels[at]):
        cells = zip(times_s, value.values[row].tolist(), value.present[row].tolist(), strict=True)
        points = [(at_s, show_number(one)) for at_s, one, there in cells if there]
        if points:
            yield RangeSeries(dict(value.labels[row]), points)


def matrix_body(series: Iterable[RangeSeries], budget: Budget) -> bytes:
    """The answer with these series: each becomes text before the next is made.

    Raises:
        TooMuch: the answer would be too large.
        TimedOut: the time of the query is over.
    """
    parts = []
    for one in series:
        budget.room(len(one.values) * _POINT_BYTES)
        part = _range_series.dump_json(one)
        budget.keep(2 * len(part))  # all of them are joined in the end
        parts.append(part)
    return b'{"status":"success","data":{"resultType":"matrix","result":[' + b",".join(parts) + b"]}}"


def answer_body(result: Result) -> bytes:
    """The answer with a small result."""
    return _answer.dump_json(QueryAnswer("success", result))


def show_samples(labels: Labels, times_ms: list[int], values: list[float]) -> RangeSeries:
    """Samples of a series as stored."""
    return RangeSeries(
        dict(labels), [(at_ms / 1e3, show_number(one)) for at_ms, one in zip(times_ms, values, strict=True)]
    )


def show_number(value: float) -> str:
    """A number as clients of Prometheus read it."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    return repr(value).removesuffix(".0")
