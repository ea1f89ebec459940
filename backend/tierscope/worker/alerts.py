"""The task that evaluates alert rules."""

from celery import shared_task

from tierscope.core.clock import utc_now
from tierscope.usecases.alerts.evaluate import EvaluateRules
from tierscope.worker.resources import worker_database


@shared_task(name="alerts.evaluate")
def evaluate() -> int:
    """Judge the minutes that have become complete; how many changes of state there were."""
    return EvaluateRules(worker_database(), utc_now).run().changes
