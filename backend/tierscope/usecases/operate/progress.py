"""How far workers are with much work that came at once, such as the history of new hosts."""

from collections import deque
from dataclasses import dataclass
from datetime import datetime, timedelta
from threading import Lock

from tierscope.storage.operate.installation import Installation

MANY = 500
"""Fewer pieces of work are done within moments."""
LEAST_SPAN = timedelta(hours=2)
"""The newest hours are worked up all the time."""
YOUNG = timedelta(days=1)
"""An installation whose first host is no older has done nothing else yet."""
PACE_OF = timedelta(minutes=15)
LEAST_PACE_OF = timedelta(seconds=20)


@dataclass(frozen=True, slots=True)
class CatchingUp:
    """Work that came at once: of how long ago it is, and which share of it is done.

    `seconds_left` is what the rest takes at the pace of the last minutes; None until a pace is known, and where there
    is none.
    """

    span_seconds: float
    done_ratio: float
    seconds_left: float | None


class Progress:
    """What looks at an installation have seen, one after the other."""

    def __init__(self) -> None:
        self._looking = Lock()
        self._began: int | None = None
        self._looks: deque[tuple[datetime, int]] = deque()

    def look(self, found: Installation, now: datetime) -> CatchingUp | None:
        """The progress; None where only the usual work waits."""
        with self._looking:
            return self._look(found, now)

    def _look(self, found: Installation, now: datetime) -> CatchingUp | None:
        done, first = found.marks_made - found.marks_pending, found.first_bucket
        if first is None or found.marks_pending < MANY or now - first < LEAST_SPAN:
            self._began = found.marks_made
            self._looks.clear()
            return None
        if self._began is None:
            young = found.first_host_at is not None and now - found.first_host_at < YOUNG
            self._began = 0 if young else done
        while self._looks and now - self._looks[0][0] > PACE_OF:
            self._looks.popleft()
        self._looks.append((now, done))
        rest = found.marks_pending
        whole = max(found.marks_made - self._began, rest)
        return CatchingUp((now - first).total_seconds(), 1 - rest / whole, self._left(rest))

    def _left(self, pending: int) -> float | None:
        (began, before), (now, done) = self._looks[0], self._looks[-1]
        if now - began < LEAST_PACE_OF or done <= before:
            return None
        return pending / (done - before) * (now - began).total_seconds()
