"""Works through the marks: claims the buckets of one subject, rebuilds them whole, in one transaction each.

Any number of workers may run this at once. A claim holds an advisory lock for its transaction and deletes the marks
before the data is read, so data that commits later brings a mark that is worked again. A failure rolls both back.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import structlog

from tierscope.core.clock import Clock
from tierscope.core.database import Database, WriteTransaction
from tierscope.domain.jobs import (
    COUNTERS,
    COUNTERS_PACK,
    HEAT,
    HEAT_1D,
    HEAT_1H,
    JOBS,
    METRICS_1D,
    METRICS_1H,
    RULE_DAYS,
    SERVICE_HEAT_1D,
    SERVICE_HEAT_1H,
    SERVICE_MOVES_1H,
    TILES,
    Job,
)
from tierscope.storage.marks import Claim, claim, due_subjects
from tierscope.usecases.rebuild.counters import pack_hours, rebuild_counters, rebuild_metrics_1d, rebuild_metrics_1h
from tierscope.usecases.rebuild.heat import rebuild_heat, rebuild_heat_1d, rebuild_heat_1h
from tierscope.usecases.rebuild.rule_inputs import pack_rule_days
from tierscope.usecases.rebuild.service_heat import rebuild_service_heat_1d, rebuild_service_heat_1h
from tierscope.usecases.rebuild.service_moves import rebuild_service_moves_1h
from tierscope.usecases.rebuild.tiles import rebuild_tiles

Rebuild = Callable[[WriteTransaction, Claim], None]

REBUILDS: Mapping[Job, Rebuild] = {
    COUNTERS: rebuild_counters,
    METRICS_1H: rebuild_metrics_1h,
    METRICS_1D: rebuild_metrics_1d,
    COUNTERS_PACK: pack_hours,
    RULE_DAYS: pack_rule_days,
    HEAT: rebuild_heat,
    HEAT_1H: rebuild_heat_1h,
    HEAT_1D: rebuild_heat_1d,
    SERVICE_HEAT_1H: rebuild_service_heat_1h,
    SERVICE_HEAT_1D: rebuild_service_heat_1d,
    SERVICE_MOVES_1H: rebuild_service_moves_1h,
    TILES: rebuild_tiles,
}
_SUBJECTS_AT_ONCE = 200
log = structlog.get_logger(__name__)


@dataclass(slots=True)
class Drained:
    """What one run did: buckets rebuilt and subjects that failed, by kind."""

    buckets: dict[str, int] = field(default_factory=dict)
    failures: dict[str, int] = field(default_factory=dict)

    @property
    def total(self) -> int:
        """All buckets."""
        return sum(self.buckets.values())


class DrainMarks:
    """Rebuilds what marks ask for."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    def run(self, *, at_most: timedelta = timedelta(seconds=50)) -> Drained:
        """Work until nothing is due, or for `at_most`; what is left waits for the next run."""
        deadline = self._clock() + at_most
        done = Drained()
        failed: set[tuple[str, int, int]] = set()
        while self._clock() < deadline:
            if not self._round(deadline, done, failed):
                break
        return done

    def _round(self, deadline: datetime, done: Drained, failed: set[tuple[str, int, int]]) -> bool:
        """One pass over all kinds; False when there was nothing to do."""
        worked = False
        for job in JOBS:
            before = job.due_before(self._clock())
            with self._database.read() as session:
                subjects = due_subjects(session, job.kind, before=before, limit=_SUBJECTS_AT_ONCE + len(failed))
            for subject_id, service_id in subjects:
                if self._clock() >= deadline:
                    return worked
                if (job.kind, subject_id, service_id) in failed:
                    continue
                count = self._work(job, subject_id, service_id, before=before, done=done, failed=failed)
                worked = worked or count > 0
        return worked

    def _work(
        self,
        job: Job,
        subject_id: int,
        service_id: int,
        *,
        before: datetime,
        done: Drained,
        failed: set[tuple[str, int, int]],
    ) -> int:
        try:
            with self._database.write() as transaction:
                claimed = claim(transaction, job.kind, subject_id, service_id, before=before, limit=job.claim_limit)
                if claimed is None:
                    return 0
                REBUILDS[job](transaction, claimed)
        except Exception:
            # One subject with data that cannot be worked must not stop all others; its marks stay, and are counted.
            log.exception("rebuild failed", kind=job.kind, subject=subject_id, service=service_id)
            failed.add((job.kind, subject_id, service_id))
            done.failures[job.kind] = done.failures.get(job.kind, 0) + 1
            return 0
        done.buckets[job.kind] = done.buckets.get(job.kind, 0) + len(claimed.buckets)
        return len(claimed.buckets)
