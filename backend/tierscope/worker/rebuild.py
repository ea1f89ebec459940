"""The task that works through marks."""

from celery import shared_task

from tierscope.core.clock import utc_now
from tierscope.usecases.rebuild.drain import DrainMarks
from tierscope.worker.resources import worker_database


@shared_task(name="rebuild.drain")
def drain() -> dict[str, int]:
    """Rebuild what is due; the number of buckets by kind."""
    return DrainMarks(worker_database(), utc_now).run().buckets
