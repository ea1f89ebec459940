"""Scheduled reports: made, listed and deleted, and previews of what they would send."""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, ClassVar, Literal, get_args
from urllib.parse import urlsplit

from pydantic import Field

from tierscope.core.database import ReadSession
from tierscope.core.errors import NotFound, Unprocessable
from tierscope.core.outgoing import OutgoingCalls
from tierscope.domain.base.described import ASKED
from tierscope.domain.base.pages import Page
from tierscope.domain.base.stored_documents import WRONG_SHAPE, describe_problem
from tierscope.domain.reports.schedule import Cron, Daily, Schedule, parse_cron, parse_time
from tierscope.storage.access.credentials import AuditRow, append_audit
from tierscope.storage.reports import rows as stored
from tierscope.storage.reports.rows import ReportRow, RunRow
from tierscope.usecases.base.context import ContextUseCase
from tierscope.usecases.base.subjects import decode_cursor, encode_cursor
from tierscope.usecases.reports.content import SECTIONS, Section, gather_report
from tierscope.usecases.reports.html import render_html
from tierscope.usecases.reports.pdf import render_pdf

Format = Literal["html", "pdf", "both"]
MAX_REPORTS = 100
MAX_EVERY_DAYS = 366
DEFAULT_NAME = "Capacity report"


@dataclass(frozen=True, slots=True)
class ReportDestination:
    """Where a report goes. Answers show of a webhook the place alone: the rest of its address is often a secret."""

    __pydantic_config__: ClassVar = ASKED

    mail: Annotated[tuple[Annotated[str, Field(max_length=254)], ...], Field(max_length=50)] = ()
    webhook: Annotated[str | None, Field(max_length=2000)] = None


@dataclass(frozen=True, slots=True)
class NewReport:
    """A report as it is asked for: `cron`, or `every_days` with `at`."""

    name: str
    cron: str | None
    every_days: int | None
    at: str
    format: Format
    mail: tuple[str, ...]
    webhook: str | None
    sections: tuple[Section, ...]


@dataclass(frozen=True, slots=True)
class ReportRun:
    """One sending. `running` between attempts: those in `sent` have it, the others get it with the next one."""

    due_at: datetime
    started_at: datetime
    finished_at: datetime | None
    state: Literal["running", "sent", "failed"]
    attempts: int
    sent: tuple[str, ...]
    error: str | None


@dataclass(frozen=True, slots=True)
class Report:
    """A scheduled report with its newest sending."""

    id: str
    name: str
    cron: str | None
    every_days: int | None
    at: str
    format: Format
    to: ReportDestination
    sections: tuple[Section, ...]
    enabled: bool
    created_by: str
    created_at: datetime
    next_at: datetime
    last_run: ReportRun | None


class Reports(ContextUseCase):
    """Schedules of reports."""

    def list(self) -> tuple[Report, ...]:
        """All reports that can be read, by name; the status page tells of others, which can be deleted all the same."""
        with self._context.database.read() as session:
            rows = stored.list_reports(session)
            last = stored.last_runs(session, [row.id for row in rows])
        return tuple(_view(row, last.get(row.id)) for row in rows if problem_of_body(row.body) is None)

    def create(self, new: NewReport, *, actor: str) -> Report:
        """Store a report; it is sent for the first time when it is due next.

        Raises:
            Unprocessable: schedule, destination or name is not acceptable, or there are too many.
            OutgoingRefused: the webhook leads to an internal address that is not allowed.
        """
        now = self._context.clock()
        body = _check(new)
        if new.webhook is not None:
            OutgoingCalls(self._context.settings.outgoing).find_target(new.webhook)
        due = schedule_of(body).after(now, None)
        if due is None:
            raise Unprocessable(f"{new.cron!r} is never due")
        public_id = "r" + secrets.token_hex(8)
        values = {"public_id": public_id, "name": new.name, "body": body, "enabled": True, "author": actor}
        with self._context.database.write() as transaction:
            if len(stored.list_reports(transaction)) >= MAX_REPORTS:
                raise Unprocessable(f"there are {MAX_REPORTS} reports already", next_step="Delete one first.")
            stored.insert_report(transaction, {**values, "created_at": now, "due_at": due})
            append_audit(transaction, AuditRow(now, actor, "report.create", public_id, {"name": new.name}))
            return _require(transaction, public_id)

    def delete(self, report_id: str, *, actor: str) -> None:
        """Delete a report with its log.

        Raises:
            NotFound: there is no such report.
        """
        with self._context.database.write() as transaction:
            if not stored.delete_report(transaction, report_id):
                raise _unknown(report_id)
            append_audit(transaction, AuditRow(self._context.clock(), actor, "report.delete", report_id, {}))

    def runs(self, report_id: str, *, limit: int, cursor: str | None) -> Page[ReportRun]:
        """Sendings of a report, newest first.

        Raises:
            NotFound: there is no such report.
            BadRequest: the cursor is not one of ours.
        """
        before = None if cursor is None else int(decode_cursor(cursor, (int,))[0])
        with self._context.database.read() as session:
            row = stored.find_report(session, report_id)
            if row is None:
                raise _unknown(report_id)
            runs = stored.list_runs(session, row.id, before=before, limit=limit + 1)
        more = encode_cursor(runs[limit - 1].id) if len(runs) > limit else None
        return Page(tuple(run_view(run) for run in runs[:limit]), more)

    def preview_html(self, name: str, sections: tuple[Section, ...]) -> str:
        """The page that would be sent now."""
        return render_html(gather_report(self._context, name, sections))

    def preview_pdf(self, name: str, sections: tuple[Section, ...]) -> bytes:
        """The PDF that would be sent now."""
        return render_pdf(gather_report(self._context, name, sections))


