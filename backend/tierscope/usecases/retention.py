"""Retention: partitions are made ahead, and old data leaves by dropping whole ones."""

from dataclasses import dataclass

from tierscope.core.clock import Clock
from tierscope.core.database import Database
from tierscope.storage.partitions import drop_old, ensure_usual_partitions


@dataclass(frozen=True, slots=True)
class Kept:
    """What one run did: partitions made, and chunks dropped by table."""

    made: int
    dropped: dict[str, int]


class KeepPartitions:
    """Keeps the time tables within their retention."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    def run(self) -> Kept:
        """Make the partitions of the days ahead, and drop those that lie wholly before a table's retention."""
        now = self._clock()
        with self._database.write() as transaction:
            made = ensure_usual_partitions(transaction, now)
        with self._database.write() as transaction:
            dropped = drop_old(transaction, now)
        return Kept(made, {table: count for table, count in dropped.items() if count})
