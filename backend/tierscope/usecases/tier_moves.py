"""Reads of tier moves."""


class LedgerReads:
    """Placeholder."""

    def __init__(self, context: object) -> None:
        self._context = context
