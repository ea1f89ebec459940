"""The task that keeps the time tables within their retention."""

from celery import shared_task

from tierscope.core.clock import utc_now
from tierscope.usecases.operate.retention import KeepPartitions
from tierscope.worker.resources import worker_database


@shared_task(name="retention.keep")
def keep() -> dict[str, int]:
    """Make partitions ahead and drop old ones; the number dropped by table."""
    return KeepPartitions(worker_database(), utc_now).run().dropped
