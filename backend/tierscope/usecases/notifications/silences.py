"""Silences and acknowledgements: people saying that alerts are known."""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, ClassVar

from pydantic import AwareDatetime, Field

from tierscope.core.database import ReadSession
from tierscope.core.errors import Conflict, NotFound, Unprocessable
from tierscope.domain.base.copying import copied
from tierscope.domain.base.described import ASKED, Described
from tierscope.domain.base.pages import Page
from tierscope.domain.base.patterns import BadPattern
from tierscope.domain.notifications.matchers import Matcher, Operator, all_match
from tierscope.domain.notifications.routing import matcher_documents
from tierscope.domain.notifications.silences import Silence as CheckedSilence
from tierscope.domain.notifications.silences import SilenceStatus
from tierscope.storage.access.credentials import AuditRow, append_audit
from tierscope.storage.notifications import silences as stored
from tierscope.storage.notifications.silences import Acknowledgement, OpenAlert, SilenceRow
from tierscope.usecases.base.context import ClockedUseCase
from tierscope.usecases.base.subjects import decode_cursor, encode_cursor

__all__ = ["Acknowledgement", "LabelMatcher", "Silence", "SilenceRequest", "SilenceStatus", "Silences"]

MAX_MATCHERS = 50
MAX_NOTE_LENGTH = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelMatcher:
    """A condition on a label; one that is not there is the empty text.

    `=~` and `!~` take an expression in the syntax of RE2, which must match the whole value.
    """

    __pydantic_config__: ClassVar = ASKED

    name: Annotated[str, Field(min_length=1, max_length=200)]
    op: Operator = "="
    value: Annotated[str, Field(max_length=500)]


