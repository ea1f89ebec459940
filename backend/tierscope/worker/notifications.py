"""The task that tells receivers of alerts."""

from dataclasses import asdict

from celery import shared_task

from tierscope.core.clock import utc_now
from tierscope.core.settings import Settings
from tierscope.usecases.notifications.deliver import DeliverNotifications
from tierscope.worker.resources import worker_database


@shared_task(name="notifications.deliver")
def deliver() -> dict[str, int] | None:
    """Plan and send what is due; what was done, None where another worker is at it."""
    done = DeliverNotifications(worker_database(), utc_now, Settings()).run()
    return None if done is None else asdict(done)
