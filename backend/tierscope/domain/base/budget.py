"""What the answer to one question may take: memory, estimated before it is made, and time, looked at while it is made.

Bytes are counted as they live. What nobody can count before, such as rows of a database, is measured: how much the
process has grown since the oldest question began that is worked on.
"""

import time
from collections.abc import Callable

ANSWER_BYTES = 96 << 20
"""What the values and the answer of one question take at most, without what the interpreter adds."""
GROWN_BYTES = 144 << 20
"""What the process may grow by, for all questions that it works on."""


class Budget:
    """Of one question. `cancel` may be called by another thread; it ends the work at its next look."""

    def __init__(
        self,
        *,
        n_bytes: int = ANSWER_BYTES,
        seconds: float,
        too_much: Callable[[str], Exception],
        timed_out: Callable[[str], Exception],
        clock: Callable[[], float] = time.monotonic,
        grown_bytes: Callable[[], int] = lambda: 0,
    ) -> None:
        """`too_much` and `timed_out` make what is raised; `grown_bytes` says how much the process has grown."""
        self._n_bytes = n_bytes
        self._seconds = seconds
        self._too_much = too_much
        self._timed_out = timed_out
        self._clock = clock
        self._grown_bytes = grown_bytes
        self._ends_at = clock() + seconds
        self._cancelled = False
        self.held_bytes = 0
        """What lives until the part that is evaluated has its value."""
        self._kept_bytes = 0

    def cancel(self) -> None:
        """Nobody waits for the answer any more."""
        self._cancelled = True

    def check(self) -> None:
        """Looks at the clock. Raises what `timed_out` makes where the time is over or nobody waits any more."""
        if self._cancelled:
            raise self._timed_out("the client has gone")
        if self._clock() > self._ends_at:
            raise self._timed_out(f"the answer took longer than {self._seconds:g} s; ask for less time or fewer series")

    def measure(self) -> None:
        """Looks at the clock and at the process. Raises what `too_much` makes where it has grown by too much."""
        self.check()
        if self._grown_bytes() > GROWN_BYTES:
            raise self._too_much(
                f"the answer needs more than {GROWN_BYTES >> 20} MiB of memory; ask for less time, fewer points or"
                " fewer items"
            )

    def room(self, n_bytes: float) -> None:
        """Looks whether so many bytes more may be made, and at the clock. Raises what `too_much` makes."""
        self.check()
        if self.held_bytes + self._kept_bytes + n_bytes > self._n_bytes:
            raise self._too_much(
                f"the answer needs more than {self._n_bytes >> 20} MiB of memory; ask for less time, a longer step or"
                " fewer series"
            )

    def keep(self, n_bytes: float) -> None:
        """Counts bytes that live until the answer is made. Raises what `too_much` makes."""
        self.room(n_bytes)
        self._kept_bytes += int(n_bytes)
