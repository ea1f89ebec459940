"""Files of tables: which one a request asks for, what it says beside its rows, and how the API is described."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Annotated, Any, Literal, Never, TypeVar

import orjson
from fastapi import Query, Request

import tierscope
from tierscope.api.base.answers import Answer, answer_file
from tierscope.api.base.table_columns import Leaf, at
from tierscope.core.clock import utc_now
from tierscope.core.tabular import MEDIA_TYPES, SUFFIXES, FileFormat

T = TypeVar("T")
Wanted = FileFormat | Literal["json"]
Format = Annotated[
    Literal["json", "csv", "parquet", "arrow"],
    Query(
        description="A file of the table, `arrow` as an Arrow IPC stream. Without it, the header Accept chooses. "
        "Of a list without `limit`, the file has all pages, 50,000 rows at most."
    ),
]
NEXT_CURSOR = "X-Next-Cursor"
ORIGIN = "X-Origin"
FILE_HEADERS: Mapping[str, Mapping[str, Any]] = {
    "NextCursor": {
        "schema": {"type": "string"},
        "description": "Of a file that does not hold the whole list: the cursor of the next one.",
    },
    "Origin": {
        "schema": {"type": "string", "enum": ["simulated", "measured", "mixed", "unknown"]},
        "description": "Of a file: where its data comes from.",
    },
}
FILE_ANSWER: Mapping[str, Mapping[str, Any]] = {
    "content": {
        "text/csv": {"schema": {"type": "string"}},
        **{MEDIA_TYPES[one]: {"schema": {"type": "string", "format": "binary"}} for one in ("parquet", "arrow")},
    },
    "headers": {
        NEXT_CURSOR: {"$ref": "#/components/headers/NextCursor"},
        ORIGIN: {"$ref": "#/components/headers/Origin"},
    },
}
"""What a route with `format` answers beside JSON, as OpenAPI says it."""


def wanted_format(request: Request, format: Wanted) -> Wanted:
    """The format that a request asks for: the parameter's, else what Accept prefers; JSON where both leave it open."""
    if "format" in request.query_params:
        return format
    accepted = list(_accepted(request.headers.get("accept", "")))
    best: tuple[float, Wanted] = (0.0, "json")
    offers: list[tuple[Wanted, str]] = [("json", "application/json"), *MEDIA_TYPES.items()]
    for offer, media in offers:
        weight = max((weight for name, weight in accepted if name == media.partition(";")[0]), default=0.0)
        best = (weight, offer) if weight > best[0] else best
    return best[1]


def answer_with_file(
    request: Request,
    format: Wanted,
    json: Callable[[], Answer[T]],
    name: str,
    write: Callable[[FileFormat, Mapping[str, str]], bytes],
    document: Callable[[], object] = lambda: None,
) -> Answer[T]:
    """Answer JSON, or a table that a use case makes itself.

    Args:
        request: what was asked.
        format: what the parameter of that name says.
        json: makes the answer in JSON.
        name: of the file, without its ending.
        write: makes the file of this format, with this metadata in its schema.
        document: the answer as JSON has it, which says where the data of a file comes from.
    """
    wanted = wanted_format(request, format)
    if wanted == "json":
        return chosen_by_accept(json())
    facts = TableFacts()
    facts.note(document())
    return file_of(write(wanted, facts.metadata(request, name)), name, wanted, {ORIGIN: facts.origin})


def chosen_by_accept(found: Answer[T]) -> Answer[T]:
    """An answer in JSON that could have been a file: caches have to tell them apart."""
    found.headers.append("Vary", "Accept")
    return found


def file_of(body: bytes, name: str, file_format: FileFormat, headers: Mapping[str, str] | None = None) -> Answer[Never]:
    """Answer a finished table as a file of that name."""
    told = {"Cache-Control": "no-store", "Vary": "Accept", **(headers or {})}
    return answer_file(body, f"{name}.{SUFFIXES[file_format]}", MEDIA_TYPES[file_format], told)


