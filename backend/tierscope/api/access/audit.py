"""The audit trail: who changed what, as a list and as a file."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request
from pydantic import AwareDatetime

from tierscope.api.base.answers import Answer, answer
from tierscope.api.base.permissions import requires
from tierscope.api.base.tables import tabular
from tierscope.api.base.use_cases import use_cases
from tierscope.domain.base.pages import Page
from tierscope.usecases.access.audit import AuditFilter, AuditRow

router = APIRouter(tags=["access"])


@router.get(
    "/v1/audit",
    dependencies=[Depends(requires("read:audit"))],
    summary="Who changed what",
)
@tabular("items")
def list_audit(
    request: Request,
    actor: Annotated[str | None, Query(max_length=300, description="A user, with its tokens; or a token.")] = None,
    action: Annotated[str | None, Query(max_length=100, description="`token.create`, or all of `token`.")] = None,
    subject: Annotated[str | None, Query(max_length=300, description="The id of what was changed.")] = None,
    from_: Annotated[AwareDatetime | None, Query(alias="from")] = None,
    to: AwareDatetime | None = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
    cursor: Annotated[str | None, Query(pattern=r"^\d{1,18}$")] = None,
) -> Answer[Page[AuditRow]]:
    """List changes, newest first."""
    trail = use_cases(request).audit
    wanted = AuditFilter(actor=actor, action=action, subject=subject, start=from_, end=to)
    before = None if cursor is None else int(cursor)
    return answer(request, Page[AuditRow], trail.list(wanted, limit=limit, before=before))
