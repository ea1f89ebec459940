"""Reads of hosts."""


class HostReads:
    """Placeholder."""

    def __init__(self, context: object) -> None:
        self._context = context
