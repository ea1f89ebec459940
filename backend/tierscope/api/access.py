"""People and programs: sessions, API tokens, the audit trail."""

from datetime import datetime, timedelta
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Query, Request, Response
from pydantic import Field

from tierscope.api.callers import SESSION_COOKIE, access_of, anonymous_reads, find_caller, settings_of
from tierscope.api.figures import Model, Page
from tierscope.api.permissions import Permission, permissions_of, requires
from tierscope.usecases.access import SESSION_LIFETIME, Caller, csrf_token

router = APIRouter(tags=["access"])

Role = Literal["viewer", "operator", "admin"]
Tokens = Annotated[Caller, Depends(requires("write:tokens"))]


class LoginRequest(Model):
    """A one-time login link's secret."""

    link: str = Field(max_length=256)


class Session(Model):
    """Who is asking, and what they may do."""

    kind: Literal["anonymous", "session", "token", "nobody"]
    name: str | None
    role: Role | None
    permissions: list[Permission]
    csrf_token: str | None = Field(description="Sent back as X-CSRF-Token with every write of this session.")
    anonymous_reads: bool


class NewTokenRequest(Model):
    """An API token to make; `days` null = until revoked."""

    role: Role
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
    note: str
    uses_left: int | None
    origin: str | None
    labels: dict[str, str]
    created_at: datetime
    expires_at: datetime | None
    last_used_at: datetime | None
    revoked_at: datetime | None


class AuditItem(Model):
    """One change, and who made it."""

    at: datetime
    actor: str
    action: str
    subject: str
    detail: dict[str, Any]


def describe_session(request: Request, caller: Caller | None, csrf: str | None) -> Session:
    """Returns what `caller` is told about itself."""
    return Session(
        kind=caller.kind if caller else "nobody",
        name=caller.name if caller else None,
        role=caller.role if caller else None,
        permissions=sorted(permissions_of(caller)) if caller else ["public"],
        csrf_token=csrf,
        anonymous_reads=anonymous_reads(request),
    )


@router.get("/v1/session", dependencies=[Depends(requires("public"))], summary="Who is asking")
def read_session(request: Request, response: Response) -> Session:
    """Say who the caller is, what it may do, and its CSRF token."""
    response.headers["Cache-Control"] = "no-store"
    caller = find_caller(request)
    cookie = request.cookies.get(SESSION_COOKIE)
    csrf = csrf_token(cookie) if cookie and caller is not None and caller.kind == "session" else None
    return describe_session(request, caller, csrf)


@router.post("/v1/session", dependencies=[Depends(requires("public"))], summary="Log in with a one-time link")
def log_in(body: LoginRequest, request: Request, response: Response) -> Session:
    """Trade a one-time link for a session cookie."""
    token, caller = access_of(request).redeem_link(body.link)
    set_session_cookie(request, response, token.secret)
    return describe_session(request, caller, csrf_token(token.secret))


@router.delete("/v1/session", status_code=204, dependencies=[Depends(requires("public"))], summary="Log out")
def log_out(request: Request, response: Response) -> None:
    """End the session at once."""
    caller = find_caller(request)
    cookie = request.cookies.get(SESSION_COOKIE)
    if cookie and caller is not None and caller.kind == "session":
        access_of(request).end_session(cookie)
    response.delete_cookie(SESSION_COOKIE, path="/")


@router.post("/v1/tokens", status_code=201, summary="Make an API token")
def create_token(body: NewTokenRequest, request: Request, caller: Tokens) -> NewToken:
    """Make an API token of a role."""
    lifetime = None if body.days is None else timedelta(days=body.days)
    token = access_of(request).create_api_token(role=body.role, note=body.note, lifetime=lifetime, actor=caller.name)
    return NewToken(id=token.id, token=token.secret, expires_at=token.expires_at)


@router.get("/v1/tokens", summary="Tokens, without their secrets")
def list_tokens(request: Request, caller: Tokens) -> list[TokenInfo]:
    """List join tokens, API tokens and login links, newest first."""
    del caller
    return [TokenInfo.model_validate(row, from_attributes=True) for row in access_of(request).list_tokens()]


@router.delete("/v1/tokens/{token_id}", status_code=204, summary="Revoke a token")
def revoke_token(token_id: str, request: Request, caller: Tokens) -> None:
    """Revoke a token at once."""
    access_of(request).revoke_token(token_id, actor=caller.name)


@router.get("/v1/audit", dependencies=[Depends(requires("read:audit"))], summary="Who changed what")
def list_audit(
    request: Request,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
    cursor: Annotated[str | None, Query(pattern=r"^\d{1,18}$")] = None,
) -> Page[AuditItem]:
    """List changes, newest first."""
    rows = access_of(request).list_audit(limit=limit, before=None if cursor is None else int(cursor))
    items = [
        AuditItem(at=row.at, actor=row.actor, action=row.action, subject=row.subject, detail=row.detail) for row in rows
    ]
    return Page[AuditItem](items=items, next_cursor=str(rows[-1].id) if len(rows) == limit else None)


def set_session_cookie(request: Request, response: Response, secret: str) -> None:
    """Puts the session's cookie on a response."""
    response.set_cookie(
        SESSION_COOKIE,
        secret,
        max_age=int(SESSION_LIFETIME.total_seconds()),
        path="/",
        httponly=True,
        samesite="strict",
        secure=settings_of(request).secure_cookies or request.url.scheme == "https",
    )
