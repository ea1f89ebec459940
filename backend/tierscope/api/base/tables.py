"""Answers as tables, for files: a row for each item of a list, or for each moment of series.

A route is declared once:

    @router.get("", summary="Hosts")
    @tabular("items")
    def list_hosts(request: Request, ...) -> Answer[Page[HostSummary]]:

It then takes `format`, and answers the file that it or the header Accept names. The columns follow from the answer's
type (table_columns.py); a series has its unit in the column's name. What a file needs beside its rows, such as where
the data comes from, is in the schema's metadata, under the names of the dashboard's files (docs/howto/export.md).
Decision: docs/decisions/0022-answers-as-tables.md.
"""

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache, wraps
from typing import Annotated, Any, Never, TypeVar, get_args

import orjson
from fastapi import Query, Request
from fastapi.concurrency import run_in_threadpool
from pydantic import AfterValidator, TypeAdapter

from tierscope.api.base.answers import OK, Answer, answer_again
from tierscope.api.base.limited import question, reader_budget
from tierscope.api.base.table_columns import Shape, shape_of
from tierscope.api.base.table_files import (
    NEXT_CURSOR,
    ORIGIN,
    Format,
    TableFacts,
    Wanted,
    chosen_by_accept,
    file_of,
    next_cursor_of,
    wanted_format,
)
from tierscope.api.base.use_cases import use_cases
from tierscope.core.tabular import Cell, Column, FileFormat, TableFile
from tierscope.usecases.access.tokens import Caller

T = TypeVar("T")
MAX_FILE_ROWS = 50_000
"""A file of a list ends with the page that reaches this; X-Next-Cursor leads on."""
_PAGE = 1000


def tabular(*parts: str, quick: bool = False) -> Callable[[Callable[..., Answer[T]]], Callable[..., object]]:
    """Declares that a route's answer is a table as well, which it then answers as a file where one is asked for.

    Files, and JSON that is neither `quick` nor a page of a list, wait for their turn and have a budget (limited.py).

    Args:
        parts: names of the lists and series in the answer, as in table_columns.py; the first one is the table unless
            `table` names another. None where the answer itself is the list.
        quick: the answer is short, and made of a few rows.
    """

    def declare(handler: Callable[..., Answer[T]]) -> Callable[..., object]:
        signature = inspect.signature(handler)
        (model,) = get_args(signature.return_annotation)
        first = parts[0] if parts else None
        is_shared = not any(Caller in get_args(one.annotation) for one in signature.parameters.values())
        is_quick = quick or ("cursor" in signature.parameters and "from_" not in signature.parameters)

        @wraps(handler)
        async def answer_as_asked(*, format: Wanted, table: str | None = first, **given: Any) -> Answer[T]:  # noqa: ANN401
            request: Request = given["request"]
            wanted = wanted_format(request, format)
            if wanted != "json":
                async with question(request, reader_budget):
                    documents = _documents(handler, given)
                    return await run_in_threadpool(_answer_table, request, wanted, model, table, documents)
            if is_quick:
                return chosen_by_accept(await run_in_threadpool(handler, **given))
            return chosen_by_accept(await _take_turn(handler, given, is_shared=is_shared))

        added = [inspect.Parameter("format", inspect.Parameter.KEYWORD_ONLY, default="json", annotation=Format)]
        if len(parts) > 1:
            added.append(_table_parameter(parts))
        answer_as_asked.__signature__ = signature.replace(  # type: ignore[attr-defined]
            parameters=[*signature.parameters.values(), *added]
        )
        answer_as_asked.takes_turn = not is_quick  # type: ignore[attr-defined]
        return answer_as_asked

    return declare


async def _take_turn(handler: Callable[..., Answer[T]], given: dict[str, Any], *, is_shared: bool) -> Answer[T]:
    """The answer for whoever asks; those who ask for the same at once share one."""
    request: Request = given["request"]
    if request.method != "GET" or not is_shared:
        async with question(request, reader_budget):
            return await run_in_threadpool(handler, **given)
    unconditional = given | {"request": _unconditional(request)}
    found = await use_cases(request).at_once.get(
        f"{request.url.path}?{request.url.query}",
        lambda: run_in_threadpool(handler, **unconditional),
        turn=lambda shared: question(unconditional["request"], reader_budget, shared=shared),
    )
    return answer_again(request, found)


def _table_parameter(parts: Sequence[str]) -> inspect.Parameter:
    shown = Query(description="Which table a file has.", json_schema_extra={"enum": list(parts)})
    known = AfterValidator(lambda name: _checked(name, parts))
    return inspect.Parameter(
        "table", inspect.Parameter.KEYWORD_ONLY, default=parts[0], annotation=Annotated[str, shown, known]
    )