@dataclass(frozen=True, slots=True)
class Silence:
    """A silence. `matches`: ids of the open alerts that it matches, none once it has expired."""

    __pydantic_config__: ClassVar = ASKED

    id: str
    matchers: tuple[LabelMatcher, ...]
    starts_at: datetime
    ends_at: datetime
    comment: str
    created_by: str
    created_at: datetime
    status: SilenceStatus
    matches: tuple[str, ...]
    problem: Annotated[
        str | None, Described("Why it cannot be read and mutes nothing: expire it, and create it again.")
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SilenceRequest:
    """Alerts that meet all matchers are not sent from `starts_at` (absent = now) to `ends_at`."""

    __pydantic_config__: ClassVar = ASKED

    matchers: Annotated[tuple[LabelMatcher, ...], Field(min_length=1, max_length=MAX_MATCHERS)]
    starts_at: AwareDatetime | None = None
    ends_at: AwareDatetime
    comment: Annotated[str, Field(max_length=1000)] = ""


def read_matcher_views(views: Sequence[LabelMatcher]) -> tuple[Matcher, ...]:
    """The matchers that were sent.

    Raises:
        Unprocessable: one of them cannot be read.
    """
    try:
        return tuple(Matcher(view.name, view.op, view.value) for view in views)
    except BadPattern as error:
        raise Unprocessable(str(error), next_step=error.next_step) from error
    except ValueError as error:
        raise Unprocessable(str(error)) from error


class Silences(ClockedUseCase):
    """Silences: list, read, create, expire. Acknowledgements: give, withdraw."""

    def list(self, *, status: SilenceStatus | None, limit: int, cursor: str | None) -> Page[Silence]:
        """Silences, newest first.

        Raises:
            BadRequest: the cursor is not one of ours.
        """
        before = None if cursor is None else int(decode_cursor(cursor, (int,))[0])
        now = self._clock()
        with self._database.read() as session:
            rows = stored.list_silences(session, status=status, now=now, before=before, limit=limit + 1)
            alerts = stored.open_alerts(session)
        more = encode_cursor(rows[limit - 1].number) if len(rows) > limit else None
        return Page(tuple(_view(row, alerts, now) for row in rows[:limit]), more)

    def read(self, silence_id: str) -> Silence:
        """One silence.

        Raises:
            NotFound: there is no such silence.
        """
        with self._database.read() as session:
            return self._read(session, silence_id)

    def create(self, new: SilenceRequest, *, actor: str) -> Silence:
        """Silence alerts for a time.

        Raises:
            Unprocessable: the times or the matchers make no silence.
        """
        now = self._clock()
        silence = _checked(new, now)
        comment = _checked_text(new.comment, "comment")
        with self._database.write() as transaction:
            stored.insert_silence(transaction, silence, comment=comment, by=actor, now=now)
            detail = {
                "matchers": matcher_documents(silence.matchers),
                "starts_at": silence.starts_at.isoformat(),
                "ends_at": silence.ends_at.isoformat(),
                "comment": comment,
            }
            append_audit(transaction, AuditRow(now, actor, "silence.create", silence.id, detail))
            return self._read(transaction, silence.id)

    def expire(self, silence_id: str, *, actor: str) -> Silence:
        """End a silence now; one that is over stays as it is.

        Raises:
            NotFound: there is no such silence.
        """
        now = self._clock()
        with self._database.write() as transaction:
            before = self._read(transaction, silence_id)
            if before.status != "expired":
                stored.end_silence(transaction, silence_id, now)
                detail = {"ends_at": before.ends_at.isoformat(), "comment": before.comment}
                append_audit(transaction, AuditRow(now, actor, "silence.expire", silence_id, detail))
            return self._read(transaction, silence_id)

    def acknowledge(self, alert_id: str, *, note: str, actor: str) -> Acknowledgement:
        """Say that someone looks after an alert: it is not repeated, and its end is told all the same.

        Raises:
            NotFound: there is no such alert.
            Conflict: it is resolved.
        """
        given = Acknowledgement(self._clock(), actor, _checked_text(note, "note"))
        with self._database.write() as transaction:
            alert = _require_alert(transaction, alert_id)
            if alert.state == "resolved":
                raise Conflict("this alert is resolved", next_step="Look at the alerts that fire: GET /v1/alerts.")
            stored.store_acknowledgement(transaction, alert.number, given)
            append_audit(transaction, AuditRow(given.at, actor, "alert.acknowledge", alert_id, {"note": given.note}))
        return given

    def take_back(self, alert_id: str, *, actor: str) -> None:
        """Take an acknowledgement back; nothing happens where there is none.

        Raises:
            NotFound: there is no such alert.
        """
        with self._database.write() as transaction:
            alert = _require_alert(transaction, alert_id)
            if stored.take_acknowledgement(transaction, alert.number):
                row = AuditRow(self._clock(), actor, "alert.unacknowledge", alert_id, {})
                append_audit(transaction, row)

    def _read(self, session: ReadSession, silence_id: str) -> Silence:
        row = stored.find_silence(session, silence_id)
        if row is None:
            raise NotFound(f"there is no silence {silence_id[:80]!r}", next_step="List them with GET /v1/silences.")
        return _view(row, stored.open_alerts(session), self._clock())


def _require_alert(session: ReadSession, alert_id: str) -> OpenAlert:
    alert = stored.find_alert(session, alert_id)
    if alert is None:
        raise NotFound(f"there is no alert {alert_id[:80]!r}", next_step="List them with GET /v1/alerts.")
    return alert


def _view(row: SilenceRow, alerts: Sequence[OpenAlert], now: datetime) -> Silence:
    silence = row.silence
    status = silence.status(now)
    idle = status == "expired" or row.problem is not None
    matched = () if idle else (a.id for a in alerts if all_match(silence.matchers, a.labels))
    return copied(
        Silence,
        row,
        id=silence.id,
        matchers=tuple(copied(LabelMatcher, matcher) for matcher in silence.matchers),
        starts_at=silence.starts_at,
        ends_at=silence.ends_at,
        status=status,
        matches=tuple(matched),
    )


def _checked(new: SilenceRequest, now: datetime) -> CheckedSilence:
    matchers = read_matcher_views(new.matchers)
    if not 0 < len(matchers) <= MAX_MATCHERS:
        raise Unprocessable(f"a silence has one to {MAX_MATCHERS} matchers")
    if all_match(matchers, {}):
        raise Unprocessable(
            "every matcher also matches alerts without its label: the silence would be over far more than it says",
            next_step="Name at least one label with a value, such as service=cache.",
        )
    starts_at = max(new.starts_at or now, now)
    if new.ends_at <= starts_at:
        raise Unprocessable("a silence ends after it starts, and after now")
    return CheckedSilence("s" + secrets.token_hex(8), matchers, starts_at, new.ends_at)


def _checked_text(text: str, field: str) -> str:
    if len(text) > MAX_NOTE_LENGTH or "\0" in text:
        raise Unprocessable(f"the {field} has at most {MAX_NOTE_LENGTH} characters")
    return text
