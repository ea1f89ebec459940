"""Silences, and acknowledgements of alerts."""

from datetime import datetime
from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Request, Response
from pydantic import AwareDatetime, Field

from tierscope.api.base.answers import Cursor, Limit, answer
from tierscope.api.base.figures import Model, Page
from tierscope.api.base.permissions import requires
from tierscope.api.base.use_cases import use
from tierscope.usecases.access.tokens import Caller
from tierscope.usecases.notifications.silences import MatcherView, NewSilence, Silences


class LabelMatcher(Model):
    """A condition on a label; one that is not there is the empty text.

    `=~` and `!~` take an expression in the syntax of RE2, which must match the whole value.
    """

    name: str = Field(min_length=1, max_length=200)
    op: Literal["=", "!=", "=~", "!~"] = "="
    value: str = Field(max_length=500)


class SilenceRequest(Model):
    """Alerts that meet all matchers are not sent from `starts_at` (absent = now) to `ends_at`."""

    matchers: list[LabelMatcher] = Field(min_length=1, max_length=50)
    starts_at: AwareDatetime | None = None
    ends_at: AwareDatetime
    comment: str = Field(default="", max_length=1000)


class Silence(Model):
    """A silence. `matches`: ids of the open alerts that it matches, none once it has expired."""

    id: str
    matchers: list[LabelMatcher]
    starts_at: datetime
    ends_at: datetime
    comment: str
    created_by: str
    created_at: datetime
    status: Literal["pending", "active", "expired"]
    matches: list[str]
    problem: str | None = Field(
        default=None, description="Why it cannot be read and mutes nothing: expire it, and create it again."
    )


class AcknowledgeRequest(Model):
    """What whoever looks after the alert says."""

    note: str = Field(default="", max_length=1000)


class Acknowledgement(Model):
    """Who looks after an alert."""

    at: datetime
    by: str
    note: str


router = APIRouter(prefix="/v1", tags=["alerts"])
Stored = Annotated[Silences, Depends(use(lambda held: held.silences))]
Writer = Annotated[Caller, Depends(requires("write:silences"))]
_READ = [Depends(requires("read:fleet"))]


@router.get("/silences", response_model=Page[Silence], dependencies=_READ, summary="Silences, newest first")
def list_silences(
    request: Request,
    silences: Stored,
    status: Literal["pending", "active", "expired"] | None = None,
    limit: Limit = 100,
    cursor: Cursor = None,
) -> Response:
    """List silences."""
    return answer(request, Page[Silence], silences.list(status=status, limit=limit, cursor=cursor))


@router.post("/silences", status_code=201, summary="Silence alerts for a time")
def create_silence(silences: Stored, body: SilenceRequest, caller: Writer) -> Silence:
    """Notifications of matching alerts are held back; the alerts are shown all the same."""
    new = NewSilence(
        matchers=tuple(MatcherView(matcher.name, matcher.op, matcher.value) for matcher in body.matchers),
        starts_at=body.starts_at,
        ends_at=body.ends_at,
        comment=body.comment,
    )
    return Silence.model_validate(silences.create(new, actor=caller.name), from_attributes=True)


@router.get("/silences/{silence_id}", response_model=Silence, dependencies=_READ, summary="One silence")
def read_silence(request: Request, silences: Stored, silence_id: str) -> Response:
    """A silence with the open alerts that it matches."""
    return answer(request, Silence, silences.read(silence_id))


@router.post("/silences/{silence_id}/expire", summary="End a silence now")
def expire_silence(silences: Stored, silence_id: str, caller: Writer) -> Silence:
    """Alerts that still fire are sent again; a silence that is over stays as it is."""
    return Silence.model_validate(silences.expire(silence_id, actor=caller.name), from_attributes=True)


@router.post("/alerts/{alert_id}/acknowledge", summary="Say that someone looks after an alert")
def acknowledge_alert(silences: Stored, alert_id: str, body: AcknowledgeRequest, caller: Writer) -> Acknowledgement:
    """It is not repeated any more; its end is told, and it is told again should it come again."""
    given = silences.acknowledge(alert_id, note=body.note, actor=caller.name)
    return Acknowledgement.model_validate(given, from_attributes=True)


@router.delete("/alerts/{alert_id}/acknowledge", status_code=204, summary="Take an acknowledgement back")
def unacknowledge_alert(silences: Stored, alert_id: str, caller: Writer) -> None:
    """It is repeated again while it fires."""
    silences.take_back(alert_id, actor=caller.name)
