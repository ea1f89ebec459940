"""What a field of an answer says beyond its type, for the description of the API."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Described:
    """The description of a field, given as `Annotated[type, Described("...")]`. Pydantic asks for it by name."""

    text: str

    def __get_pydantic_json_schema__(
        self, schema: object, handler: Callable[[object], dict[str, Any]]
    ) -> dict[str, Any]:
        """The JSON schema of the field with its description."""
        return {**handler(schema), "description": self.text}
