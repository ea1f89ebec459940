"""What the database holds, as Prometheus metrics. Every API process tells the same: take the newest, never a sum."""

import threading
from collections.abc import Iterator
from itertools import accumulate

import structlog
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from tierscope.core.clock import Clock
from tierscope.core.database import Database
from tierscope.core.errors import TierscopeError
from tierscope.domain.operate.telemetry import TASK_SECONDS, Inventory
from tierscope.storage.operate.telemetry import read_inventory

FRESH_SECONDS = 5.0
"""A look at the database serves all scrapes of so long; scrapes that come together wait for one look."""
HOST_STATES = ("reporting", "late", "silent", "retired")
NOTIFICATION_STATES = ("waiting", "delivered", "dead")
_log = structlog.get_logger(__name__)


class InventoryCollector(Collector):
    """Looks at the database when it is scraped. A database that does not answer is a finding, not an error."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock
        self._lock = threading.Lock()
        self._seen: tuple[float, Inventory | None] | None = None

    def collect(self) -> Iterator[Metric]:
        """All metrics of one look; without the database only that it is down."""
        seen = self._look()
        yield GaugeMetricFamily("tierscope_database_up", "Whether the database answers.", value=float(seen is not None))
        yield from _pools(self._database)
        if seen is not None:
            yield from _of_things(seen)
            yield from _of_workers(seen)

    def _look(self) -> Inventory | None:
        with self._lock:
            now = self._clock()
            if self._seen is not None and 0 <= now.timestamp() - self._seen[0] < FRESH_SECONDS:
                return self._seen[1]
            found: Inventory | None = None
            try:
                with self._database.read() as session:
                    found = read_inventory(session, now)
            except TierscopeError as error:
                _log.warning("metrics without the database", detail=error.detail)
            self._seen = (now.timestamp(), found)
            return found


def _pools(database: Database) -> Iterator[Metric]:
    used = GaugeMetricFamily(
        "tierscope_database_connections_used", "Connections of this process that are in use.", labels=["pool"]
    )
    most = GaugeMetricFamily(
        "tierscope_database_connections_most", "Connections that this process may have.", labels=["pool"]
    )
    for pool, (in_use, limit) in database.connections().items():
        used.add_metric([pool], in_use)
        most.add_metric([pool], limit)
    yield from (used, most)


def _of_things(seen: Inventory) -> Iterator[Metric]:
    hosts = GaugeMetricFamily("tierscope_hosts", "Hosts by state and origin.", labels=["state", "origin"])
    for origin in sorted({origin for _, origin in seen.hosts} | {"live"}):
        for state in HOST_STATES:
            hosts.add_metric([state, origin], seen.hosts.get((state, origin), 0))
    yield hosts
    services = GaugeMetricFamily("tierscope_services", "Services by origin.", labels=["origin"])
    for origin, count in sorted(({"live": 0} | dict(seen.services)).items()):
        services.add_metric([origin], count)
    yield services
    yield GaugeMetricFamily("tierscope_marks_pending", "Pieces of work that wait.", value=seen.marks_pending)
    yield GaugeMetricFamily(
        "tierscope_marks_oldest_age_seconds",
        "Since when the longest waiting piece of work has been due; 0 where none waits.",
        value=seen.marks_oldest_seconds,
    )
    alerts = GaugeMetricFamily("tierscope_alerts", "Open alerts.", labels=["state", "severity"])
    for (state, severity), count in sorted(seen.alerts.items()):
        alerts.add_metric([state, severity], count)
    yield alerts
    notifications = GaugeMetricFamily("tierscope_notifications", "Notifications that are kept.", labels=["status"])
    for status in NOTIFICATION_STATES:
        notifications.add_metric([status], seen.notifications.get(status, 0))
    yield notifications
    sweeps = GaugeMetricFamily("tierscope_sweeps", "Sweeps of the simulator that are kept.", labels=["status"])
    for status, count in sorted(seen.sweeps.items()):
        sweeps.add_metric([status], count)
    yield sweeps


def _of_workers(seen: Inventory) -> Iterator[Metric]:
    seconds = HistogramMetricFamily(
        "tierscope_worker_task_seconds", "Durations of tasks, of all workers together.", labels=["task"]
    )
    failures = CounterMetricFamily(
        "tierscope_worker_task_failures", "Runs of tasks that ended with an error.", labels=["task"]
    )
    last = GaugeMetricFamily(
        "tierscope_worker_task_last_run_timestamp_seconds", "When a run of the task last ended.", labels=["task"]
    )
    bounds = [*map(str, TASK_SECONDS), "+Inf"]
    for task in seen.tasks:
        counts = list(zip(bounds, accumulate(task.buckets), strict=True))
        seconds.add_metric([task.task], [(bound, float(count)) for bound, count in counts], task.seconds)
        failures.add_metric([task.task], task.failures)
        last.add_metric([task.task], task.last_at.timestamp())
    yield from (seconds, failures, last)
    rebuilt = CounterMetricFamily("tierscope_rebuilt_buckets", "Buckets that workers rebuilt.", labels=["kind"])
    failed = CounterMetricFamily(
        "tierscope_rebuild_failures", "Subjects whose rebuild failed; their work waits again.", labels=["kind"]
    )
    for kind in seen.rebuilt:
        rebuilt.add_metric([kind.kind], kind.buckets)
        failed.add_metric([kind.kind], kind.failures)
    yield from (rebuilt, failed)
