"""People and programs: sessions, and API tokens of the installation."""

from datetime import datetime, timedelta
from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Request, Response
from fastapi.concurrency import run_in_threadpool
from pydantic import Field

from tierscope.api.base.answers import Answer, answer
from tierscope.api.base.callers import (
    anonymous_reads,
    find_caller,
    is_secure,
    session_cookie_name,
    session_secret,
    split_secret,
)
from tierscope.api.base.figures import Model
from tierscope.api.base.limited import guarded_login
from tierscope.api.base.permissions import Permission, permissions_of, requires
from tierscope.api.base.tables import tabular
from tierscope.api.base.use_cases import use_cases
from tierscope.core.errors import Forbidden
from tierscope.domain.access.permissions import Role, granted_as_owner
from tierscope.usecases.access.own_tokens import Account, TeamRef
from tierscope.usecases.access.tokens import SESSION_LIFETIME, Caller, csrf_token, require_within
from tierscope.usecases.access.tokens import NewToken as NewSecret

router = APIRouter(tags=["access"])

OIDC_LOGOUT = "/v1/login/oidc/logout"

Tokens = Annotated[Caller, Depends(requires("write:tokens"))]


class LinkLogin(Model):
    """A one-time login link's secret."""

    link: str = Field(max_length=256)


class PasswordLogin(Model):
    """A local user's name and password."""

    name: str = Field(max_length=200)
    password: str = Field(max_length=1024)


class Session(Model):
    """Who is asking, and what they may do."""

    kind: Literal["anonymous", "session", "token", "nobody"]
    name: str | None
    role: Role | None
    user_id: str | None = Field(description="Null for tokens of the installation and sessions of one-time links.")
    teams: list[TeamRef] = Field(description="What they own is known by `owner_team` of services.")
    permissions: list[Permission]
    owner_permissions: list[Permission] = Field(description="In force for services that a team of the caller owns.")
    csrf_token: str | None = Field(description="Sent back as X-CSRF-Token with every write of this session.")
    session_key: str | None = Field(
        description="Sent back as X-Session-Key with every request of this session: its cookie is not enough. Told"
        " once, when the session begins; null by TLS, and at all other times.",
    )
    anonymous_reads: bool
    logout_url: str | None = Field(
        description="Where the browser goes after `DELETE /v1/session` to log out of the OpenID provider too."
    )


class NewTokenRequest(Model):
    """An API token to make; `days` null = until revoked."""

    role: Role
    scopes: list[str] | None = Field(default=None, max_length=50, description="Permissions; null = all of the role.")
    note: str = Field(min_length=1, max_length=200)
    days: float | None = Field(default=90, gt=0, le=3660)


class NewToken(Model):
    """A token, shown this once."""

    id: str
    token: str
    expires_at: datetime | None


class TokenInfo(Model):
    """A token without its secret."""

    id: str
    kind: Literal["join", "api", "link", "session"]
    role: Role | None
    scopes: list[str] | None
    user_name: str | None = Field(description="Whose it is; null where it belongs to the installation.")
    note: str
    uses_left: int | None
    origin: str | None
    labels: dict[str, str]
    created_at: datetime
    expires_at: datetime | None
    last_used_at: datetime | None
    revoked_at: datetime | None


async def enter(request: Request, response: Response, token: NewSecret, caller: Caller) -> Session:
    """Puts the cookie of a session that begins on a response; returns what the caller is told about itself."""
    key = await run_in_threadpool(set_session_cookie, request, response, token.secret)
    return await run_in_threadpool(describe_session, request, caller, csrf_token(token.secret), key=key)


def describe_session(request: Request, caller: Caller | None, csrf: str | None, *, key: str | None = None) -> Session:
    """Returns what `caller` is told about itself."""
    account = None if caller is None else use_cases(request).own_tokens.account(caller)
    teams = [] if account is None else list(account.teams)
    return Session(
        kind=caller.kind if caller else "nobody",
        name=caller.name if caller else None,
        role=caller.role if caller else None,
        user_id=None if account is None else account.user.public_id,
        teams=teams,
        permissions=sorted(permissions_of(caller)) if caller else ["public"],
        owner_permissions=sorted(granted_as_owner(caller.scopes)) if caller and teams else [],
        csrf_token=csrf,
        session_key=key,
        anonymous_reads=anonymous_reads(request),
        logout_url=OIDC_LOGOUT if account is not None and _leaves_provider(request, caller, account) else None,
    )


