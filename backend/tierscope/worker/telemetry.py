"""Counts every run of every task, for /metrics. Work never fails because it could not be counted."""

import time
from functools import cache
from typing import Any

import structlog
from celery import Celery
from celery.signals import task_postrun, task_prerun, worker_process_shutdown

from tierscope.core import traces
from tierscope.core.clock import utc_now
from tierscope.core.settings import Settings
from tierscope.usecases.operate.telemetry.runs import WorkerRuns
from tierscope.worker.resources import worker_database

_FAILED = "FAILURE"
_log = structlog.get_logger(__name__)


def count_tasks(app: Celery) -> None:
    """Make the signals of tasks count the runs of those that `app` knows."""
    starts: dict[str, float] = {}

    @cache
    def start_traces() -> None:
        # With the first task and not when the program starts: tasks run in processes that are forked from it.
        traces.start(Settings())

    def begin(task_id: str, **_: Any) -> None:  # noqa: ANN401 - Celery passes what it has
        starts[task_id] = time.perf_counter()
        start_traces()

    def end(task_id: str, task: Any, state: str | None = None, retval: object = None, **_: Any) -> None:  # noqa: ANN401 - likewise
        began = starts.pop(task_id, None)
        if began is None or task.name not in app.conf.beat_schedule:
            return
        seconds, failed = time.perf_counter() - began, state == _FAILED
        try:
            WorkerRuns(worker_database(), utc_now).ran(task.name, seconds=seconds, failed=failed)
            _trace(task.name, seconds=seconds, failed=failed, done=retval)
        except Exception:  # noqa: BLE001 - the run is over, and its work is done
            _log.exception("a run could not be counted", task=task.name)

    def close(**_: Any) -> None:  # noqa: ANN401 - likewise
        traces.stop()

    worker_process_shutdown.connect(close, weak=False, dispatch_uid="telemetry-close")
    task_prerun.connect(begin, weak=False, dispatch_uid="telemetry-begin")
    task_postrun.connect(end, weak=False, dispatch_uid="telemetry-end")


def _trace(task: str, *, seconds: float, failed: bool, done: object) -> None:
    """A span of a run, with the numbers that the task answers: how many hosts, buckets and so on it did."""
    numbers = {name: value for name, value in done.items() if type(value) is int} if isinstance(done, dict) else {}
    end_ns = round(utc_now().timestamp() * 1e9)
    traces.record(f"task {task}", numbers, start_ns=end_ns - round(seconds * 1e9), end_ns=end_ns, failed=failed)