def _checked(name: str, parts: Sequence[str]) -> str:
    if name not in parts:
        raise ValueError(f"there is no table {name!r} here, but {', '.join(parts)}")
    return name


def _documents(handler: Callable[..., Answer[T]], given: dict[str, Any]) -> Iterator[Any]:
    """The answer; of a list whose `limit` is not given, all its pages, each made when it is reached."""
    request: Request = given["request"]
    given["request"] = _unconditional(request)
    paged = {"limit", "cursor"} <= given.keys() and "limit" not in request.query_params
    if paged:
        given["limit"] = _PAGE
    while True:
        found = handler(**given)
        assert found.status_code == OK, "without a condition there is an answer, or an error is raised"
        document = orjson.loads(found.body)
        yield document
        cursor = next_cursor_of(document)
        if not paged or cursor is None:
            return
        given["cursor"] = cursor


def _unconditional(request: Request) -> Request:
    """The request without the ETag that its caller has: that is one of a file, not of the JSON behind it."""
    headers = [(name, value) for name, value in request.scope["headers"] if name != b"if-none-match"]
    return Request({**request.scope, "headers": headers}, request.receive)


def _answer_table(
    request: Request, file_format: FileFormat, model: object, part: str | None, documents: Iterable[Any]
) -> Answer[Never]:
    shape = _shape(model, part)
    facts = TableFacts()
    file: TableFile | None = None
    rows = 0
    for document in documents:
        times, items = _part(document, part)
        facts.note(document)
        if shape.is_series:
            columns, cells, units = _series(times, items)
            facts.note_units(units)
        else:
            columns = [leaf.column for leaf in shape.leaves]
            cells = [[leaf.cell(item) for leaf in shape.leaves] for item in items]
            facts.note_figures(shape.leaves, items)
        file = file or TableFile(columns, file_format)
        file.add(cells)
        rows += len(cells)
        if rows >= MAX_FILE_ROWS:
            break
    assert file is not None, "there is an answer, or an error was raised"
    headers = {ORIGIN: facts.origin}
    if facts.next_cursor is not None:
        headers[NEXT_CURSOR] = facts.next_cursor
    name = _file_name(request, part) + ("-simulated" if facts.origin == "simulated" else "")
    return file_of(file.finish(facts.metadata(request, name)), name, file_format, headers)


def _file_name(request: Request, part: str | None) -> str:
    """The last noun of the address, and the table's name where it adds to that."""
    noun = next(word for word in reversed(request.scope["route"].path.split("/")) if "{" not in word)
    return noun if part in (None, "items", "series") else f"{noun}-{part.replace('.', '-')}"


@cache
def _shape(model: Any, part: str | None) -> Shape:  # noqa: ANN401 - whatever type a route answers
    return shape_of(TypeAdapter(model).json_schema(mode="serialization"), part)


def _part(document: Any, part: str | None) -> tuple[Sequence[float], Sequence[Any]]:  # noqa: ANN401 - JSON
    """The items that a table has, and the times of its moments where they are series."""
    found, times = document, list[float]()
    for key in [] if part is None else part.split("."):
        if isinstance(found, Mapping):
            axis = found.get(f"{key}_axis") or found.get("axis")
            times = times if axis is None else axis["times"]
            found = found[key]
        else:
            found = [_named(outer, inner) for outer in found for inner in outer[key]]
        found = [] if found is None else found
    return times, found["items"] if isinstance(found, Mapping) else found


def _named(outer: Mapping[str, Any], inner: Mapping[str, Any]) -> Mapping[str, Any]:
    """A series within an item, its key told from those within others."""
    of = next((outer[name] for name in ("key", "metric", "name") if name in outer), None)
    return inner if of in (None, inner["key"]) else {**inner, "key": f"{of}/{inner['key']}"}


def _series(
    times: Sequence[float], items: Iterable[Mapping[str, Any]]
) -> tuple[list[Column], list[list[Cell]], Mapping[str, str]]:
    """A row for each moment, a column for each series; one of rates beside that of a counter. And columns' units."""
    columns, values, units = [Column("time", "time")], [], {}
    for one in items:
        key = one.get("key") or "|".join((one["scope"], one["source"], one["name"]))
        for suffix, found in (("", one["values"]), ("/s", one.get("per_s"))):
            if found is not None:
                unit = f"{one['unit']}{suffix}"
                columns.append(Column(f"{key} [{unit}]", "number"))
                values.append(found)
                units[columns[-1].name] = unit
    rows: list[list[Cell]] = [
        [datetime.fromtimestamp(moment, UTC), *(found[i] for found in values)] for i, moment in enumerate(times)
    ]
    return columns, rows, units
