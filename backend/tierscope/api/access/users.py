"""Users, as administrators manage them."""

from datetime import datetime
from typing import Annotated, Literal, cast

from fastapi import APIRouter, Depends, Request
from pydantic import Field

from tierscope.api.base.answers import Answer, answer
from tierscope.api.base.figures import Model
from tierscope.api.base.permissions import requires
from tierscope.api.base.tables import tabular
from tierscope.api.base.use_cases import use_cases
from tierscope.domain.access.permissions import Role
from tierscope.usecases.access.tokens import Caller
from tierscope.usecases.access.users import UserRequest, UserRow, UserUpdate

router = APIRouter(prefix="/v1/users", tags=["users"])

Writer = Annotated[Caller, Depends(requires("write:users"))]


class User(Model):
    """A user."""

    id: str
    name: str
    display_name: str
    email: str | None
    role: Role
    source: Literal["local", "oidc"] = Field(description="`oidc`: made at the first login through the provider.")
    disabled: bool
    teams: list[str] = Field(description="Ids of teams.")
    created_at: datetime
    last_login_at: datetime | None


class PasswordLink(Model):
    """A one-time link that sets a password, shown this once."""

    path: str = Field(description="To be put behind the dashboard's address.")
    expires_at: datetime


@router.get("", summary="Users by name")
@tabular(quick=True)
def list_users(request: Request, caller: Writer) -> Answer[list[User]]:
    """List all users."""
    del caller
    return answer(request, list[User], [_user(row) for row in use_cases(request).users.list()])


@router.post("", status_code=201, summary="Make a local user")
def create_user(body: UserRequest, request: Request, caller: Writer) -> User:
    """Make a user; a password link lets it in."""
    return _user(use_cases(request).users.create(body, by=caller))


@router.put("/{user_id}", summary="Change or disable a user")
def update_user(user_id: str, body: UserUpdate, request: Request, caller: Writer) -> User:
    """Change a user. A changed role counts from the next request on."""
    return _user(use_cases(request).users.update(user_id, body, by=caller))


@router.delete("/{user_id}", status_code=204, summary="Remove a user")
def delete_user(user_id: str, request: Request, caller: Writer) -> None:
    """Remove a user with its sessions and tokens; what it did stays in the audit trail."""
    use_cases(request).users.delete(user_id, by=caller)


@router.post("/{user_id}/password-link", status_code=201, summary="Make a link that sets a password")
def create_password_link(user_id: str, request: Request, caller: Writer) -> PasswordLink:
    """Make a one-time link, valid for a day. Links made before it are void."""
    made = use_cases(request).users.password_link(user_id, by=caller)
    return PasswordLink(path=f"/login/password?link={made.secret}", expires_at=cast("datetime", made.expires_at))


def _user(row: UserRow) -> User:
    return User(
        id=row.public_id,
        name=row.name,
        display_name=row.display_name,
        email=row.email,
        role=row.role,
        source=row.source,
        disabled=row.disabled_at is not None,
        teams=list(row.team_ids),
        created_at=row.created_at,
        last_login_at=row.last_login_at,
    )
