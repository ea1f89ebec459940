"""Reads of tiles."""


class TileReads:
    """Placeholder."""

    def __init__(self, context: object) -> None:
        self._context = context
