"""Retention: partitions are made ahead, old data leaves by dropping whole ones, and old sweeps are removed."""

from dataclasses import dataclass
from datetime import datetime, timedelta

import structlog

from tierscope.core.clock import Clock
from tierscope.core.database import Database
from tierscope.core.errors import Unavailable
from tierscope.storage.base.live_rows import PACKED_TABLES, drop_packed_chunk, leaving_chunks
from tierscope.storage.base.partitions import drop_old, ensure_usual_partitions
from tierscope.storage.base.retention import kept
from tierscope.storage.ingest.series import SEEN_WITHIN, forget_ownerless, forget_silent, forget_unseen
from tierscope.storage.objects.rows import KINDS as OBJECT_KINDS
from tierscope.storage.objects.rows import forget_before
from tierscope.storage.simulate.sweeps import purge_sweeps
from tierscope.storage.simulate.trace_uploads import purge_uploads
from tierscope.storage.tables import TIME_TABLES, TimeTable, sample_series, sample_targets, samples_live

SWEEPS_KEPT = timedelta(days=90)
"""Sweeps, and uploaded traces that no sweep replays."""
_CHUNK_DAY = timedelta(days=1)
_TRIES = 3
log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Kept:
    """What one run did: partitions made, chunks dropped by table, sweeps and uploaded traces removed.

    Chunks of packed rows that wait for work, or were in use, stay for the next run.
    """

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
                        forget_before(transaction, kind, now - entry.keep - entry.partition)
        for entry in PACKED_TABLES:
            dropped[entry.table.name] = self._drop_packed(entry, now)
        with self._database.write() as transaction:
            sweeps = purge_sweeps(transaction, now - SWEEPS_KEPT)
            uploads = purge_uploads(transaction, now - SWEEPS_KEPT)
        with self._database.write() as transaction:
            dropped[sample_targets.name] = forget_silent(transaction, now - kept("samples_packed"))
            # The last samples of a series leave with their chunk.
            dropped[sample_series.name] = forget_unseen(
                transaction, now - kept("samples_packed") - _CHUNK_DAY - SEEN_WITHIN
            )
            dropped[samples_live.name] = dropped.get(samples_live.name, 0) + forget_ownerless(transaction)
        return Kept(made, {table: count for table, count in dropped.items() if count}, sweeps, uploads)

    def _drop_packed(self, entry: TimeTable, now: datetime) -> int:
        """Drop the chunks whose rows stand in packs, each by itself, so that nobody waits for long; how many."""
        with self._database.read() as session:
            spans = leaving_chunks(session, entry, now)
        dropped = 0
        for span in spans:
            for _ in range(_TRIES):
                try:
                    with self._database.write() as transaction:
                        dropped += drop_packed_chunk(transaction, entry, span)
                    break
                except Unavailable as error:
                    log.info("a chunk could not be dropped", table=entry.table.name, start=span[0], cause=error.detail)
        return dropped
