"""Reads of status."""


class StatusReads:
    """Placeholder."""

    def __init__(self, context: object) -> None:
        self._context = context
