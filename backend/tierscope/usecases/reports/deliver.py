"""Sends reports that are due: at least once to everyone, and no more than once where nothing fails.

A sending is noted before anything is sent, and each recipient that took it is noted at once: an attempt that breaks off
is gone on with by the next one, for those who are left. Mails and calls carry an id of the sending, so that a receiver
can tell a repeat.
"""

import base64
import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import structlog

from tierscope.core.errors import OutgoingFailed, TierscopeError
from tierscope.core.mail import Attachment, Email, MailSender
from tierscope.core.outgoing import OutgoingCalls
from tierscope.storage.reports import rows as stored
from tierscope.storage.reports.rows import ReportRow, RunRow
from tierscope.usecases.base.context import ReadContext
from tierscope.usecases.reports.content import ReportContent, gather_report
from tierscope.usecases.reports.html import moment_text, render_html
from tierscope.usecases.reports.pdf import render_pdf
from tierscope.usecases.reports.schedules import place_of, problem_of_body, schedule_of

MAX_ATTEMPTS = 6
RETRY = timedelta(minutes=5)
"""Before the second attempt; each further one waits twice as long."""
AT_ONCE = 20
FAR = timedelta(days=3650)
log = structlog.get_logger(__name__)


@dataclass(slots=True)
class Delivered:
    """What one run did."""

    sent: int = 0
    waiting: int = 0
    failed: int = 0


@dataclass(frozen=True, slots=True)
class _Files:
    """A report rendered in the formats that were asked for; None in others."""

    html: str | None
    pdf: bytes | None


class DeliverReports:
    """The run that beat starts each minute."""

    def __init__(self, context: ReadContext) -> None:
        self._context = context
        self._calls = OutgoingCalls(context.settings.outgoing)
        self._mail = MailSender(context.settings.mail, clock=context.clock)

    def run(self) -> Delivered:
        """Note what is due, then send what waits."""
        self._open()
        done = Delivered()
        for _ in range(AT_ONCE):
            now = self._context.clock()
            with self._context.database.write() as transaction:
                run = stored.claim_run(transaction, now, RETRY.total_seconds())
                report = None if run is None else stored.find_report_by_number(transaction, run.report_id)
            if run is None or report is None:
                break
            self._attempt(report, run, done)
        return done

    def _open(self) -> None:
        """Whatever was missed while no worker ran is sent once, not once for each time.

        A report that cannot be read is passed over; the status page tells of it.
        """
        now = self._context.clock()
        with self._context.database.write() as transaction:
            for report in stored.lock_due(transaction, now):
                if problem_of_body(report.body) is not None:
                    continue
                next_at = schedule_of(report.body).after(now, report.due_at)
                stored.open_run(transaction, report, now=now, next_at=next_at or now + FAR)

    def _attempt(self, report: ReportRow, run: RunRow, done: Delivered) -> None:
        errors = []
        try:
            content = gather_report(self._context, report.name, report.body["sections"])
            files = _render(content, report.body["format"])
            errors = self._send(report, run, content, files)
        except TierscopeError as error:
            errors = [error.detail]
        except Exception as error:
            # Whatever breaks one report must not keep the others from being sent.
            log.exception("report failed", report=report.public_id)
            errors = [f"{type(error).__name__}: look for this report in the log of the worker"]
        last = run.attempts >= MAX_ATTEMPTS
        state: stored.RunState = "sent" if not errors else "failed" if last else "running"
        finished = None if state == "running" else self._context.clock()
        with self._context.database.write() as transaction:
            text = "; ".join(errors)[:1000] or None
            stored.end_run(transaction, run.id, state, error=text, finished_at=finished)
        done.sent += state == "sent"
        done.waiting += state == "running"
        done.failed += state == "failed"

    def _send(self, report: ReportRow, run: RunRow, content: ReportContent, files: _Files) -> list[str]:
        """Send to everyone who has not taken it yet; what went wrong, by recipient."""
        key = f"{report.public_id}.{int(run.due_at.timestamp())}"
        sent, errors = list(run.sent), []
        sends: list[tuple[str, Callable[[], None]]] = [
            (address, lambda address=address: self._mail_to(address, key, content, files))  # type: ignore[misc]
            for address in report.body["mail"]
        ]
        webhook = report.body["webhook"]
        if webhook is not None:
            sends.append((place_of(webhook), lambda: self._call(webhook, key, report, content, files)))
        for recipient, send in sends:
            if recipient in sent:
                continue
            try:
                send()
            except TierscopeError as error:
                errors.append(f"{recipient}: {error.detail}")
                continue
            sent.append(recipient)
            with self._context.database.write() as transaction:
                stored.note_sent(transaction, run.id, sent)
        return errors

    def _mail_to(self, address: str, key: str, content: ReportContent, files: _Files) -> None:
        attachments: tuple[Attachment, ...] = ()
        if files.pdf is not None:
            attachments = (Attachment(f"{_file_name(content)}.pdf", "application/pdf", files.pdf),)
        where = "attached as a PDF" if files.html is None else "in the HTML part of this mail"
        text = f"{content.name}, as of {moment_text(content.made_at)}. The report is {where}.\n"
        email = Email(
            to=(address,),
            subject=f"{content.name} ({content.made_at:%Y-%m-%d})",
            text=text,
            html=files.html,
            attachments=attachments,
            message_id=f"{key}.{_digest(address)}@tierscope",
        )
        self._mail.send(email)

    def _call(self, url: str, key: str, report: ReportRow, content: ReportContent, files: _Files) -> None:
        body: dict[str, Any] = {
            "type": "tierscope.report",
            "id": key,
            "report_id": report.public_id,
            "name": content.name,
            "made_at": content.made_at.isoformat(),
            "simulated": content.simulated,
            "html": files.html,
            "pdf_base64": None if files.pdf is None else base64.b64encode(files.pdf).decode(),
        }
        headers = {"Content-Type": "application/json", "Idempotency-Key": key}
        answer = self._calls.send("POST", url, body=json.dumps(body).encode(), headers=headers)
        if not answer.ok:
            raise OutgoingFailed(f"it answered {answer.status_code}")


def _render(content: ReportContent, wanted: str) -> _Files:
    return _Files(None if wanted == "pdf" else render_html(content), None if wanted == "html" else render_pdf(content))


def _file_name(content: ReportContent) -> str:
    return f"tierscope-report-{content.made_at:%Y-%m-%d}"


def _digest(address: str) -> str:
    """Tells the mails of one sending apart without showing the address of another recipient."""
    return hashlib.sha256(address.encode()).hexdigest()[:16]
