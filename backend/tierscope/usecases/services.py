"""Reads of services."""


class ServiceReads:
    """Placeholder."""

    def __init__(self, context: object) -> None:
        self._context = context
