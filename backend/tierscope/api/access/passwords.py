"""Changing one's own password, and the page behind a link that sets one."""

from typing import Annotated

from fastapi import APIRouter, Depends, Request, Response
from pydantic import Field

from tierscope.api.access.endpoints import Session, enter
from tierscope.api.base.figures import Model
from tierscope.api.base.limited import guarded_login
from tierscope.api.base.permissions import requires
from tierscope.api.base.use_cases import use_cases
from tierscope.usecases.access.tokens import Caller

router = APIRouter(tags=["access"])


class PasswordChange(Model):
    """The present password and the new one: at least 15 characters, with no rules of what they are."""

    current_password: str = Field(max_length=1024)
    new_password: str = Field(max_length=1024)


@router.put("/v1/me/password", summary="Change one's own password")
async def change_password(
    body: PasswordChange,
    request: Request,
    response: Response,
    caller: Annotated[Caller, Depends(requires("write:own"))],
) -> Session:
    """Set another password. All sessions of the account end at once; this one gets a new cookie and CSRF token."""
    async with guarded_login(request, caller.name):
        token, changed = await use_cases(request).passwords.change(
            caller, current=body.current_password, new=body.new_password
        )
    return await enter(request, response, token, changed)
