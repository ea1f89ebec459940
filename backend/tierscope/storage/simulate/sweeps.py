"""Sweeps as stored: what was asked, their tasks with leases, and the finished runs.

A worker takes a task for as long as its lease lasts, by the database's own clock, and renews it meanwhile. Whatever it
stores names it as the holder, so that a worker that lost its task to another one changes nothing any more.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from sqlalchemy import insert, text

from tierscope.core.database import ReadSession, WriteTransaction
from tierscope.storage.tables import sweep_tasks, sweeps

TaskStatus = Literal["queued", "running", "done", "failed", "cancelled"]
SweepStatus = TaskStatus


@dataclass(frozen=True, slots=True)
class TaskRow:
    """One policy of a sweep. `done` of `total` runs are finished."""

    policy: str
    status: TaskStatus
    done: int
    total: int
    error: str | None


@dataclass(frozen=True, slots=True)
class SweepRow:
    """A sweep with its tasks. `facts`: what its traces are, None until a worker has read them."""

    id: int
    public_id: str
    name: str
    service_id: int | None
    host_id: int | None
    upload_id: int | None
    spec: dict[str, Any]
    facts: dict[str, Any] | None
    author: str
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    cancelled_at: datetime | None
    tasks: tuple[TaskRow, ...]

    @property
    def status(self) -> SweepStatus:
        """What the tasks make of it."""
        if self.cancelled_at is not None:
            return "cancelled"
        states = {task.status for task in self.tasks}
        if states <= {"done"}:
            return "done"
        if not states & {"queued", "running"}:
            return "failed"
        return "running" if "running" in states or self.started_at is not None else "queued"


@dataclass(frozen=True, slots=True)
class TakenTask:
    """A task that a worker has taken; `takes`: how often one did since a run was stored."""

    id: int
    sweep_id: int
    public_id: str
    policy: str
    holder: str
    takes: int


@dataclass(frozen=True, slots=True)
class RunRow:
    """A finished run: its figures, or why there are none."""

    number: int
    policy: str
    body: dict[str, Any]


_SELECT = (
    "SELECT s.id, s.public_id, s.name, s.service_id, s.host_id, s.upload_id, s.spec, s.facts, s.author, s.created_at,"
    " s.started_at, s.finished_at, s.cancelled_at FROM sweeps s"
)


def insert_sweep(transaction: WriteTransaction, values: Mapping[str, object], totals: Mapping[str, int]) -> int:
    """Store a sweep with a task for each policy that has so many runs; the id."""
    made = int(transaction.execute(insert(sweeps).values(dict(values)).returning(sweeps.c.id)).scalar_one())
    rows = [{"sweep_id": made, "policy": policy, "total": total} for policy, total in totals.items()]
    transaction.execute(insert(sweep_tasks), rows)
    return made


def count_open_sweeps(session: ReadSession) -> int:
    """Sweeps that wait or run."""
    statement = text("SELECT count(DISTINCT sweep_id) FROM sweep_tasks WHERE status IN ('queued', 'running')")
    return int(session.execute(statement).scalar_one())


def find_sweep(session: ReadSession, public_id: str, *, lock: bool = False) -> SweepRow | None:
    """One sweep; `lock` keeps others from changing it until the transaction ends."""
    if lock:
        # Tasks first, as workers do, who hold one while they store a run of its sweep.
        tasks = "SELECT FROM sweep_tasks t JOIN sweeps s ON s.id = t.sweep_id WHERE s.public_id = :id ORDER BY t.id"
        session.execute(text(f"{tasks} FOR UPDATE OF t"), {"id": public_id})
    statement = text(f"{_SELECT} WHERE s.public_id = :id{' FOR UPDATE' if lock else ''}")
    return next(iter(_with_tasks(session, session.execute(statement, {"id": public_id}).mappings().all())), None)


def list_sweeps(session: ReadSession, *, service: str | None, before: int | None, limit: int) -> list[SweepRow]:
    """Sweeps, newest first; `before` is the id of the last one seen."""
    statement = text(
        f"{_SELECT} LEFT JOIN services v ON v.id = s.service_id"
        " WHERE (CAST(:before AS bigint) IS NULL OR s.id < :before)"
        " AND (CAST(:service AS text) IS NULL OR v.public_id = :service) ORDER BY s.id DESC LIMIT :limit"
    )
    values = {"before": before, "service": service, "limit": limit}
    return _with_tasks(session, session.execute(statement, values).mappings().all())


def _with_tasks(session: ReadSession, rows: Sequence[Any]) -> list[SweepRow]:
    statement = text(
        "SELECT t.sweep_id, t.policy, t.status, t.total, t.error, (SELECT count(*) FROM sweep_runs r"
        " WHERE r.sweep_id = t.sweep_id AND r.policy = t.policy) AS done"
        " FROM sweep_tasks t WHERE t.sweep_id = ANY(:ids) ORDER BY t.id"
    )
    tasks: dict[int, list[TaskRow]] = {row["id"]: [] for row in rows}
    for found in session.execute(statement, {"ids": list(tasks)}):
        tasks[found.sweep_id].append(TaskRow(found.policy, found.status, int(found.done), found.total, found.error))
    return [SweepRow(**row, tasks=tuple(tasks[row["id"]])) for row in rows]


def cancel_sweep(transaction: WriteTransaction, sweep_id: int, now: datetime) -> None:
    """Cancel what waits; what runs ends with its present run."""
    transaction.execute(
        text("UPDATE sweeps SET cancelled_at = :now, finished_at = :now WHERE id = :id"), {"now": now, "id": sweep_id}
    )
    transaction.execute(
        text(
            "UPDATE sweep_tasks SET status = 'cancelled', holder = NULL, lease_until = NULL WHERE sweep_id = :id"
            " AND status IN ('queued', 'running')"
        ),
        {"id": sweep_id},
    )


def resume_sweep(transaction: WriteTransaction, sweep_id: int) -> None:
    """Let cancelled and failed tasks wait again; their finished runs stay."""
    transaction.execute(
        text("UPDATE sweeps SET cancelled_at = NULL, finished_at = NULL WHERE id = :id"), {"id": sweep_id}
    )
    transaction.execute(
        text(
            "UPDATE sweep_tasks SET status = 'queued', error = NULL, takes = 0 WHERE sweep_id = :id"
            " AND status IN ('cancelled', 'failed')"
        ),
        {"id": sweep_id},
    )


def delete_sweep(transaction: WriteTransaction, sweep_id: int) -> None:
    """Remove a sweep with all its runs."""
    transaction.execute(text("DELETE FROM sweeps WHERE id = :id"), {"id": sweep_id})


def take_task(
    transaction: WriteTransaction,
    *,
    holder: str,
    lease_seconds: float,
    now: datetime,
    policies: Sequence[str] = (),
    beside: TakenTask | None = None,
) -> TakenTask | None:
    """Take a task of the sweep that waits longest, or one whose holder has let its lease run out; None without any.

    `policies`: in the order in which tasks of a sweep are taken. `beside`: a task of that sweep alone, and none that a
    worker has died at.
    """
    statement = text(
        "UPDATE sweep_tasks t SET status = 'running', holder = :holder, takes = takes + 1,"
        " lease_until = clock_timestamp() + make_interval(secs => :seconds) FROM sweeps s"
        " WHERE s.id = t.sweep_id AND t.id = (SELECT q.id FROM sweep_tasks q WHERE (q.status = 'queued'"
        "  OR (q.status = 'running' AND q.lease_until < clock_timestamp()))"
        "  AND (CAST(:beside AS bigint) IS NULL OR (q.sweep_id = :beside AND q.takes = 0))"
        "  ORDER BY q.sweep_id, array_position(CAST(:policies AS text[]), q.policy), q.id"
        "  LIMIT 1 FOR UPDATE SKIP LOCKED)"
        " RETURNING t.id, t.sweep_id, s.public_id, t.policy, t.holder, t.takes"
    )
    values = {
        "holder": holder,
        "seconds": lease_seconds,
        "policies": list(policies),
        "beside": None if beside is None else beside.sweep_id,
    }
    row = transaction.execute(statement, values).mappings().one_or_none()
    if row is None:
        return None
    started = text("UPDATE sweeps SET started_at = coalesce(started_at, :now) WHERE id = :id")
    transaction.execute(started, {"now": now, "id": row["sweep_id"]})
    return TakenTask(**row)


def renew_lease(transaction: WriteTransaction, task: TakenTask, lease_seconds: float) -> bool:
    """Hold the task for longer; False where it is no longer held, because it was cancelled or another one took it."""
    statement = text(
        "UPDATE sweep_tasks SET lease_until = clock_timestamp() + make_interval(secs => :seconds)"
        " WHERE id = :id AND status = 'running' AND holder = :holder"
    )
    values = {"seconds": lease_seconds, "id": task.id, "holder": task.holder}
    return bool(transaction.execute(statement, values).rowcount)


def finished_runs(session: ReadSession, sweep_id: int, policy: str) -> set[int]:
    """Numbers of the runs that are stored."""
    statement = text("SELECT number FROM sweep_runs WHERE sweep_id = :id AND policy = :policy")
    return set(session.execute(statement, {"id": sweep_id, "policy": policy}).scalars())


def store_run(
    transaction: WriteTransaction, task: TakenTask, number: int, body: str, series: bytes | None, *, seconds: float
) -> bool:
    """Store a finished run, `body` as JSON, unless the task is no longer held; whether it may go on."""
    held = text("UPDATE sweep_tasks SET takes = 0 WHERE id = :id AND status = 'running' AND holder = :holder")
    if not transaction.execute(held, {"id": task.id, "holder": task.holder}).rowcount:
        return False
    statement = text(
        "INSERT INTO sweep_runs (sweep_id, number, policy, body, series, seconds)"
        " VALUES (:sweep, :number, :policy, CAST(:body AS jsonb), :series, :seconds)"
    )
    values = {
        "sweep": task.sweep_id,
        "number": number,
        "policy": task.policy,
        "body": body,
        "series": series,
        "seconds": seconds,
    }
    transaction.execute(statement, values)
    return True


def leave_task(
    transaction: WriteTransaction, task: TakenTask, status: TaskStatus, *, now: datetime, error: str | None = None
) -> None:
    """End a task, or let it wait for the next worker. With its last task the sweep is finished."""
    statement = text(
        "UPDATE sweep_tasks SET status = :status, error = :error, holder = NULL, lease_until = NULL, takes = 0"
        " WHERE id = :id AND status = 'running' AND holder = :holder"
    )
    transaction.execute(statement, {"status": status, "error": error, "id": task.id, "holder": task.holder})
    finished = text(
        "UPDATE sweeps SET finished_at = :now WHERE id = :sweep AND finished_at IS NULL AND NOT EXISTS"
        " (SELECT 1 FROM sweep_tasks WHERE sweep_id = :sweep AND status IN ('queued', 'running'))"
    )
    transaction.execute(finished, {"now": now, "sweep": task.sweep_id})


def store_facts(transaction: WriteTransaction, sweep_id: int, facts: str, heat: bytes) -> None:
    """Store what the traces of a sweep are, `facts` as JSON, and their heat; the first worker's stay."""
    statement = text("UPDATE sweeps SET facts = CAST(:facts AS jsonb), heat = :heat WHERE id = :id AND facts IS NULL")
    transaction.execute(statement, {"facts": facts, "heat": heat, "id": sweep_id})


