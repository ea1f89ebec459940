"""What a field of an answer says beyond its type, for the description of the API."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Described:
    """The description of a field, given as `Annotated[type, Described("...")]`. Pydantic asks for it by name."""

    text: str
    pattern: str | None = None
    """What the text of the field looks like."""

    def __get_pydantic_json_schema__(
        self, schema: object, handler: Callable[[object], dict[str, Any]]
    ) -> dict[str, Any]:
        """The JSON schema of the field with its description."""
        pattern = {} if self.pattern is None else {"pattern": self.pattern}
        return {**handler(schema), "description": self.text, **pattern}


def _sent_name(name: str) -> str:
    return name.rstrip("_")


NAMES: Mapping[str, object] = {"alias_generator": _sent_name, "serialize_by_alias": True}
"""`__pydantic_config__` of types with fields such as `from_`, which are sent without the underscore."""
OPTIONAL = "x-fields-with-a-default-may-be-absent"
ASKED: Mapping[str, object] = {"extra": "forbid", "json_schema_extra": {OPTIONAL: True}}
"""`__pydantic_config__` of types whose fields with a default may be absent, such as those that people send.

Unknown fields are refused.
"""
