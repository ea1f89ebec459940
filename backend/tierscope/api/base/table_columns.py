"""Which columns a table has: read off the description of its answer, so that they do not depend on what is in it.

Parts of an item are columns of their own, joined by dots. A figure is its value, with `.status`, `.lo` and `.hi` beside
it. A list of plain values is a list; other lists, and maps, are JSON as text.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import orjson

from tierscope.core.tabular import Cell, Column, Kind

Schema = Mapping[str, Any]
_FIGURE = {"definition", "status", "value", "unit"}
_SERIES = {"unit", "values"}
_MOMENT = "at"
"""A number of that name is a time in Unix seconds."""
_SCALARS: Mapping[str, Kind] = {"string": "text", "integer": "integer", "number": "number", "boolean": "boolean"}
_FORMATS: Mapping[str, Kind] = {"date-time": "time", "date": "date"}


@dataclass(frozen=True, slots=True)
class Leaf:
    """A column and where its cells are in an item: keys, outermost first. `figure`: where the figure is that it shows.

    Without keys, the item is the cell.
    """

    column: Column
    path: tuple[str, ...]
    figure: tuple[str, ...] | None = None

    def cell(self, item: object) -> Cell:
        """The cell of an item; absent where any part on the way is."""
        found = at(item, self.path)
        if self.column.kind == "time" and isinstance(found, int | float):
            return datetime.fromtimestamp(found, UTC)
        if found is None or isinstance(found, int | float):
            return found if self.column.kind != "text" or found is None else orjson.dumps(found).decode()
        if isinstance(found, str):
            return found
        if isinstance(found, list) and self.column.many:
            return found
        return orjson.dumps(found, option=orjson.OPT_SORT_KEYS).decode()


def at(item: object, path: Sequence[str]) -> Any:  # noqa: ANN401 - what JSON has there
    """What stands at a path; None where a part on the way is absent."""
    for key in path:
        if not isinstance(item, Mapping):
            return None
        item = item.get(key)
    return item


@dataclass(frozen=True, slots=True)
class Shape:
    """The form of a table: the columns of items; none where they are series, which become columns themselves."""

    leaves: tuple[Leaf, ...]
    is_series: bool


def shape_of(document: Schema, part: str | None) -> Shape:
    """The form of the list `part` of an answer, or of the answer itself where it is the list.

    Args:
        document: JSON schema of the answer, with its `$defs`.
        part: the list's name, with dots where it is within a part, or within the items of one; it may be a page.
    """
    walk = _Walk(document.get("$defs", {}))
    found = walk.resolved(document)
    for key in [] if part is None else part.split("."):
        within = found if key in found.get("properties", ()) else walk.item(found)
        found = walk.resolved(within["properties"][key])
    item = walk.item(found)
    if item.get("properties", {}).keys() >= _SERIES:
        return Shape((), is_series=True)
    return Shape(tuple(walk.leaves("", (), item, ())), is_series=False)


class _Walk:
    def __init__(self, definitions: Mapping[str, Schema]) -> None:
        self._definitions = definitions

    def resolved(self, schema: Schema) -> Schema:
        """The schema behind a reference, and behind an option of null."""
        while True:
            if "$ref" in schema:
                schema = self._definitions[schema["$ref"].rpartition("/")[2]]
                continue
            options = [one for one in schema.get("anyOf", ()) if one.get("type") != "null"]
            if len(options) != 1:
                return schema
            schema = options[0]

    def item(self, schema: Schema) -> Schema:
        """What a list or a page holds; the schema itself where it is neither."""
        page = schema.get("properties", {}).get("items")
        found = schema if page is None else self.resolved(page)
        return self.resolved(found["items"]) if found.get("type") == "array" else found

    def leaves(self, name: str, path: tuple[str, ...], schema: Schema, outer: tuple[int, ...]) -> Iterator[Leaf]:
        schema = self.resolved(schema)
        properties = schema.get("properties")
        if properties is None or id(schema) in outer:
            kind, many = self._kind(schema)
            moment = kind == "number" and path[-1:] == (_MOMENT,)
            yield Leaf(Column(name or "value", "time" if moment else kind, many), path)
        elif properties.keys() >= _FIGURE:
            value, _ = self._kind(self.resolved(properties["value"]))
            yield Leaf(Column(name, value), (*path, "value"), figure=path)
            yield Leaf(Column(f"{name}.status", "text"), (*path, "status"))
            for end in ("lo", "hi"):
                yield Leaf(Column(f"{name}.{end}", "number"), (*path, "interval", end), figure=path)
        else:
            for key, part in properties.items():
                yield from self.leaves(f"{name}.{key}" if name else key, (*path, key), part, (*outer, id(schema)))

    def _kind(self, schema: Schema) -> tuple[Kind, bool]:
        """What cells are, and whether they are lists of it; JSON as text where they are neither."""
        if schema.get("type") == "array":
            inner = self.resolved(schema.get("items", {}))
            kind = self._scalar(inner)
            return ("text", False) if kind is None else (kind, True)
        return self._scalar(schema) or "text", False

    def _scalar(self, schema: Schema) -> Kind | None:
        if "anyOf" in schema:
            kinds = {self._scalar(self.resolved(one)) for one in schema["anyOf"] if one.get("type") != "null"}
            if kinds == {"integer", "number"}:
                return "number"
            return kinds.pop() if len(kinds) == 1 else None
        kind = _SCALARS.get(str(schema.get("type")))
        return _FORMATS.get(str(schema.get("format")), kind) if kind == "text" else kind
