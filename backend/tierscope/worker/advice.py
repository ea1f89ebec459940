"""The task that refreshes advice."""

from dataclasses import asdict

from celery import shared_task

from tierscope.core.clock import utc_now
from tierscope.core.settings import Settings
from tierscope.usecases.knobs.advice_refresh import RefreshAdvice
from tierscope.worker.resources import worker_database


@shared_task(name="advice.refresh")
def refresh() -> dict[str, int] | None:
    """Judge services and hosts again; what was done, None where another worker is at it."""
    done = RefreshAdvice(worker_database(), utc_now, Settings()).run()
    return None if done is None else asdict(done)
