"""Reads of heat."""


class HeatReads:
    """Placeholder."""

    def __init__(self, context: object) -> None:
        self._context = context
