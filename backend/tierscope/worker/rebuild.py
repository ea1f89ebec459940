"""The task that works through marks."""

from celery import shared_task

from tierscope.core.clock import utc_now
from tierscope.usecases.operate.telemetry.runs import WorkerRuns
from tierscope.usecases.rebuild.drain import DrainMarks
from tierscope.usecases.rebuild.open_buckets import OpenBuckets
from tierscope.worker.resources import worker_database

_OPEN = OpenBuckets()
"""Kept over all runs of this process."""


@shared_task(name="rebuild.drain")
def drain() -> dict[str, int]:
    """Rebuild what is due; the number of buckets by kind."""
    done = DrainMarks(worker_database(), utc_now, open_buckets=_OPEN).run()
    WorkerRuns(worker_database(), utc_now).rebuilt(done.buckets, done.failures)
    return done.buckets
