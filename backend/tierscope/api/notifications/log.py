"""The log of notifications: what was sent to whom, what waits, what was given up."""

from datetime import datetime
from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Query, Request, Response
from pydantic import Field

from tierscope.api.base.answers import Cursor, Limit, answer
from tierscope.api.base.figures import Model, Page
from tierscope.api.base.permissions import requires
from tierscope.api.base.use_cases import use
from tierscope.usecases.access.tokens import Caller
from tierscope.usecases.notifications.reads import NotificationLog

Status = Literal["waiting", "delivered", "dead"]


class Notification(Model):
    """One notification to one receiver about one group of alerts."""

    id: str
    receiver: str
    kind: Literal["webhook", "mail", "slack", "pagerduty", "alertmanager", "apprise"]
    reason: Literal["firing", "resolved", "repeat", "test"]
    status: Status = Field(description="`dead`: given up; it can be tried again.")
    group_labels: dict[str, str]
    firing: int
    resolved: int
    created_at: datetime
    attempts: int
    next_attempt_at: datetime | None
    delivered_at: datetime | None
    given_up_at: datetime | None
    status_code: int | None = Field(description="HTTP status of the last answer, where there was a failure with one.")
    said: str | None = Field(description="Why the last attempt failed, or what is to be known though it was taken.")


router = APIRouter(prefix="/v1/notifications", tags=["alerts"])
Log = Annotated[NotificationLog, Depends(use(lambda held: held.notification_log))]


@router.get(
    "",
    response_model=Page[Notification],
    dependencies=[Depends(requires("read:routes"))],
    summary="Notifications, newest first",
)
def list_notifications(
    request: Request,
    log: Log,
    status: Status | None = None,
    receiver: Annotated[str | None, Query(max_length=100)] = None,
    alert: Annotated[str | None, Query(max_length=100, description="Alert id.")] = None,
    limit: Limit = 100,
    cursor: Cursor = None,
) -> Response:
    """The delivery log, kept 90 days."""
    page = log.list(status=status, receiver=receiver, alert=alert, limit=limit, cursor=cursor)
    return answer(request, Page[Notification], page)


@router.post("/{notification_id}/retry", summary="Try a notification that was given up again")
def retry_notification(
    log: Log, notification_id: str, caller: Annotated[Caller, Depends(requires("write:silences"))]
) -> Notification:
    """It goes back into the outbox, with all its attempts before it."""
    return Notification.model_validate(log.retry(notification_id, actor=caller.name), from_attributes=True)
