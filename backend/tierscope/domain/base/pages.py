"""Lists that are answered in pages."""

from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """One page of a list, in a stable order. `next_cursor` is null on the last page."""

    items: tuple[T, ...]
    next_cursor: str | None
