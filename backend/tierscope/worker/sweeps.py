"""The task that works through sweeps of the simulator, one at a time."""

import os
from functools import lru_cache
from threading import Lock

from celery import shared_task

from tierscope.core.clock import utc_now
from tierscope.usecases.simulate.work import SweepWork
from tierscope.worker.resources import worker_database

_AT_WORK = Lock()
"""Replays keep processors busy for long: one thread of a worker waits for them, and the others stay for all else."""


@lru_cache(maxsize=1)
def _sweep_work() -> SweepWork:
    return SweepWork(worker_database(), utc_now, threads=len(os.sched_getaffinity(0)))


@shared_task(name="sweeps.run")
def run() -> dict[str, int] | None:
    """Take tasks and replay their runs for a minute; None where another thread is at it."""
    if not _AT_WORK.acquire(blocking=False):
        return None
    try:
        done = _sweep_work().run()
    finally:
        _AT_WORK.release()
    return {"tasks": done.tasks, "runs": done.runs}
