"""Reads of counters."""


class CounterReads:
    """Placeholder."""

    def __init__(self, context: object) -> None:
        self._context = context
