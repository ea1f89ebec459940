"""What a field of an answer says beyond its type, for the description of the API."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any, Literal


@dataclass(frozen=True, slots=True)
class Described:
    """The description of a field, given as `Annotated[type, Described("...")]`. Pydantic asks for it by name."""

    text: str
    pattern: str | None = None
    """What the text of the field looks like."""
    as_of: Literal["now", "inventory"] | None = None
    """What it tells of, if not of the window asked for; `inventory`: the newest at the window's end, else the first."""

    def __get_pydantic_json_schema__(
        self, schema: object, handler: Callable[[object], dict[str, Any]]
    ) -> dict[str, Any]:
        pattern = {} if self.pattern is None else {"pattern": self.pattern}
        as_of = {} if self.as_of is None else {AS_OF: self.as_of}
        return {**handler(schema), "description": self.text, **pattern, **as_of}


AS_OF = "x-as-of"
NOW = Described("Of now, whatever window is asked for.", as_of="now")


@dataclass(frozen=True, slots=True)
class AsOf:
    """Which fields of an answer tell of now, whatever window is asked for."""

    at: datetime
    fields: tuple[str, ...]


def now_fields(kind: type[Any], at: datetime) -> AsOf:
    """The fields of an answer that are described so."""
    return AsOf(at, tuple(field.name for field in fields(kind) if _is_of_now(field.type)))


def _is_of_now(kind: object) -> bool:
    return any(isinstance(note, Described) and note.as_of == "now" for note in getattr(kind, "__metadata__", ()))


def _sent_name(name: str) -> str:
    return name.rstrip("_")


NAMES: Mapping[str, object] = {"alias_generator": _sent_name, "serialize_by_alias": True}
"""`__pydantic_config__` of types with fields such as `from_`, which are sent without the underscore."""
OPTIONAL = "x-fields-with-a-default-may-be-absent"
ASKED: Mapping[str, object] = {"extra": "forbid", "json_schema_extra": {OPTIONAL: True}}
"""`__pydantic_config__` of types whose fields with a default may be absent, such as those that people send.

Unknown fields are refused.
"""
