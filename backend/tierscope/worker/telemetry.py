"""Counts every run of every task, for /metrics. Work never fails because it could not be counted."""

import time
from typing import Any

import structlog
from celery import Celery
from celery.signals import task_postrun, task_prerun

from tierscope.core.clock import utc_now
from tierscope.usecases.operate.telemetry.runs import WorkerRuns
from tierscope.worker.resources import worker_database

_FAILED = "FAILURE"
_log = structlog.get_logger(__name__)


def count_tasks(app: Celery) -> None:
    """Make the signals of tasks count the runs of those that `app` knows."""
    starts: dict[str, float] = {}

    def begin(task_id: str, **_: Any) -> None:  # noqa: ANN401 - Celery passes what it has
        starts[task_id] = time.perf_counter()

    def end(task_id: str, task: Any, state: str | None = None, **_: Any) -> None:  # noqa: ANN401 - likewise
        began = starts.pop(task_id, None)
        if began is None or task.name not in app.conf.beat_schedule:
            return
        try:
            WorkerRuns(worker_database(), utc_now).ran(
                task.name, seconds=time.perf_counter() - began, failed=state == _FAILED
            )
        except Exception:  # noqa: BLE001 - the run is over, and its work is done
            _log.exception("a run could not be counted", task=task.name)

    task_prerun.connect(begin, weak=False, dispatch_uid="telemetry-begin")
    task_postrun.connect(end, weak=False, dispatch_uid="telemetry-end")
