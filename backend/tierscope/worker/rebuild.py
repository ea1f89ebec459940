"""The task that works through marks."""

from functools import lru_cache

from celery import shared_task

from tierscope.core.clock import utc_now
from tierscope.core.settings import Settings
from tierscope.usecases.operate.telemetry.runs import WorkerRuns
from tierscope.usecases.rebuild.by_node import DrainNodes
from tierscope.worker.resources import worker_database, worker_nodes


@lru_cache(maxsize=1)
def _drain() -> DrainNodes:
    """One for all runs of this process: it keeps the newest hours of hosts."""
    return DrainNodes(worker_nodes(), utc_now, near=Settings().worker_nodes)


@shared_task(name="rebuild.drain")
def drain() -> dict[str, int]:
    """Rebuild what is due; the number of buckets by kind."""
    done = _drain().run()
    WorkerRuns(worker_database(), utc_now).rebuilt(done.buckets, done.failures)
    return done.buckets
