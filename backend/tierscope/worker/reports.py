"""The task that sends scheduled reports."""

from dataclasses import asdict

from celery import shared_task

from tierscope.core.clock import utc_now
from tierscope.core.settings import Settings
from tierscope.usecases.base.context import ReadContext
from tierscope.usecases.reports.deliver import DeliverReports
from tierscope.worker.resources import worker_database


@shared_task(name="reports.deliver")
def deliver() -> dict[str, int]:
    """Send what is due, and what waits for another attempt; how much was sent, waits, and failed for good."""
    return asdict(DeliverReports(ReadContext(worker_database(), utc_now, Settings())).run())