def read_runs(session: ReadSession, sweep_id: int) -> list[RunRow]:
    """All finished runs by number."""
    statement = text("SELECT number, policy, body FROM sweep_runs WHERE sweep_id = :id ORDER BY number")
    return [RunRow(row.number, row.policy, row.body) for row in session.execute(statement, {"id": sweep_id})]


def read_run(session: ReadSession, sweep_id: int, number: int) -> tuple[RunRow, bytes | None] | None:
    """One finished run with its packed series."""
    statement = text("SELECT number, policy, body, series FROM sweep_runs WHERE sweep_id = :id AND number = :number")
    row = session.execute(statement, {"id": sweep_id, "number": number}).one_or_none()
    return None if row is None else (RunRow(row.number, row.policy, row.body), row.series)


def read_heat(session: ReadSession, sweep_id: int) -> bytes | None:
    """The packed heat of a sweep's trace."""
    found = session.execute(text("SELECT heat FROM sweeps WHERE id = :id"), {"id": sweep_id}).scalar_one_or_none()
    return None if found is None else bytes(found)


def purge_sweeps(transaction: WriteTransaction, before: datetime) -> int:
    """Remove sweeps that were made before a moment and neither wait nor run; how many."""
    statement = text(
        "DELETE FROM sweeps s WHERE s.created_at < :before AND NOT EXISTS (SELECT 1 FROM sweep_tasks t"
        " WHERE t.sweep_id = s.id AND t.status IN ('queued', 'running'))"
    )
    return transaction.execute(statement, {"before": before}).rowcount
