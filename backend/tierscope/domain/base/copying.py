"""Values made of the fields that another value has under the same names."""

from dataclasses import fields
from functools import cache
from typing import Any, TypeVar, cast

Kind = TypeVar("Kind")


@cache
def _names(kind: type[Any]) -> frozenset[str]:
    return frozenset(field.name for field in fields(kind) if field.init)


def copied(kind: type[Kind], source: object, /, **others: Any) -> Kind:  # noqa: ANN401 - of any type that a field has
    """A `kind`, a dataclass, with the fields of `source` by name, and the `others` as they are given.

    Raises:
        AttributeError: `source` lacks a field that `others` lack too.
        TypeError: `kind` has no field of a name in `others`.
    """
    return kind(**{name: getattr(source, name) for name in _names(cast("Any", kind)) - others.keys()}, **others)
