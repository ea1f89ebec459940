"""The wall clock. Nothing else in the product reads it, so that who sets it here sets it for all of a process."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

Clock = Callable[[], datetime]
"""Returns now, aware, UTC."""
CLOCKS_APART = timedelta(minutes=1)
"""As far ahead may the clock of another process be."""


def _wall() -> datetime:
    return datetime.now(UTC)


_clock: list[Clock] = [_wall]


def utc_now() -> datetime:
    """Returns now, aware, UTC: the wall clock's time, or that of the clock that was set."""
    return _clock[-1]()


def was_within(span: timedelta, at: datetime, now: datetime) -> bool:
    """Whether `at` is less than `span` ago. What lies ahead of now was noted before a clock was set back: it is not."""
    return -CLOCKS_APART <= now - at < span


@dataclass(frozen=True, slots=True)
class TimeLimit:
    """How long work may go on by a clock that may be set meanwhile: set back, time is up, as it is past the end."""

    begun: datetime
    span: timedelta

    def is_over(self, now: datetime) -> bool:
        """Whether nothing more may begin."""
        return not was_within(self.span, self.begun, now)

    def left(self, now: datetime) -> timedelta:
        """What is left of it."""
        return timedelta() if self.is_over(now) else self.begun + self.span - now


@contextmanager
def clock_set(clock: Clock) -> Iterator[None]:
    """Let `utc_now` follow another clock in this process while the block lasts."""
    _clock.append(clock)
    try:
        yield
    finally:
        _clock.remove(clock)
