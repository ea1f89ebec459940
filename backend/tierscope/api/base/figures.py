"""The shapes that every answer is made of: figures, series, pages of a list, time windows.

A figure never travels as a bare number. It says what it is (definition id), in which unit, how and from what it
was measured, how sure it is, and, when there is no number, which kind of nothing this is.
"""

from typing import Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict

FigureStatus = Literal["ok", "not_collected", "not_supported", "not_enough_data"]


PageKind = Literal["anon", "file", "tmpfs"]

Resolution = Literal["raw", "1m", "10m", "1h", "1d"]


MAX_COUNT = 2**31 - 1
"""The largest count, version or number of seconds that a stored integer holds."""


class Model(BaseModel):
    """Base of all request and response bodies: unknown fields are refused, nothing has a hidden default."""

    model_config = ConfigDict(extra="forbid", frozen=True)


T = TypeVar("T")


class Page(Model, Generic[T]):
    """One page of a list, in a stable order. `next_cursor` is null on the last page."""

    items: list[T]
    next_cursor: str | None


class Problem(Model):
    """RFC 9457 problem details: the cause and the next step."""

    type: str
    title: str
    status: int
    detail: str
    next_step: str
    instance: str | None = None
