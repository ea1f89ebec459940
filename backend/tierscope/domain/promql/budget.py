"""What one query may take: a value counts until the node above it has its own, texts of labels to the end."""

import time
from collections.abc import Callable, Sequence

from tierscope.domain.base.budget import ANSWER_BYTES
from tierscope.domain.base.budget import Budget as BaseBudget
from tierscope.domain.promql.series import Labels, QueryError, Scalar, Text, TooMuch, Value

QUERY_SECONDS = 10.0
LABEL_CHARACTERS = 4096
"""Of a value that a query makes."""
CELL_BYTES = 9
"""Of a value at a step, and whether it is there."""
_LABEL_BYTES = 120
"""Of a pair of labels beside its texts."""


class TimedOut(QueryError):
    """A query that took longer than one may, or whose client has gone."""


class Budget(BaseBudget):
    """Of one query."""

    def __init__(
        self,
        *,
        n_bytes: int = ANSWER_BYTES,
        seconds: float = QUERY_SECONDS,
        clock: Callable[[], float] = time.monotonic,
        grown_bytes: Callable[[], int] = lambda: 0,
    ) -> None:
        super().__init__(
            n_bytes=n_bytes,
            seconds=seconds,
            too_much=TooMuch,
            timed_out=TimedOut,
            clock=clock,
            grown_bytes=grown_bytes,
        )

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
