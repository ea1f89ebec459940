"""The audit trail: who changed what, as a list and as a file."""

from datetime import datetime
from typing import Annotated, Literal

import orjson
from fastapi import APIRouter, Depends, Query, Request
from pydantic import AwareDatetime

from tierscope.api.base.answers import Answer, answer, answer_file
from tierscope.api.base.permissions import requires
from tierscope.api.base.use_cases import use_cases
from tierscope.core.tabular import MEDIA_TYPES, write_table
from tierscope.domain.base.pages import Page
from tierscope.usecases.access.audit import MAX_FILE_ROWS, AuditFilter, AuditRow

router = APIRouter(tags=["access"])

_COLUMNS = ("at", "actor", "action", "subject", "detail")


@router.get(
    "/v1/audit",
    dependencies=[Depends(requires("read:audit"))],
    summary="Who changed what",
    responses={200: {"content": {"text/csv": {"schema": {"type": "string"}}}, "description": "Changes, newest first."}},
)
def list_audit(
    request: Request,
    actor: Annotated[str | None, Query(max_length=300, description="A user, with its tokens; or a token.")] = None,
    action: Annotated[str | None, Query(max_length=100, description="`token.create`, or all of `token`.")] = None,
    subject: Annotated[str | None, Query(max_length=300, description="The id of what was changed.")] = None,
    from_: Annotated[AwareDatetime | None, Query(alias="from")] = None,
    to: AwareDatetime | None = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
    cursor: Annotated[str | None, Query(pattern=r"^\d{1,18}$")] = None,
    format: Annotated[Literal["json", "csv"], Query(description="CSV: up to 50,000 rows in one file.")] = "json",
) -> Answer[Page[AuditRow]]:
    """List changes, newest first."""
    trail = use_cases(request).audit
    wanted = AuditFilter(actor=actor, action=action, subject=subject, start=from_, end=to)
    before = None if cursor is None else int(cursor)
    if format == "csv":
        body = write_table(
            _COLUMNS, [_cells(row) for row in trail.list(wanted, limit=MAX_FILE_ROWS, before=before).items], "csv"
        )
        return answer_file(body, "audit.csv", MEDIA_TYPES["csv"], {"Cache-Control": "no-store"})
    return answer(request, Page[AuditRow], trail.list(wanted, limit=limit, before=before))


def _cells(row: AuditRow) -> tuple[datetime, str, str, str, str]:
    return row.at, row.actor, row.action, row.subject, orjson.dumps(row.detail, option=orjson.OPT_SORT_KEYS).decode()
