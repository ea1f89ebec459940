"""Who counts what the answer to the question takes that is worked on here: looked at before and after each statement.

Threads that a question is handed to have its meter, too.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol


class Meter(Protocol):
    """Of one question."""

    def measure(self) -> None:
        """Raises where the question has taken what it may."""


_meter: ContextVar[Meter | None] = ContextVar("meter", default=None)


@contextmanager
def metered(meter: Meter) -> Iterator[None]:
    """Has statements within the block look at a meter."""
    token = _meter.set(meter)
    try:
        yield
    finally:
        _meter.reset(token)


def measure() -> None:
    """Looks at the meter of the question that is worked on, if there is one. Raises what it raises."""
    meter = _meter.get()
    if meter is not None:
        meter.measure()