def schedule_of(body: Mapping[str, Any]) -> Schedule:
    """The schedule of a stored report.

    Raises:
        ValueError: there is none in it.
    """
    if body["cron"] is not None:
        found = parse_cron(body["cron"])
        if not isinstance(found, Cron):
            raise ValueError(f"cron: {found}")
        return found
    hour, minute = parse_time(body["at"]) or (0, 0)
    if not 0 < int(body["every_days"]) <= MAX_EVERY_DAYS:
        raise ValueError(f"every_days is from 1 to {MAX_EVERY_DAYS}")
    return Daily(int(body["every_days"]), hour, minute)


def problem_of_body(body: Any) -> str | None:  # noqa: ANN401 - whatever the database holds
    """Why a stored report can neither be shown nor sent; None where it can."""
    try:
        schedule_of(body)
        webhook, sections = body["webhook"], body["sections"]
        mail = [str(address) for address in body["mail"]]
        if webhook is not None:
            place_of(webhook)
        if not (set(sections) <= set(SECTIONS) and body["format"] in get_args(Format) and (mail or webhook)):
            return "it has sections or a format that this version does not know, or no recipient"
        if not isinstance(body["at"], str):
            return "at is no time of day"
    except WRONG_SHAPE as error:
        return describe_problem(error)
    return None


def run_view(run: RunRow) -> ReportRun:
    """A sending as the log shows it."""
    return ReportRun(run.due_at, run.started_at, run.finished_at, run.state, run.attempts, tuple(run.sent), run.error)


def place_of(url: str) -> str:
    """Scheme, host and port of a webhook."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}/…"


def _view(row: ReportRow, last: RunRow | None) -> Report:
    body = row.body
    webhook = body["webhook"]
    return Report(
        id=row.public_id,
        name=row.name,
        cron=body["cron"],
        every_days=body["every_days"],
        at=body["at"],
        format=body["format"],
        to=ReportDestination(tuple(body["mail"]), None if webhook is None else place_of(webhook)),
        sections=tuple(body["sections"]),
        enabled=row.enabled,
        created_by=row.author,
        created_at=row.created_at,
        next_at=row.due_at,
        last_run=None if last is None else run_view(last),
    )


def _require(session: ReadSession, public_id: str) -> Report:
    row = stored.find_report(session, public_id)
    if row is None:
        raise _unknown(public_id)
    return _view(row, stored.last_runs(session, [row.id]).get(row.id))


def _unknown(report_id: str) -> NotFound:
    return NotFound(f"there is no report {report_id[:80]!r}", next_step="List them with GET /v1/reports.")


def _check(new: NewReport) -> dict[str, Any]:
    if (new.cron is None) == (new.every_days is None):
        raise Unprocessable("say either `cron` or `every_days`")
    if new.cron is not None and isinstance(wrong := parse_cron(new.cron), str):
        raise Unprocessable(f"cron: {wrong}", next_step="Write five fields, such as `0 7 * * 1`; times are UTC.")
    if parse_time(new.at) is None:
        raise Unprocessable(f"{new.at[:20]!r} is no time of day", next_step="Write HH:MM; times are UTC.")
    if not new.mail and new.webhook is None:
        raise Unprocessable("no recipient or webhook is set", next_step="Name mail addresses or a webhook.")
    if any(character in new.name for character in "\r\n\0"):
        raise Unprocessable("the name stands in the subject of mails: it is one line")
    for address in new.mail:
        if address.count("@") != 1 or any(character.isspace() or character in "<>,;\0" for character in address):
            raise Unprocessable(f"invalid email address: {address[:80]!r}")
    unknown = set(new.sections) - set(SECTIONS)
    if not new.sections or unknown:
        raise Unprocessable(f"sections are some of {', '.join(SECTIONS)}")
    return {
        "cron": new.cron,
        "every_days": new.every_days,
        "at": new.at,
        "format": new.format,
        "mail": list(dict.fromkeys(new.mail)),
        "webhook": new.webhook,
        "sections": list(dict.fromkeys(new.sections)),
    }