def _accepted(header: str) -> Iterator[tuple[str, float]]:
    """Media types of a header Accept that are named in full, with their weights."""
    for one in header.split(","):
        name, *words = (word.strip().lower() for word in one.split(";"))
        weight = next((word[2:] for word in words if word.startswith("q=")), "1")
        try:
            yield name, float(weight)
        except ValueError:
            continue


class TableFacts:
    """What a file says of its table as a whole."""

    def __init__(self) -> None:
        self.next_cursor: str | None = None
        self._origins: set[str] = set()
        self._window: Mapping[str, str] | None = None
        self._resolution: str | None = None
        self._units: dict[str, str] = {}
        self._definitions: dict[str, str] = {}
        self._notes: list[str] = []

    def note(self, document: Any) -> None:  # noqa: ANN401 - JSON
        """Take what an answer says of where its data comes from, of its window and of what to mind."""
        self.next_cursor = next_cursor_of(document)
        self._origins.update(_origins(document))
        if isinstance(document, Mapping):
            self._resolution = at(document, ("axis", "resolution"))
            self._window = document.get("window") or at(document, ("axis", "window"))
            self._notes += [one for one in document.get("notes") or () if one not in self._notes]

    def note_units(self, units: Mapping[str, str]) -> None:
        """Take units by column."""
        self._units |= units

    def note_figures(self, leaves: Iterable[Leaf], items: Sequence[Any]) -> None:
        """Take the units and definitions of columns of figures, which all their cells share."""
        missing = [leaf for leaf in leaves if leaf.figure is not None and leaf.column.name not in self._units]
        for leaf in missing:
            figures = (at(item, leaf.figure or ()) for item in items)
            figure = next((one for one in figures if one is not None), None)
            if figure is not None:
                self._units[leaf.column.name] = figure["unit"]
                self._definitions[leaf.column.name] = figure["definition"]

    @property
    def origin(self) -> str:
        """Where the data comes from: `measured` on hosts, live or from their recordings, or `simulated`."""
        found = {"simulated" if one == "simulated" else "measured" for one in self._origins}
        return "mixed" if len(found) > 1 else next(iter(found), "unknown")

    def metadata(self, request: Request, name: str) -> Mapping[str, str]:
        """What stands in the schema of the file, under the names of the dashboard's files."""
        facts = {
            "title": name,
            "origin": self.origin,
            "units": orjson.dumps(self._units).decode(),
            "definitions": orjson.dumps(self._definitions).decode(),
            "notes": orjson.dumps(self._notes).decode(),
            "request": request.url.path + (f"?{request.url.query}" if request.url.query else ""),
            "version": tierscope.__version__,
            "exported_at": utc_now().isoformat(),
        }
        if self._window is not None:
            facts |= {f"window_{end}": _utc(self._window[end]) for end in ("start", "end")}
        if self._resolution is not None:
            facts["resolution"] = self._resolution
        if self.next_cursor is not None:
            facts["next_cursor"] = self.next_cursor
        return facts


def _utc(text: str) -> str:
    return datetime.fromisoformat(text).astimezone(UTC).isoformat()


def _origins(value: object) -> Iterator[str]:
    """Origins that an answer names, of itself and of what is in it."""
    if isinstance(value, Mapping):
        if isinstance(value.get("origin"), str):
            yield value["origin"]
        if isinstance(value.get("simulated"), bool):
            yield "simulated" if value["simulated"] else "measured"
        for part in value.values():
            if isinstance(part, Mapping | list):
                yield from _origins(part)
    elif isinstance(value, list):
        for part in value:
            if isinstance(part, Mapping | list):
                yield from _origins(part)


def next_cursor_of(document: object) -> str | None:
    """The cursor of a page, or of the one page in an answer."""
    if not isinstance(document, Mapping):
        return None
    pages = [document, *(part for part in document.values() if isinstance(part, Mapping) and "items" in part)]
    return next((page["next_cursor"] for page in pages if page.get("next_cursor")), None)
