"""Retention: partitions are made ahead, old data leaves by dropping whole ones, and old sweeps are removed."""

from dataclasses import dataclass
from datetime import timedelta

from tierscope.core.clock import Clock
from tierscope.core.database import Database
from tierscope.storage.base.partitions import drop_old, ensure_usual_partitions
from tierscope.storage.objects.rows import KINDS as OBJECT_KINDS
from tierscope.storage.objects.rows import forget_before
from tierscope.storage.simulate.sweeps import purge_sweeps
from tierscope.storage.simulate.trace_uploads import purge_uploads
from tierscope.storage.tables import TIME_TABLES

SWEEPS_KEPT = timedelta(days=90)
"""Sweeps, and uploaded traces that no sweep replays."""


@dataclass(frozen=True, slots=True)
class Kept:
    """What one run did: partitions made, chunks dropped by table, sweeps and uploaded traces removed."""

    made: int
    dropped: dict[str, int]
    sweeps: int
    trace_uploads: int


class KeepPartitions:
    """Keeps the time tables within their retention."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    def run(self) -> Kept:
        """Make the partitions of the days ahead; drop those wholly before a table's retention, and old sweeps."""
        now = self._clock()
        with self._database.write() as transaction:
            made = ensure_usual_partitions(transaction, now)
        with self._database.write() as transaction:
            dropped = drop_old(transaction, now)
            for entry in TIME_TABLES:
                for kind in OBJECT_KINDS:
                    if entry.table.name == kind:
                        # A chunk leaves whole, after its last day: so do objects, a chunk later at most.
                        kept = timedelta(days=entry.keep_days + entry.chunk_days)
                        forget_before(transaction, kind, now - kept)
        with self._database.write() as transaction:
            sweeps = purge_sweeps(transaction, now - SWEEPS_KEPT)
            uploads = purge_uploads(transaction, now - SWEEPS_KEPT)
        return Kept(made, {table: count for table, count in dropped.items() if count}, sweeps, uploads)
