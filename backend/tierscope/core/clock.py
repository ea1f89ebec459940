"""The wall clock, as a value that can be replaced in tests."""

from collections.abc import Callable
from datetime import UTC, datetime

Clock = Callable[[], datetime]
"""Returns now, aware, UTC."""


def utc_now() -> datetime:
    """Returns the wall clock's time, aware, UTC."""
    return datetime.now(UTC)
