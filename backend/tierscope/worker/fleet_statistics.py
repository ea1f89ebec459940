"""The task that keeps the statistics over many hosts up to date."""

from celery import shared_task

from tierscope.core.clock import utc_now
from tierscope.usecases.statistics.update import UpdateFleetStatistics
from tierscope.worker.resources import worker_database


@shared_task(name="fleet_statistics.update")
def update() -> dict[str, int]:
    """Make what is due; how many hours, days, changes and services."""
    done = UpdateFleetStatistics(worker_database(), utc_now).run()
    return {"hours": done.hours, "days": done.days, "changes": done.changes, "features": done.features}
