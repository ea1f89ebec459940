"""The task that makes daily points of capacity and the forecasts that lists show."""

from celery import shared_task

from tierscope.core.clock import utc_now
from tierscope.usecases.capacity.update import UpdateCapacity
from tierscope.worker.resources import worker_database


@shared_task(name="capacity.update")
def update() -> dict[str, int]:
    """Make what is due; how many days and forecasts."""
    done = UpdateCapacity(worker_database(), utc_now).run()
    return {"days": done.days, "forecasts": done.forecasts}