def _leaves_provider(request: Request, caller: Caller | None, account: Account) -> bool:
    """Whether a logout goes on to the OpenID provider: for people who came through it, where that is wished."""
    is_person = caller is not None and caller.kind == "session" and account.user.source == "oidc"
    return is_person and use_cases(request).settings.oidc.end_provider_session


@router.get("/v1/session", dependencies=[Depends(requires("public"))], summary="Who is asking")
def read_session(request: Request, response: Response) -> Session:
    """Say who the caller is, what it may do, and its CSRF token."""
    response.headers["Cache-Control"] = "no-store"
    caller = find_caller(request)
    cookie = session_secret(request)
    csrf = csrf_token(cookie) if cookie and caller is not None and caller.kind == "session" else None
    return describe_session(request, caller, csrf)


@router.post(
    "/v1/session",
    dependencies=[Depends(requires("public"))],
    summary="Log in with a one-time link, or with name and password",
)
async def log_in(body: LinkLogin | PasswordLogin, request: Request, response: Response) -> Session:
    """Trade a one-time link, or a name and its password, for a session cookie."""
    if isinstance(body, LinkLogin):
        token, caller = await run_in_threadpool(use_cases(request).access.redeem_link, body.link)
    else:
        token, caller = await log_in_with_password(request, body.name, body.password)
    return await enter(request, response, token, caller)


@router.delete("/v1/session", status_code=204, dependencies=[Depends(requires("public"))], summary="Log out")
def log_out(request: Request, response: Response) -> None:
    """End the session at once."""
    caller = find_caller(request)
    cookie = session_secret(request)
    if cookie and caller is not None and caller.kind == "session":
        use_cases(request).access.end_session(cookie)
    response.delete_cookie(session_cookie_name(request), path="/", secure=is_secure(request))


@router.post("/v1/tokens", status_code=201, summary="Make an API token")
def create_token(body: NewTokenRequest, request: Request, caller: Tokens) -> NewToken:
    """Make an API token of a role, narrowed to scopes: `write:samples` alone suits Prometheus remote write.

    Nobody makes a token that may more than the caller.
    """
    require_within(caller, body.role, body.scopes)
    lifetime = None if body.days is None else timedelta(days=body.days)
    token = use_cases(request).access.create_api_token(
        role=body.role, scopes=body.scopes, note=body.note, lifetime=lifetime, actor=caller.name
    )
    return NewToken(id=token.id, token=token.secret, expires_at=token.expires_at)


@router.get("/v1/tokens", summary="Tokens, without their secrets")
@tabular(quick=True)
def list_tokens(request: Request, caller: Tokens) -> Answer[list[TokenInfo]]:
    """List join tokens, API tokens and login links, newest first."""
    del caller
    rows = use_cases(request).access.list_tokens()
    return answer(request, list[TokenInfo], [TokenInfo.model_validate(row, from_attributes=True) for row in rows])


@router.delete("/v1/tokens/{token_id}", status_code=204, summary="Revoke a token")
def revoke_token(token_id: str, request: Request, caller: Tokens) -> None:
    """Revoke a token at once."""
    use_cases(request).access.revoke_token(token_id, actor=caller.name)


async def log_in_with_password(request: Request, name: str, password: str) -> tuple[NewSecret, Caller]:
    """Checks name and password, where local users may log in so."""
    if not use_cases(request).settings.password_login:
        raise Forbidden("logging in with a password is switched off here", next_step="Use the single sign-on.")
    async with guarded_login(request, name):
        return await use_cases(request).passwords.log_in(name, password)


def enter_page(request: Request, secret: str, path: str) -> Response:
    """A redirect of a browser that has logged in to a page of the dashboard, which keeps the session's key, if any.

    What follows `#` reaches no server.
    """
    response = Response(status_code=303, headers={"Cache-Control": "no-store"})
    key = set_session_cookie(request, response, secret)
    response.headers["Location"] = path if key is None else f"{path.partition('#')[0]}#session-key={key}"
    return response


def set_session_cookie(request: Request, response: Response, secret: str) -> str | None:
    """Puts the session's cookie on a response; returns the session's key, None where the cookie is enough."""
    cookie, key = split_secret(request, secret)
    response.set_cookie(
        session_cookie_name(request),
        cookie,
        max_age=int(SESSION_LIFETIME.total_seconds()),
        path="/",
        httponly=True,
        samesite="strict",
        secure=is_secure(request),
    )
    return key
