"""Events: marks on charts."""

import base64
import binascii
from datetime import datetime
from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Header, Query
from pydantic import AwareDatetime, Field

from tierscope.api.base.figures import Model, Page
from tierscope.api.base.ownership import service_in_body
from tierscope.api.base.permissions import requires
from tierscope.api.base.use_cases import use
from tierscope.core.errors import BadRequest
from tierscope.usecases.access.tokens import Caller
from tierscope.usecases.base.subjects import decode_position
from tierscope.usecases.fleet.events import EventRow, Events, NewEvent

router = APIRouter(prefix="/v1/events", tags=["events"])


class EventRequest(Model):
    """A mark: what happened, when, and to what. `at` absent = now."""

    text: str = Field(min_length=1, max_length=2000)
    kind: Literal["deploy", "knob", "capacity", "note", "incident"] = "deploy"
    at: AwareDatetime | None = None
    host_id: str | None = None
    service_id: str | None = None


class EventItem(Model):
    """A stored mark."""

    id: str
    at: datetime
    kind: str
    text: str
    host_id: str | None
    service_id: str | None
    author: str | None


@router.post("", status_code=201, summary="Mark a deploy or another change")
def create_event(
    body: EventRequest,
    events: Annotated[Events, Depends(use(lambda held: held.events))],
    caller: Annotated[Caller, Depends(requires("write:events", owned=service_in_body))],
    idempotency_key: Annotated[str | None, Header(max_length=200)] = None,
) -> EventItem:
    """Store a mark. The same Idempotency-Key with the same body stores it once."""
    event = NewEvent(kind=body.kind, text=body.text, at=body.at, host_id=body.host_id, service_id=body.service_id)
    return _item(events.create(event, actor=caller.name, idempotency_key=idempotency_key))


@router.get("", dependencies=[Depends(requires("read:fleet"))], summary="Marks, newest first")
def list_events(
    events: Annotated[Events, Depends(use(lambda held: held.events))],
    start: Annotated[AwareDatetime | None, Query(alias="from")] = None,
    end: Annotated[AwareDatetime | None, Query(alias="to")] = None,
    service: Annotated[str | None, Query(description="Service id.")] = None,
    host: Annotated[str | None, Query(description="Host id.")] = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
    cursor: str | None = None,
) -> Page[EventItem]:
    """List marks of a window; default the last seven days."""
    before = None if cursor is None else _parse_cursor(cursor)
    rows = events.list(start=start, end=end, service=service, host=host, before=before, limit=limit)
    last = rows[-1] if len(rows) == limit else None
    cursor_text = None if last is None else f"{last.at.isoformat()}|{last.id}"
    next_cursor = None if cursor_text is None else base64.urlsafe_b64encode(cursor_text.encode()).decode()
    return Page[EventItem](items=[_item(row) for row in rows], next_cursor=next_cursor)


@router.delete("/{event_id}", status_code=204, summary="Remove a mark")
def delete_event(
    event_id: str,
    events: Annotated[Events, Depends(use(lambda held: held.events))],
    caller: Annotated[Caller, Depends(requires("write:events"))],
) -> None:
    """Remove a mark from all charts; the audit trail keeps what it said."""
    events.delete(event_id, actor=caller.name)


def _item(row: EventRow) -> EventItem:
    return EventItem(
        id=str(row.id),
        at=row.at,
        kind=row.kind,
        text=row.text,
        host_id=row.host_id,
        service_id=row.service_id,
        author=row.author,
    )


def _parse_cursor(cursor: str) -> tuple[datetime, int]:
    try:
        at, _, event_id = base64.urlsafe_b64decode(cursor.encode()).decode().partition("|")
        parsed = datetime.fromisoformat(at), decode_position(event_id)
    except (ValueError, binascii.Error) as error:
        raise BadRequest("the cursor is not one of ours") from error
    if parsed[0].tzinfo is None:
        raise BadRequest("the cursor is not one of ours")
    return parsed
