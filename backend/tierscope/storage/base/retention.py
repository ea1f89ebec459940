"""How long the rows of time tables are kept, as the tables themselves declare it."""

from datetime import timedelta

from tierscope.storage.tables.time import TIME_TABLES

_KEPT = {entry.name: timedelta(days=entry.keep_days) for entry in TIME_TABLES}


def kept(table: str) -> timedelta:
    """How long rows of a time table are kept.

    Raises:
        KeyError: there is no such time table.
    """
    return _KEPT[table]
