"""Series that Prometheus sent, and their samples as they came."""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request

from tierscope.api.base.answers import Answer, Cursor, From, Limit, To, answer
from tierscope.api.base.figures import Model
from tierscope.api.base.limited import COSTLY
from tierscope.api.base.permissions import requires
from tierscope.api.base.table_files import Format, answer_with_file
from tierscope.api.base.tables import tabular
from tierscope.api.base.use_cases import use
from tierscope.core.tabular import Column, write_table
from tierscope.domain.base.pages import Page
from tierscope.usecases.ingest.series import SampleRow, SampleSeries, Series, shown_value

router = APIRouter(prefix="/v1/series", tags=["prometheus"], dependencies=[Depends(requires("read:fleet"))])

Match = Annotated[
    str, Query(min_length=1, max_length=2000, description='A selector, such as `node_load1{instance=~"db.*"}`.')
]


_COLUMNS = (
    Column("metric", "text"),
    Column("series", "text"),
    Column("at", "time"),
    Column("value", "number"),
)


class SamplePoints(Model):
    """The samples of one series, exactly as they came. `values` holds numbers, or `NaN`, `+Inf`, `-Inf` as text."""

    id: str
    labels: dict[str, str]
    at: list[datetime]
    values: list[float | str]


class SampleWindow(Model):
    """Samples of a window."""

    series: list[SamplePoints]


Reads = Annotated[Series, Depends(use(lambda held: held.series))]


@router.get("", summary="Series of Prometheus")
@tabular("items")
def list_series(
    request: Request,
    reads: Reads,
    match: Match,
    limit: Limit = 100,
    cursor: Cursor = None,
) -> Answer[Page[SampleSeries]]:
    """The series that a selector means, in the order in which they were first seen."""
    return answer(request, Page[SampleSeries], reads.find(match, cursor=cursor, limit=limit))


@router.get("/samples", dependencies=[COSTLY], summary="Samples of series")
def read_samples(
    request: Request,
    reads: Reads,
    match: Match,
    from_: From = None,
    to: To = None,
    format: Format = "json",
) -> Answer[SampleWindow]:
    """The samples of (from, to] of all series that a selector means, exactly as they came, each time once."""
    rows = reads.samples(match, from_=from_, to=to)
    return answer_with_file(
        request,
        format,
        lambda: answer(request, SampleWindow, SampleWindow(series=_grouped(rows))),
        "samples",
        lambda wanted, told: write_table(_COLUMNS, [_cells(row) for row in rows], wanted, told),
    )


def _cells(row: SampleRow) -> tuple[str, str, datetime, float]:
    return row.series.labels["__name__"], _selector(row.series.labels), row.at, row.value


def _grouped(rows: list[SampleRow]) -> list[SamplePoints]:
    found: dict[int, tuple[SampleRow, list[datetime], list[float | str]]] = {}
    for row in rows:
        _, times, values = found.setdefault(row.series.id, (row, [], []))
        times.append(row.at)
        values.append(shown_value(row.value))
    return [
        SamplePoints(id=str(first.series.id), labels=dict(first.series.labels), at=times, values=values)
        for first, times, values in found.values()
    ]


def _selector(labels: object) -> str:
    """A series as Prometheus writes it."""
    assert isinstance(labels, dict)
    parts = ", ".join(f'{name}="{_quoted(value)}"' for name, value in labels.items() if name != "__name__")
    return f"{labels['__name__']}{{{parts}}}"


def _quoted(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
