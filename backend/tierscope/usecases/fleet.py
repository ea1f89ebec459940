"""Reads of fleet."""


class FleetReads:
    """Placeholder."""

    def __init__(self, context: object) -> None:
        self._context = context
