"""Silences, and acknowledgements of alerts."""

from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Request
from pydantic import Field

from tierscope.api.base.answers import Answer, Cursor, Limit, answer
from tierscope.api.base.figures import Model
from tierscope.api.base.permissions import requires
from tierscope.api.base.tables import tabular
from tierscope.api.base.use_cases import use
from tierscope.domain.base.pages import Page
from tierscope.usecases.access.tokens import Caller
from tierscope.usecases.notifications.silences import Acknowledgement, Silence, SilenceRequest, Silences


class AcknowledgeRequest(Model):
    """What whoever looks after the alert says."""

    note: str = Field(default="", max_length=1000)


router = APIRouter(prefix="/v1", tags=["alerts"])
Stored = Annotated[Silences, Depends(use(lambda held: held.silences))]
Writer = Annotated[Caller, Depends(requires("write:silences"))]
_READ = [Depends(requires("read:fleet"))]


@router.get("/silences", dependencies=_READ, summary="Silences, newest first")
@tabular("items")
def list_silences(
    request: Request,
    silences: Stored,
    status: Literal["pending", "active", "expired"] | None = None,
    limit: Limit = 100,
    cursor: Cursor = None,
) -> Answer[Page[Silence]]:
    """List silences."""
    return answer(request, Page[Silence], silences.list(status=status, limit=limit, cursor=cursor))


@router.post("/silences", status_code=201, summary="Silence alerts for a time")
def create_silence(silences: Stored, body: SilenceRequest, caller: Writer) -> Silence:
    """Notifications of matching alerts are held back; the alerts are shown all the same."""
    return silences.create(body, actor=caller.name)


@router.get("/silences/{silence_id}", dependencies=_READ, summary="One silence")
def read_silence(request: Request, silences: Stored, silence_id: str) -> Answer[Silence]:
    """A silence with the open alerts that it matches."""
    return answer(request, Silence, silences.read(silence_id))


@router.post("/silences/{silence_id}/expire", summary="End a silence now")
def expire_silence(silences: Stored, silence_id: str, caller: Writer) -> Silence:
    """Alerts that still fire are sent again; a silence that is over stays as it is."""
    return silences.expire(silence_id, actor=caller.name)


@router.post("/alerts/{alert_id}/acknowledge", summary="Say that someone looks after an alert")
def acknowledge_alert(silences: Stored, alert_id: str, body: AcknowledgeRequest, caller: Writer) -> Acknowledgement:
    """It is not repeated any more; its end is told, and it is told again should it come again."""
    return silences.acknowledge(alert_id, note=body.note, actor=caller.name)


@router.delete("/alerts/{alert_id}/acknowledge", status_code=204, summary="Take an acknowledgement back")
def unacknowledge_alert(silences: Stored, alert_id: str, caller: Writer) -> None:
    """It is repeated again while it fires."""
    silences.take_back(alert_id, actor=caller.name)
