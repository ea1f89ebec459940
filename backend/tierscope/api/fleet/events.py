"""Events: marks on charts."""

from typing import Annotated

from fastapi import APIRouter, Depends, Header, Query, Request
from pydantic import AwareDatetime

from tierscope.api.base.answers import Answer, answer
from tierscope.api.base.ownership import in_path, service_in_body
from tierscope.api.base.permissions import requires
from tierscope.api.base.tables import tabular
from tierscope.api.base.use_cases import use
from tierscope.domain.base.pages import Page
from tierscope.usecases.access.tokens import Caller
from tierscope.usecases.fleet.events import EventItem, EventRequest, Events

router = APIRouter(prefix="/v1/events", tags=["events"])


@router.post("", status_code=201, summary="Mark a deploy or another change")
def create_event(
    body: EventRequest,
    events: Annotated[Events, Depends(use(lambda held: held.events))],
    caller: Annotated[Caller, Depends(requires("write:events", owned=service_in_body))],
    idempotency_key: Annotated[str | None, Header(max_length=200)] = None,
) -> EventItem:
    """Store a mark. The same Idempotency-Key with the same body stores it once."""
    return events.create(body, actor=caller.name, idempotency_key=idempotency_key)


@router.get("", dependencies=[Depends(requires("read:fleet"))], summary="Marks, newest first")
@tabular("items")
def list_events(
    request: Request,
    events: Annotated[Events, Depends(use(lambda held: held.events))],
    start: Annotated[AwareDatetime | None, Query(alias="from")] = None,
    end: Annotated[AwareDatetime | None, Query(alias="to")] = None,
    service: Annotated[str | None, Query(description="Service id.")] = None,
    host: Annotated[str | None, Query(description="Host id.")] = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
    cursor: str | None = None,
) -> Answer[Page[EventItem]]:
    """List marks of a window; default the last seven days."""
    found = events.list(start=start, end=end, service=service, host=host, cursor=cursor, limit=limit)
    return answer(request, Page[EventItem], found)


@router.delete("/{event_id}", status_code=204, summary="Remove a mark")
def delete_event(
    event_id: str,
    events: Annotated[Events, Depends(use(lambda held: held.events))],
    caller: Annotated[Caller, Depends(requires("write:events", owned=in_path("event", "event_id")))],
) -> None:
    """Remove a mark from all charts; the audit trail keeps what it said."""
    events.delete(event_id, actor=caller.name)
