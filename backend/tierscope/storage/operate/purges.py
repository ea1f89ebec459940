"""Jobs that remove the data of a host or a service, as stored."""

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from sqlalchemy import text

from tierscope.core.database import ReadSession, WriteTransaction
from tierscope.domain.base.copying import copied

PurgeKind = Literal["host", "service"]

_SELECT = (
    "SELECT id, public_id, kind, subject_number, subject_id, subject_name, requested_by, requested_at, status, step,"
    " steps, position, report, error, started_at, finished_at FROM purges"
)


@dataclass(frozen=True, slots=True)
class PurgeSubjectRow:
    """The host or service whose data goes, by both its ids."""

    kind: PurgeKind
    number: int
    public_id: str
    name: str


@dataclass(frozen=True, slots=True)
class PurgeRow:
    """A job. `step` of `steps` are done; within the next one, what lies before `position` is."""

    number: int
    id: str
    subject: PurgeSubjectRow
    requested_by: str
    requested_at: datetime
    status: Literal["waiting", "running", "done"]
    step: int
    steps: int | None
    position: datetime | None
    report: dict[str, int]
    error: str | None
    started_at: datetime | None
    finished_at: datetime | None

    @property
    def kind(self) -> PurgeKind:
        """Of the subject."""
        return self.subject.kind


def find_subject(session: ReadSession, kind: PurgeKind, public_id: str) -> PurgeSubjectRow | None:
    """The host (revoked or not) or service with this id."""
    name = "name" if kind == "host" else "namespace || '/' || name"
    statement = text(f"SELECT id, {name} AS name FROM {kind}s WHERE public_id = :id")  # noqa: S608 - names of our own
    row = session.execute(statement, {"id": public_id}).one_or_none()
    return None if row is None else PurgeSubjectRow(kind, row.id, public_id, row.name)


def insert_purge(
    transaction: WriteTransaction, subject: PurgeSubjectRow, *, public_id: str, by: str, now: datetime
) -> bool:
    """Store a job; False where one of this subject is open."""
    statement = text(
        "INSERT INTO purges (public_id, kind, subject_number, subject_id, subject_name, requested_by, requested_at)"
        " VALUES (:public_id, :kind, :number, :subject, :name, :by, :now) ON CONFLICT DO NOTHING RETURNING id"
    )
    values = {
        "public_id": public_id,
        "kind": subject.kind,
        "number": subject.number,
        "subject": subject.public_id,
        "name": subject.name,
        "by": by,
        "now": now,
    }
    return transaction.execute(statement, values).one_or_none() is not None


def list_purges(session: ReadSession, *, before: int | None, limit: int) -> list[PurgeRow]:
    """Jobs, newest first; `before` is the number of the last one seen."""
    wanted = "" if before is None else " WHERE id < :before"
    values = {"limit": limit} | ({} if before is None else {"before": before})
    rows = session.execute(text(f"{_SELECT}{wanted} ORDER BY id DESC LIMIT :limit"), values)
    return [_row(row) for row in rows]


def find_purge(session: ReadSession, public_id: str) -> PurgeRow | None:
    """One job."""
    rows = session.execute(text(f"{_SELECT} WHERE public_id = :id"), {"id": public_id})
    return next((_row(row) for row in rows), None)


def next_purge(session: ReadSession) -> PurgeRow | None:
    """The oldest job that is not done."""
    rows = session.execute(text(f"{_SELECT} WHERE finished_at IS NULL ORDER BY id LIMIT 1"))
    return next((_row(row) for row in rows), None)


def last_purge(session: ReadSession) -> int:
    """The number of the newest job, done or not; 0 where there was none."""
    return int(session.execute(text("SELECT coalesce(max(id), 0) FROM purges")).scalar_one())


def move_purge(
    transaction: WriteTransaction,
    purge: PurgeRow,
    *,
    step: int,
    steps: int,
    position: datetime | None,
    removed: dict[str, int],
    now: datetime,
) -> None:
    """Note what a step removed, and where the job stands; after the last step it is done."""
    report = dict(purge.report)
    for table, rows in removed.items():
        if rows:
            report[table] = report.get(table, 0) + rows
    done = step >= steps
    transaction.execute(
        text(
            "UPDATE purges SET status = :status, step = :step, steps = :steps, position = :position, error = NULL,"
            " report = CAST(:report AS jsonb), started_at = coalesce(started_at, :now),"
            " finished_at = CAST(:finished AS timestamptz) WHERE id = :id"
        ),
        {
            "id": purge.number,
            "status": "done" if done else "running",
            "step": step,
            "steps": steps,
            "position": position,
            "report": json.dumps(report),
            "now": now,
            "finished": now if done else None,
        },
    )


def note_error(transaction: WriteTransaction, purge: PurgeRow, error: str) -> None:
    """Note what the last try failed with."""
    transaction.execute(text("UPDATE purges SET error = :error WHERE id = :id"), {"id": purge.number, "error": error})


def _row(row: Any) -> PurgeRow:  # noqa: ANN401 - a row of the driver
    return copied(
        PurgeRow,
        row,
        number=row.id,
        id=row.public_id,
        subject=PurgeSubjectRow(row.kind, row.subject_number, row.subject_id, row.subject_name),
    )
