"""Counting what workers do, in the database that all of them share."""

from collections.abc import Mapping

from tierscope.core.clock import Clock
from tierscope.core.database import Database
from tierscope.storage.operate.telemetry import count_rebuilt, count_run


class WorkerRuns:
    """What one worker adds to the counts of all."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    def ran(self, task: str, *, seconds: float, failed: bool) -> None:
        """Count a run of a task that has just ended."""
        with self._database.write() as transaction:
            count_run(transaction, task, seconds=seconds, failed=failed, at=self._clock())

    def rebuilt(self, buckets: Mapping[str, int], failures: Mapping[str, int]) -> None:
        """Count what a run of rebuilding did, by kind."""
        if buckets or failures:
            with self._database.write() as transaction:
                count_rebuilt(transaction, buckets, failures)
