"""The task that removes the data of hosts and services."""

from celery import shared_task

from tierscope.core.clock import utc_now
from tierscope.usecases.operate.purge_work import PurgeWork
from tierscope.worker.resources import worker_nodes


@shared_task(name="purges.work")
def work() -> int:
    """Go on with the oldest job; how many were finished."""
    return PurgeWork(worker_nodes(), utc_now).run().finished
