"""What people do for themselves: their account, their password, API tokens of their own."""

from datetime import datetime, timedelta
from typing import Annotated, cast

from fastapi import APIRouter, Depends, Request
from pydantic import Field

from tierscope.api.base.answers import Answer, answer
from tierscope.api.base.figures import Model
from tierscope.api.base.permissions import Permission, requires
from tierscope.api.base.tables import tabular
from tierscope.api.base.use_cases import use_cases
from tierscope.domain.access.permissions import Role
from tierscope.usecases.access.own_tokens import TeamRef, TokenRow
from tierscope.usecases.access.tokens import Caller

router = APIRouter(prefix="/v1/me", tags=["access"])

Own = Annotated[Caller, Depends(requires("write:own"))]
MAX_DAYS = 366


class Account(Model):
    """Who is logged in. Sessions of one-time links and tokens of the installation have no account: `user_id` null."""

    user_id: str | None
    name: str
    display_name: str
    email: str | None
    role: Role
    source: str | None = Field(description="`local` or `oidc`; null without an account.")
    can_change_password: bool
    teams: list[TeamRef]
    token_scopes: list[Permission] = Field(description="What tokens of one's own may be made for now.")


class OwnTokenRequest(Model):
    """A token to make. At each use it may what its owner may then, narrowed to `scopes`."""

    note: str = Field(min_length=1, max_length=200)
    scopes: list[str] = Field(min_length=1, max_length=50)
    days: float = Field(default=90, gt=0, le=MAX_DAYS)


class OwnToken(Model):
    """A token of one's own, without its secret."""

    id: str
    note: str
    scopes: list[str]
    created_at: datetime
    expires_at: datetime | None
    last_used_at: datetime | None = Field(description="Kept to about five minutes.")


class NewOwnToken(Model):
    """A token, shown this once."""

    id: str
    token: str
    expires_at: datetime | None


@router.get("", summary="The account that is logged in")
def read_account(request: Request, caller: Own) -> Account:
    """Tell people what the service knows of them."""
    account = use_cases(request).own_tokens.account(caller)
    role = cast("Role", caller.role)
    if account is None:
        return Account(
            user_id=None,
            name=caller.name,
            display_name="",
            email=None,
            role=role,
            source=None,
            can_change_password=False,
            teams=[],
            token_scopes=[],
        )
    user = account.user
    return Account(
        user_id=user.public_id,
        name=user.name,
        display_name=user.display_name,
        email=user.email,
        role=role,
        source=user.source,
        can_change_password=caller.kind == "session" and user.source == "local",
        teams=list(account.teams),
        token_scopes=sorted(account.scopes) if caller.kind == "session" else [],
    )


@router.get("/tokens", summary="API tokens of one's own")
@tabular(quick=True)
def list_own_tokens(request: Request, caller: Own) -> Answer[list[OwnToken]]:
    """List the tokens of the account that were not revoked, newest first."""
    return answer(request, list[OwnToken], [_token(row) for row in use_cases(request).own_tokens.list(caller)])


@router.post("/tokens", status_code=201, summary="Make an API token of one's own")
def create_own_token(request: Request, body: OwnTokenRequest, caller: Own) -> NewOwnToken:
    """Make a token. It is shown this once."""
    made = use_cases(request).own_tokens.create(
        caller, note=body.note, scopes=body.scopes, lifetime=timedelta(days=body.days)
    )
    return NewOwnToken(id=made.id, token=made.secret, expires_at=made.expires_at)


@router.delete("/tokens/{token_id}", status_code=204, summary="Revoke an API token of one's own")
def revoke_own_token(request: Request, token_id: str, caller: Own) -> None:
    """Revoke a token at once."""
    use_cases(request).own_tokens.revoke(caller, token_id)


def _token(row: TokenRow) -> OwnToken:
    return OwnToken(
        id=row.id,
        note=row.note,
        scopes=list(row.scopes or ()),
        created_at=row.created_at,
        expires_at=row.expires_at,
        last_used_at=row.last_used_at,
    )
