"""Answers as tables, for files: a row for each item of a list, or for each moment of series.

A figure is its value, with its status beside it; where there is no value the cell is empty, never zero. A series has
its unit in the column's name.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

import orjson
from fastapi import Query, Request

from tierscope.api.base.answers import Answer, T, answer, answer_file, plain
from tierscope.core.tabular import MEDIA_TYPES, Cell, FileFormat, write_table

Format = Annotated[
    Literal["json", "csv", "parquet"], Query(description="`csv` and `parquet` answer the table as a file.")
]
FILES: dict[int | str, dict[str, Any]] = {
    200: {
        "content": {media.partition(";")[0]: {"schema": {"type": "string"}} for media in MEDIA_TYPES.values()},
        "headers": {
            "X-Next-Cursor": {
                "schema": {"type": "string"},
                "description": "Of a file that is one page of a list: the cursor of the next.",
            }
        },
    }
}
NEXT_CURSOR = "X-Next-Cursor"
_FIGURE = {"definition", "status", "value", "unit"}
Table = tuple[Sequence[str], Sequence[Sequence[Cell]]]


def answer_or_file(
    request: Request,
    model: type[T],
    value: T,
    *,
    name: str,
    format: FileFormat | Literal["json"],
    part: str | None = None,
) -> Answer[T]:
    """The answer as JSON, or its table as a file of that name; `part` names the list in an answer that has more."""
    if format == "json":
        return answer(request, model, value)
    document = plain(model, value)
    document = document if part is None else document[part]
    columns, rows = table_of_series(document) if "axis" in document else table_of_items(document["items"])
    headers = {"Cache-Control": "no-store"}
    if document.get("next_cursor"):
        headers[NEXT_CURSOR] = str(document["next_cursor"])
    return answer_file(write_table(columns, rows, format), f"{name}.{format}", MEDIA_TYPES[format], headers)


def table_of_items(items: Iterable[Mapping[str, Any]]) -> Table:
    """A row for each item; parts of an item are columns of their own, lists are one text."""
    flat = [dict(_cells("", item)) for item in items]
    columns = list(dict.fromkeys(name for row in flat for name in row))
    return columns, [[row.get(name) for name in columns] for row in flat]


def table_of_series(document: Mapping[str, Any]) -> Table:
    """A row for each moment of the axis, a column for each series."""
    series = document["series"]
    columns, values = ["time"], []
    for one in series:
        key = one.get("key") or "|".join((one["scope"], one["source"], one["name"]))
        for suffix, column in (("", one["values"]), ("/s", one.get("per_s"))):
            if column is not None:
                columns.append(f"{key} [{one['unit']}{suffix}]")
                values.append(column)
    times = [datetime.fromtimestamp(at, UTC).isoformat() for at in document["axis"]["times"]]
    return columns, [[at, *(column[i] for column in values)] for i, at in enumerate(times)]


def _cells(prefix: str, value: Mapping[str, Any]) -> Iterable[tuple[str, Cell]]:
    for key, part in value.items():
        name = f"{prefix}{key}"
        if isinstance(part, Mapping) and part.keys() >= _FIGURE:
            yield name, part["value"]
            yield f"{name}.status", part["status"]
        elif isinstance(part, Mapping):
            yield from _cells(f"{name}.", part)
        elif isinstance(part, list):
            yield name, ", ".join(one if isinstance(one, str) else orjson.dumps(one).decode() for one in part)
        else:
            yield name, part
