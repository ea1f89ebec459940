"""What the service counts of itself: runs of workers' tasks, and how much there is of each thing."""

from collections.abc import Mapping
from datetime import datetime, timedelta

from sqlalchemy import text

from tierscope.core.database import ReadSession, WriteTransaction
from tierscope.domain.base.jobs import due_table
from tierscope.domain.fleet.host_facts import late_before, silent_before
from tierscope.domain.operate.telemetry import TASK_SECONDS, Inventory, Rebuilt, TaskRuns, bucket_of
from tierscope.storage.base.dirty_buckets import backlog
from tierscope.storage.fleet.reporting import STATE
from tierscope.storage.fleet.sending import longest_held_seconds

_COUNT_RUN = text(
    "INSERT INTO task_runs AS t (task, runs, failures, seconds, buckets, last_at, failed_at)"
    " VALUES (:task, 1, :failures, :seconds, :buckets, :at, :failed_at)"
    " ON CONFLICT (task) DO UPDATE SET runs = t.runs + 1,"
    " failures = t.failures + excluded.failures, seconds = t.seconds + excluded.seconds, buckets = ARRAY("
    "  SELECT u.a + u.b FROM unnest(t.buckets, excluded.buckets) WITH ORDINALITY AS u (a, b, n) ORDER BY u.n),"
    " last_at = greatest(t.last_at, excluded.last_at), failed_at = greatest(t.failed_at, excluded.failed_at)"
)
_COUNT_REBUILT = text(
    "INSERT INTO rebuilt_buckets AS r (kind, buckets, failures) VALUES (:kind, :buckets, :failures)"
    " ON CONFLICT (kind) DO UPDATE SET buckets = r.buckets + excluded.buckets,"
    " failures = r.failures + excluded.failures"
)
_HOSTS = text(
    "SELECT CASE WHEN h.retired_at IS NOT NULL THEN 'retired'"  # noqa: S608 - words of our own
    f" ELSE {STATE} END AS state, h.origin, count(*) AS n FROM hosts h WHERE h.revoked_at IS NULL GROUP BY 1, 2"
)
_SERVICES = text("SELECT origin, count(*) AS n FROM services GROUP BY 1")
_ALERTS = text("SELECT state, severity, count(*) AS n FROM alerts WHERE resolved_at IS NULL GROUP BY 1, 2")
_NOTIFICATIONS = text("SELECT status, count(*) AS n FROM notifications GROUP BY 1")
_SWEEPS = text(
    "SELECT CASE WHEN cancelled_at IS NOT NULL THEN 'cancelled' WHEN finished_at IS NOT NULL THEN 'finished'"
    " WHEN started_at IS NOT NULL THEN 'running' ELSE 'queued' END AS status, count(*) AS n FROM sweeps GROUP BY 1"
)


def count_run(transaction: WriteTransaction, task: str, *, seconds: float, failed: bool, at: datetime) -> None:
    """Count one run of a task that ended at `at`."""
    buckets = [0] * (len(TASK_SECONDS) + 1)
    buckets[bucket_of(seconds)] = 1
    values = {"task": task, "failures": int(failed), "seconds": seconds, "buckets": buckets, "at": at}
    transaction.execute(_COUNT_RUN, values | {"failed_at": at if failed else None})


def count_rebuilt(transaction: WriteTransaction, buckets: Mapping[str, int], failures: Mapping[str, int]) -> None:
    """Count what one run of rebuilding did, by kind."""
    rows = [
        {"kind": kind, "buckets": buckets.get(kind, 0), "failures": failures.get(kind, 0)}
        for kind in sorted({*buckets, *failures})  # in one order, so that two workers never wait for each other
    ]
    if rows:
        transaction.execute(_COUNT_REBUILT, rows)


def read_inventory(session: ReadSession, now: datetime) -> Inventory:
    """Look at everything once."""
    held = timedelta(seconds=longest_held_seconds(session))
    waiting = backlog(session, now=now, due=due_table(now, held))
    moments = {"late": late_before(now), "silent": silent_before(now)}
    tasks = session.execute(text("SELECT task, runs, failures, seconds, buckets, last_at FROM task_runs ORDER BY task"))
    rebuilt = session.execute(text("SELECT kind, buckets, failures FROM rebuilt_buckets ORDER BY kind"))
    return Inventory(
        hosts={(row.state, row.origin): int(row.n) for row in session.execute(_HOSTS, moments)},
        services={row.origin: int(row.n) for row in session.execute(_SERVICES)},
        marks_pending=waiting.pending,
        marks_oldest_seconds=0.0 if waiting.oldest_at is None else max((now - waiting.oldest_at).total_seconds(), 0.0),
        alerts={(row.state, row.severity): int(row.n) for row in session.execute(_ALERTS)},
        notifications={row.status: int(row.n) for row in session.execute(_NOTIFICATIONS)},
        sweeps={row.status: int(row.n) for row in session.execute(_SWEEPS)},
        tasks=tuple(
            TaskRuns(row.task, row.runs, row.failures, row.seconds, tuple(row.buckets), row.last_at) for row in tasks
        ),
        rebuilt=tuple(Rebuilt(row.kind, row.buckets, row.failures) for row in rebuilt),
    )
