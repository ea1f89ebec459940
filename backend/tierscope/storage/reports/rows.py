"""Scheduled reports as stored, and what became of each sending."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from sqlalchemy import delete, insert, select, text, update
from sqlalchemy.dialects.postgresql import insert as upsert

from tierscope.core.database import ReadSession, WriteTransaction
from tierscope.storage.tables import report_runs, reports

RunState = Literal["running", "sent", "failed"]


@dataclass(frozen=True, slots=True)
class ReportRow:
    """A scheduled report. `body`: schedule, format, where to, sections."""

    id: int
    public_id: str
    name: str
    body: Mapping[str, Any]
    enabled: bool
    author: str
    created_at: datetime
    due_at: datetime


@dataclass(frozen=True, slots=True)
class RunRow:
    """One sending: who took it so far, and what went wrong last."""

    id: int
    report_id: int
    due_at: datetime
    started_at: datetime
    finished_at: datetime | None
    state: RunState
    attempts: int
    sent: Sequence[str]
    error: str | None


def insert_report(transaction: WriteTransaction, values: Mapping[str, Any]) -> None:
    """Store a report."""
    transaction.execute(insert(reports).values(dict(values)))


def delete_report(transaction: WriteTransaction, public_id: str) -> bool:
    """Delete a report with its runs; whether there was one."""
    return transaction.execute(delete(reports).where(reports.c.public_id == public_id)).rowcount > 0


def list_reports(session: ReadSession) -> list[ReportRow]:
    """All reports by name."""
    rows = session.execute(select(reports).order_by(reports.c.name, reports.c.id)).mappings()
    return [ReportRow(**row) for row in rows]


def find_report(session: ReadSession, public_id: str) -> ReportRow | None:
    """One report by its public id."""
    row = session.execute(select(reports).where(reports.c.public_id == public_id)).mappings().one_or_none()
    return None if row is None else ReportRow(**row)


def find_report_by_number(session: ReadSession, report_id: int) -> ReportRow | None:
    """One report by its internal number."""
    row = session.execute(select(reports).where(reports.c.id == report_id)).mappings().one_or_none()
    return None if row is None else ReportRow(**row)


def lock_due(transaction: WriteTransaction, now: datetime) -> list[ReportRow]:
    """Reports that are due, locked against other workers until the transaction ends."""
    statement = (
        select(reports)
        .where(reports.c.enabled, reports.c.due_at <= now)
        .order_by(reports.c.id)
        .with_for_update(skip_locked=True)
    )
    return [ReportRow(**row) for row in transaction.execute(statement).mappings()]


def open_run(transaction: WriteTransaction, report: ReportRow, *, now: datetime, next_at: datetime) -> None:
    """Note that a sending is to be made, and when the next one is due."""
    values = {
        "report_id": report.id,
        "due_at": report.due_at,
        "started_at": now,
        "state": "running",
        "attempts": 0,
        "sent": [],
    }
    transaction.execute(upsert(report_runs).values(values).on_conflict_do_nothing())
    transaction.execute(update(reports).where(reports.c.id == report.id).values(due_at=next_at))


def claim_run(transaction: WriteTransaction, now: datetime, retry_seconds: float) -> RunRow | None:
    """A sending that waits for its next attempt, counted as begun now; None where there is none.

    Each attempt waits longer: so many seconds, then twice that, and so on. One whose worker died is taken up again.
    """
    statement = text(
        "UPDATE report_runs SET attempts = attempts + 1, started_at = :now WHERE id = (SELECT id FROM report_runs"
        " WHERE state = 'running' AND (attempts = 0 OR started_at <= CAST(:now AS timestamptz)"
        "  - make_interval(secs => :retry * power(2, attempts - 1)))"
        " ORDER BY due_at, id LIMIT 1 FOR UPDATE SKIP LOCKED) RETURNING *"
    )
    row = transaction.execute(statement, {"now": now, "retry": retry_seconds}).mappings().one_or_none()
    return None if row is None else RunRow(**row)


def note_sent(transaction: WriteTransaction, run_id: int, recipients: Sequence[str]) -> None:
    """Record who has taken it so far."""
    transaction.execute(update(report_runs).where(report_runs.c.id == run_id).values(sent=list(recipients)))


def end_run(
    transaction: WriteTransaction, run_id: int, state: RunState, *, error: str | None, finished_at: datetime | None
) -> None:
    """Record how an attempt ended; `running` where another one follows."""
    values = {"state": state, "error": error, "finished_at": finished_at}
    transaction.execute(update(report_runs).where(report_runs.c.id == run_id).values(values))


def list_runs(session: ReadSession, report_id: int, *, before: int | None, limit: int) -> list[RunRow]:
    """Sendings of a report, newest first; `before` is the number of the last one seen."""
    statement = select(report_runs).where(report_runs.c.report_id == report_id).order_by(report_runs.c.id.desc())
    if before is not None:
        statement = statement.where(report_runs.c.id < before)
    return [RunRow(**row) for row in session.execute(statement.limit(limit)).mappings()]


def last_runs(session: ReadSession, report_ids: Sequence[int]) -> dict[int, RunRow]:
    """The newest sending of each report that had any."""
    statement = text(
        "SELECT DISTINCT ON (report_id) * FROM report_runs WHERE report_id = ANY(:ids) ORDER BY report_id, id DESC"
    )
    rows = session.execute(statement, {"ids": list(report_ids)}).mappings()
    return {row["report_id"]: RunRow(**row) for row in rows}
