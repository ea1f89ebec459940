"""What one query may take: memory, estimated before arrays are made, and time, looked at between them.

Bytes are counted as they live: a value counts until the node above it has its own. Texts of labels count to the end.
"""

import time
from collections.abc import Callable, Sequence

from tierscope.domain.promql.series import Labels, QueryError, Scalar, Text, TooMuch, Value

QUERY_BYTES = 96 << 20
"""What the series, values and answer of one query take at most, without what the interpreter adds."""
QUERY_SECONDS = 10.0
LABEL_CHARACTERS = 4096
"""Of a value that a query makes."""
CELL_BYTES = 9
"""Of a value at a step, and whether it is there."""
_LABEL_BYTES = 120
"""Of a pair of labels beside its texts."""


class TimedOut(QueryError):
    """A query that took longer than one may, or whose client has gone."""


class Budget:
    """Of one query. `cancel` may be called by another thread; it ends the query at its next look."""

    def __init__(
        self,
        *,
        n_bytes: int = QUERY_BYTES,
        seconds: float = QUERY_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._n_bytes = n_bytes
        self._seconds = seconds
        self._clock = clock
        self._ends_at = clock() + seconds
        self._cancelled = False
        self.held_bytes = 0
        """What lives until the node that is evaluated has its value."""
        self._kept_bytes = 0

    def cancel(self) -> None:
        """Nobody waits for the answer any more."""
        self._cancelled = True

    def check(self) -> None:
        """Looks at the clock.

        Raises:
            TimedOut: the time is over, or nobody waits any more.
        """
        if self._cancelled:
            raise TimedOut("the client has gone")
        if self._clock() > self._ends_at:
            raise TimedOut(f"the query took longer than {self._seconds:g} s; ask for less time or fewer series")

    def room(self, n_bytes: float) -> None:
        """Looks whether so many bytes more may be made, and at the clock.

        Raises:
            TooMuch: they are too many.
            TimedOut: the time is over, or nobody waits any more.
        """
        self.check()
        if self.held_bytes + self._kept_bytes + n_bytes > self._n_bytes:
            raise TooMuch(
                f"the query needs more than {self._n_bytes >> 20} MiB of memory; ask for less time, a longer step or"
                " fewer series"
            )

    def keep(self, n_bytes: float) -> None:
        """Counts bytes that live until the query ends.

        Raises:
            TooMuch: they are too many.
        """
        self.room(n_bytes)
        self._kept_bytes += int(n_bytes)

    def keep_text(self, text: str) -> str:
        """Counts the value of a label that the query has made.

        Raises:
            TooMuch: it is too long, or all are.
        """
        check_length(len(text))
        self.keep(_LABEL_BYTES + len(text))
        return text

    def keep_labels(self, some: Sequence[Labels]) -> None:
        """Counts label sets that are made anew, of texts that are there.

        Raises:
            TooMuch: they are too many.
        """
        self.keep(sum(_LABEL_BYTES // 2 * (1 + len(labels)) for labels in some))


def check_length(n_characters: int) -> None:
    """Refuse the value of a label before it is made.

    Raises:
        TooMuch: it is too long.
    """
    if n_characters > LABEL_CHARACTERS:
        raise TooMuch(f"a label's value would have more than {LABEL_CHARACTERS:,} characters")


def value_bytes(value: Value) -> int:
    """What the arrays of a value take."""
    if isinstance(value, Text):
        return len(value.value)
    if isinstance(value, Scalar):
        return value.values.nbytes
    return value.values.nbytes + value.present.nbytes
