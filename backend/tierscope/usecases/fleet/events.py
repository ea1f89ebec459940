"""Events: deploys, knob changes and whatever else people mark on charts."""

import hashlib
import json
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated, ClassVar, Literal, get_args

from pydantic import AwareDatetime, Field

from tierscope.core.database import WriteTransaction
from tierscope.core.errors import Conflict, NotFound, Unprocessable
from tierscope.domain.base.described import ASKED
from tierscope.domain.base.pages import Page
from tierscope.storage.access import credentials as stored_access
from tierscope.storage.fleet import events as stored
from tierscope.storage.fleet.events import EventItem
from tierscope.usecases.base.context import ClockedUseCase
from tierscope.usecases.base.subjects import decode_moment, encode_moment, parse_number

__all__ = ["EventItem", "EventRequest", "Events"]

EventKind = Literal["deploy", "knob", "capacity", "note", "incident"]
KINDS: tuple[EventKind, ...] = get_args(EventKind)
MAX_TEXT_LENGTH = 2000
MAX_KEY_LENGTH = 200
DEFAULT_WINDOW = timedelta(days=7)


@dataclass(frozen=True, slots=True)
class EventRequest:
    """A mark: what happened, when, and to what. `at` absent = now."""

    __pydantic_config__: ClassVar = ASKED

    kind: Annotated[EventKind, Field(default="deploy")]
    text: Annotated[str, Field(min_length=1, max_length=MAX_TEXT_LENGTH)]
    at: Annotated[AwareDatetime | None, Field(default=None)]
    host_id: Annotated[str | None, Field(default=None)]
    service_id: Annotated[str | None, Field(default=None)]


class Events(ClockedUseCase):
    """Marks and their list."""

    def create(self, event: EventRequest, *, actor: str, idempotency_key: str | None) -> EventItem:
        """Stores an event. The same key with the same content gives the first answer again and stores nothing.

        Raises:
            NotFound: no such host or service.
            Unprocessable: text, kind, time or key is not acceptable.
            Conflict: the key was used for something else.
        """
        _check(event, idempotency_key)
        digest = hashlib.sha256(
            json.dumps([event.kind, event.text, str(event.at), event.host_id, event.service_id]).encode()
        ).digest()
        with self._database.write() as transaction:
            if idempotency_key is not None:
                seen = stored.remembered_answer(transaction, actor=actor, key=idempotency_key, request_hash=digest)
                if seen is not None:
                    return _again(*seen)
            row = self._insert(transaction, event, actor)
            answer = {
                "id": row.id,
                "at": row.at.isoformat(),
                "kind": row.kind,
                "text": row.text,
                "host_id": row.host_id,
                "service_id": row.service_id,
                "author": row.author,
            }
            if idempotency_key is not None and not stored.remember_answer(
                transaction, actor=actor, key=idempotency_key, request_hash=digest, answer=answer
            ):
                raise Conflict("the same Idempotency-Key is being used by another request now")
        return row

    def list(
        self,
        *,
        start: datetime | None,
        end: datetime | None,
        service: str | None,
        host: str | None,
        cursor: str | None,
        limit: int,
    ) -> Page[EventItem]:
        """Returns events of [start, end), newest first. Default: the last seven days.

        Raises:
            BadRequest: the cursor is not one of ours.
        """
        before = None if cursor is None else decode_moment(cursor)
        end = end or self._clock() + timedelta(seconds=1)
        start = start or end - DEFAULT_WINDOW
        with self._database.read() as session:
            rows = stored.list_events(
                session, start=start, end=end, service=service, host=host, before=before, limit=limit
            )
        return Page(tuple(rows), encode_moment(rows[-1].at, int(rows[-1].id)) if len(rows) == limit else None)

    def delete(self, event_id: str, *, actor: str) -> None:
        """Removes an event; the audit trail keeps what it said.

        Raises:
            NotFound: there is no such event.
        """
        number = parse_number(event_id)
        with self._database.write() as transaction:
            gone = None if number is None else stored.delete_event(transaction, number)
            if gone is None:
                raise NotFound(f"there is no event {event_id[:40]!r}", next_step="List them with GET /v1/events.")
            detail = {"kind": gone.kind, "text": gone.text, "author": gone.author}
            stored_access.append_audit(
                transaction, stored_access.AuditRow(self._clock(), actor, "event.delete", event_id, detail)
            )

    def _insert(self, transaction: WriteTransaction, event: EventRequest, actor: str) -> EventItem:
        now = self._clock()
        host = service = None
        if event.host_id is not None:
            host = stored.host_by_public_id(transaction, event.host_id)
            if host is None:
                raise NotFound(f"there is no host {event.host_id}")
        if event.service_id is not None:
            service = stored.service_by_public_id(transaction, event.service_id)
            if service is None:
                raise NotFound(f"there is no service {event.service_id}")
        at = event.at or now
        event_id = stored.insert_event(
            transaction, at=at, kind=event.kind, text=event.text, host_id=host, service_id=service, author=actor
        )
        detail = {"kind": event.kind, "text": event.text}
        stored_access.append_audit(
            transaction, stored_access.AuditRow(now, actor, "event.create", str(event_id), detail)
        )
        return EventItem(str(event_id), at, event.kind, event.text, event.host_id, event.service_id, actor)


def _again(same: bool, answer: dict[str, str]) -> EventItem:  # noqa: FBT001 - a pair read from storage
    if not same:
        raise Conflict("this Idempotency-Key was used with other content", next_step="Use a new key.")
    return EventItem(
        id=str(answer["id"]),
        at=datetime.fromisoformat(answer["at"]),
        kind=answer["kind"],
        text=answer["text"],
        host_id=answer["host_id"],
        service_id=answer["service_id"],
        author=answer["author"],
    )


def _check(event: EventRequest, key: str | None) -> None:
    if event.kind not in KINDS:
        raise Unprocessable(f"kind is one of {', '.join(KINDS)}, not {event.kind[:40]!r}")
    if not 0 < len(event.text) <= MAX_TEXT_LENGTH or "\0" in event.text:
        raise Unprocessable(f"the text has 1 to {MAX_TEXT_LENGTH} characters, this one has {len(event.text)}")
    if event.at is not None and event.at.tzinfo is None:
        raise Unprocessable("the time has no zone")
    if event.at is not None and not stored.READABLE_FROM <= event.at < stored.READABLE_TO:
        raise Unprocessable("timestamp out of range")
    if key is not None and not 0 < len(key) <= MAX_KEY_LENGTH:
        raise Unprocessable(f"an Idempotency-Key has 1 to {MAX_KEY_LENGTH} characters")
