"""The task that evaluates alert rules."""

import structlog
from celery import shared_task

from tierscope.core.clock import utc_now
from tierscope.usecases.alerts.evaluate import EvaluateRules, newest_complete
from tierscope.worker.notifications import deliver
from tierscope.worker.resources import worker_database
from tierscope.worker.schedule import NOTIFICATIONS_SECONDS

_judged: dict[str, int] = {}
"""The newest minute that a run of this process found judged. Rules that are new or changed wait for the next one."""
_log = structlog.get_logger(__name__)


@shared_task(name="alerts.evaluate")
def evaluate() -> int:
    """Judge the minutes that have become complete, and wake the notifier; how many changes of state there were."""
    newest = newest_complete(utc_now())
    if _judged.get("to") == newest:
        return 0
    done = EvaluateRules(worker_database(), utc_now).run()
    if not done.busy:
        _judged["to"] = newest
    for cause in sorted(set(done.failed)):
        _log.warning("a rule is not evaluated", detail=cause)
    if done.changes:
        deliver.apply_async(expires=NOTIFICATIONS_SECONDS)
    return done.changes
