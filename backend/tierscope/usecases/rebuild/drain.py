"""Works through the marks: claims the buckets of one subject, rebuilds them whole, in one transaction each.

Heat of many hosts, and their buckets of counters, go together.
Any number of workers may run this at once. A claim holds an advisory lock for its transaction and deletes the marks
before the data is read, so data that commits later brings a mark that is worked again. A failure rolls both back.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from random import Random

import structlog

from tierscope.core.clock import Clock, TimeLimit, was_within
from tierscope.core.database import Database, WriteTransaction
from tierscope.domain.base.jobs import (
    CAPACITY_DAYS,
    COUNTERS,
    COUNTERS_CLOSED,
    FLEET_MOVES,
    HEAT,
    HEAT_1D,
    HEAT_1H,
    HISTORY_DAYS,
    JOBS,
    METRICS_1D,
    METRICS_1H,
    SAMPLES,
    SERVICE_HEAT_1D,
    SERVICE_HEAT_1H,
    SERVICE_MOVES_1H,
    TILES,
    Job,
)
from tierscope.storage.base.dirty_buckets import (
    Claim,
    barely_due,
    claim,
    claim_subjects,
    due_kinds,
    due_subjects,
    waiting_subjects,
)
from tierscope.storage.fleet.sending import longest_held_seconds
from tierscope.usecases.rebuild.counters import (
    rebuild_closed_counters,
    rebuild_closed_counters_of_hosts,
    rebuild_counters,
    rebuild_metrics_1d,
    rebuild_metrics_1h,
)
from tierscope.usecases.rebuild.fleet_moves import rebuild_fleet_moves
from tierscope.usecases.rebuild.heat import rebuild_heat, rebuild_heat_1d, rebuild_heat_1h, rebuild_heat_of_hosts
from tierscope.usecases.rebuild.homes import AwaitedHostError, HostHomes
from tierscope.usecases.rebuild.late_days import note_history, reopen_capacity
from tierscope.usecases.rebuild.open_buckets import OpenBuckets
from tierscope.usecases.rebuild.packing import PACKS, close
from tierscope.usecases.rebuild.samples import rebuild_samples
from tierscope.usecases.rebuild.service_heat import rebuild_service_heat_1d, rebuild_service_heat_1h
from tierscope.usecases.rebuild.service_moves import rebuild_service_moves_1h
from tierscope.usecases.rebuild.tiles import rebuild_tiles

Rebuild = Callable[[WriteTransaction, Claim], None]

REBUILDS: Mapping[Job, Rebuild] = {
    SAMPLES: rebuild_samples,
    COUNTERS: rebuild_counters,
    COUNTERS_CLOSED: rebuild_closed_counters,
    METRICS_1H: rebuild_metrics_1h,
    METRICS_1D: rebuild_metrics_1d,
    HEAT: rebuild_heat,
    HEAT_1H: rebuild_heat_1h,
    HEAT_1D: rebuild_heat_1d,
    SERVICE_HEAT_1H: rebuild_service_heat_1h,
    SERVICE_HEAT_1D: rebuild_service_heat_1d,
    CAPACITY_DAYS: reopen_capacity,
    HISTORY_DAYS: note_history,
    FLEET_MOVES: rebuild_fleet_moves,
    SERVICE_MOVES_1H: rebuild_service_moves_1h,
    TILES: rebuild_tiles,
    **dict.fromkeys(PACKS, close),
}
_SUBJECTS_AT_ONCE = 200
_HOSTS_AT_ONCE = 256
"""Hosts whose open buckets are extended in one transaction."""
_TOGETHER = (COUNTERS_CLOSED, HEAT)
"""Kinds of which many hosts are worked in one transaction, where each waits with few buckets."""
_CLOSED_AT_ONCE = 64
_FEW_BUCKETS = 2
_CANDIDATES = 4096
_EXTEND_EVERY = timedelta(seconds=2)
"""Not more often, so that what arrives all the time is taken by many hosts at once."""
_OTHERS_WAIT_SECONDS = 6.0
"""A worker takes hosts whose newest hours another one keeps in memory only when they have waited for so long."""
_HELD_KEPT = timedelta(minutes=1)
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

    def count(self, job: Job, buckets: int) -> None:
        """Add buckets of a kind."""
        if buckets:
            self.buckets[job.kind] = self.buckets.get(job.kind, 0) + buckets


class DrainMarks:
    """Rebuilds what marks ask for."""

    def __init__(
        self,
        database: Database,
        clock: Clock,
        *,
        open_buckets: OpenBuckets | None = None,
        jobs: Sequence[Job] = JOBS,
        homes: HostHomes | None = None,
    ) -> None:
        """`jobs`: the kinds that are worked, in their order. `homes`: where hosts of samples are, if not here."""
        self._database = database
        self._jobs = jobs
        self._homes = homes
        self._clock = clock
        self._order = Random()  # noqa: S311 - an order, not a secret
        self._open = open_buckets if open_buckets is not None else OpenBuckets()
        self._held: tuple[datetime, timedelta] | None = None

    def run(self, *, at_most: timedelta = timedelta(seconds=50)) -> Drained:
        """Work until nothing is due, or for `at_most`; what is left waits for the next run."""
        limit = TimeLimit(self._clock(), at_most)
        done = Drained()
        failed: set[tuple[str, int, int]] = set()
        sharing = len(self._open) > 0
        extended_at: datetime | None = None

        def extend(now: datetime) -> int:
            """Extend open buckets where that is due: between others too, whose closing may take minutes."""
            nonlocal extended_at
            if COUNTERS not in self._jobs or (extended_at is not None and now - extended_at < _EXTEND_EVERY):
                return 0
            extended_at = now
            return self._extend_open(now, done, failed, sharing=sharing)

        while not limit.is_over(now := self._clock()):
            extended = extend(now)
            if not self._round(limit, done, failed, between=extend) and not extended:
                break
        return done

    def _longest_held(self, now: datetime) -> timedelta:
        """The longest that a host holds samples back, looked up once a minute: so long a bucket stays open."""
        if self._held is None or not was_within(_HELD_KEPT, self._held[0], now):
            with self._database.read() as session:
                self._held = (now, timedelta(seconds=longest_held_seconds(session)))
        return self._held[1]

    def _extend_open(self, now: datetime, done: Drained, failed: set[tuple[str, int, int]], *, sharing: bool) -> int:
        """Extend open buckets, many hosts in one transaction; how many buckets.

        `sharing`: leave hosts that this worker does not keep to others for some seconds.
        """
        held = self._longest_held(now)
        since = COUNTERS_CLOSED.due_before(now, held)
        with self._database.read() as session:
            waiting = waiting_subjects(session, COUNTERS.kind, since=since, before=now, limit=_CANDIDATES)
        due = [
            item.subject_id
            for item in waiting
            if not sharing or item.subject_id in self._open or item.seconds >= _OTHERS_WAIT_SECONDS
        ]
        total = 0
        for start in range(0, len(due), _HOSTS_AT_ONCE):
            some = [host for host in due[start : start + _HOSTS_AT_ONCE] if (COUNTERS.kind, host, 0) not in failed]
            try:
                with self._database.write() as transaction:
                    claimed = claim_subjects(transaction, COUNTERS.kind, some, since=since, before=now)
                    extended = self._open.extend(transaction, claimed, now=now, held=held)
            except Exception:
                # One host with data that cannot be worked must not stop the others: each is worked by itself.
                log.exception("open buckets could not be extended together", hosts=len(some))
                for host in some:
                    self._work(COUNTERS, host, 0, before=now, now=now, done=done, failed=failed)
                continue
            self._open.keep(extended)
            total += extended.buckets
        done.count(COUNTERS, total)
        return total

    def _round(
        self,
        limit: TimeLimit,
        done: Drained,
        failed: set[tuple[str, int, int]],
        *,
        between: Callable[[datetime], int],
    ) -> bool:
        """One pass over all kinds, with `between` before each subject; False when there was nothing to do."""
        worked = False
        now = self._clock()
        held = self._longest_held(now)
        with self._database.read() as session:
            due = due_kinds(session, {job.kind: _due_before(job, now, held) for job in self._jobs})
        # What one kind makes marks for comes in the next pass, which follows where this one did something.
        for job in (job for job in self._jobs if job.kind in due):
            now = self._clock()
            before = _due_before(job, now, held)
            if job in _TOGETHER:
                worked = self._work_together(job, limit, before, done, failed, between=between) > 0 or worked
            # Samples that have no row yet (late ones, the first of a host) go before rows that are rebuilt.
            most = _CANDIDATES if job is COUNTERS else _SUBJECTS_AT_ONCE
            with self._database.read() as session:
                subjects = due_subjects(session, job.kind, before=before, limit=most + len(failed))
            # In an order of its own, so that workers that began together seldom come to one subject.
            self._order.shuffle(subjects)
            for subject_id, service_id in subjects:
                looked = self._clock()
                if limit.is_over(looked):
                    return worked
                if (job.kind, subject_id, service_id) in failed:
                    continue
                between(looked)
                count = self._work(job, subject_id, service_id, before=before, now=now, done=done, failed=failed)
                worked = worked or count > 0
        return worked

    def _work_together(
        self,
        job: Job,
        limit: TimeLimit,
        before: datetime,
        done: Drained,
        failed: set[tuple[str, int, int]],
        *,
        between: Callable[[datetime], int],
    ) -> int:
        """Close buckets of hosts that wait with few of them, many of a service in one transaction; how many buckets.

        What could not be worked together keeps its marks, and is worked by itself.
        """
        with self._database.read() as session:
            due = barely_due(session, job.kind, before=before, most=_FEW_BUCKETS, limit=_CANDIDATES)
        total = 0
        for service_id, waiting in due.items():
            hosts = [host for host in waiting if (job.kind, host, service_id) not in failed]
            self._order.shuffle(hosts)
            for start in range(0, len(hosts), _CLOSED_AT_ONCE):
                if limit.is_over(looked := self._clock()):
                    return total
                between(looked)
                some = hosts[start : start + _CLOSED_AT_ONCE]
                try:
                    with self._database.write() as transaction:
                        claimed = claim_subjects(transaction, job.kind, some, before=before, service_id=service_id)
                        if claimed and job is HEAT:
                            rebuild_heat_of_hosts(transaction, service_id, claimed)
                        elif claimed:
                            rebuild_closed_counters_of_hosts(transaction, claimed, now=looked)
                except Exception:
                    log.exception("not worked together", kind=job.kind, service=service_id, hosts=len(some))
                    continue
                buckets = sum(map(len, claimed.values()))
                done.count(job, buckets)
                total += buckets
        return total

    def _work(
        self,
        job: Job,
        subject_id: int,
        service_id: int,
        *,
        before: datetime,
        now: datetime,
        done: Drained,
        failed: set[tuple[str, int, int]],
    ) -> int:
        try:
            with self._database.write() as transaction:
                claimed = claim(
                    transaction,
                    job.kind,
                    subject_id,
                    service_id,
                    before=before,
                    limit=job.claim_limit,
                    now=now,
                    held=self._longest_held(now),
                )
                if claimed is None:
                    return 0
                if job is SAMPLES:
                    rebuild_samples(transaction, claimed, homes=self._homes)
                else:
                    REBUILDS[job](transaction, claimed)
        except AwaitedHostError:
            failed.add((job.kind, subject_id, service_id))  # its marks stay for another run
            return 0
        except Exception:
            # One subject with data that cannot be worked must not stop all others; its marks stay, and are counted.
            log.exception("rebuild failed", kind=job.kind, subject=subject_id, service=service_id)
            failed.add((job.kind, subject_id, service_id))
            done.failures[job.kind] = done.failures.get(job.kind, 0) + 1
            return 0
        done.count(job, len(claimed.buckets))
        return len(claimed.buckets)


def _due_before(job: Job, now: datetime, held: timedelta) -> datetime:
    return (COUNTERS_CLOSED if job is COUNTERS else job).due_before(now, held)
