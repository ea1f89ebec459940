"""The task that freezes the answers of experiments at their planned end."""

from celery import shared_task

from tierscope.core.clock import utc_now
from tierscope.usecases.experiments.writes import ExperimentWrites
from tierscope.worker.resources import worker_database


@shared_task(name="experiments.freeze")
def freeze() -> int:
    """Freeze what is due; how many."""
    return ExperimentWrites(worker_database(), clock=utc_now).freeze_due()
