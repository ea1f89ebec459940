"""The task that publishes closed days for other engines."""

from datetime import timedelta

from celery import shared_task

from tierscope.core.clock import utc_now
from tierscope.core.objects.open import open_history
from tierscope.core.settings import Settings
from tierscope.usecases.operate.history import PublishHistory, stop_publishing
from tierscope.worker.resources import worker_nodes


@shared_task(name="history.publish")
def publish() -> int:
    """Publish what is due; how many files were made. Without a place for them, files that were published are let go."""
    return _run(full=False)


@shared_task(name="history.look")
def look() -> int:
    """The same, after a look at all files that are there."""
    return _run(full=True)


def _run(*, full: bool) -> int:
    settings = Settings()
    store = open_history(settings)
    database = worker_nodes().coordinator
    if store is None:
        return stop_publishing(database) if full else 0
    keep = timedelta(days=settings.history.keep_days)
    return PublishHistory(database, store, utc_now, keep=keep).run(full=full).made
