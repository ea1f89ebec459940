"""The task that keeps the time tables within their retention."""

from collections import Counter

from celery import shared_task

from tierscope.core.clock import utc_now
from tierscope.usecases.operate.retention import KeepPartitions
from tierscope.worker.resources import worker_nodes


@shared_task(name="retention.keep")
def keep() -> dict[str, int]:
    """Make partitions ahead and drop old ones; the number dropped by table."""
    dropped: Counter[str] = Counter()
    for kept in worker_nodes().on_each(lambda own: KeepPartitions(own, utc_now).run()):
        dropped.update(kept.dropped)
    return dict(dropped)
