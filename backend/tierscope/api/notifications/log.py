"""The log of notifications: what was sent to whom, what waits, what was given up."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request

from tierscope.api.base.answers import Answer, Cursor, Limit, answer
from tierscope.api.base.permissions import requires
from tierscope.api.base.tables import tabular
from tierscope.api.base.use_cases import use
from tierscope.domain.base.pages import Page
from tierscope.usecases.access.tokens import Caller
from tierscope.usecases.notifications.reads import Notification, NotificationLog, Status

router = APIRouter(prefix="/v1/notifications", tags=["alerts"])
Log = Annotated[NotificationLog, Depends(use(lambda held: held.notification_log))]


@router.get(
    "",
    dependencies=[Depends(requires("read:routes"))],
    summary="Notifications, newest first",
)
@tabular("items")
def list_notifications(
    request: Request,
    log: Log,
    status: Status | None = None,
    receiver: Annotated[str | None, Query(max_length=100)] = None,
    alert: Annotated[str | None, Query(max_length=100, description="Alert id.")] = None,
    limit: Limit = 100,
    cursor: Cursor = None,
) -> Answer[Page[Notification]]:
    """The delivery log, kept 90 days."""
    page = log.list(status=status, receiver=receiver, alert=alert, limit=limit, cursor=cursor)
    return answer(request, Page[Notification], page)


@router.post("/{notification_id}/retry", summary="Try a notification that was given up again")
def retry_notification(
    log: Log, notification_id: str, caller: Annotated[Caller, Depends(requires("write:silences"))]
) -> Notification:
    """It goes back into the outbox, with all its attempts before it."""
    return log.retry(notification_id, actor=caller.name)
