"""Logging in through an OpenID provider: to the provider, and back."""

from typing import Annotated

import structlog
from fastapi import APIRouter, Depends, Query, Request, Response

from tierscope.api.access.endpoints import enter_page
from tierscope.api.base.callers import HOST_PREFIX, is_secure
from tierscope.api.base.permissions import requires
from tierscope.api.base.use_cases import use_cases
from tierscope.core.errors import NotFound
from tierscope.usecases.access.oidc.login import LoginRefused, OidcLogin, check_next

router = APIRouter(prefix="/v1/login/oidc", tags=["access"], dependencies=[Depends(requires("public"))])

CALLBACK = "/v1/login/oidc/callback"
COOKIE = "tierscope_oidc"
COOKIE_SECONDS = 600
_log = structlog.get_logger(__name__)


def oidc_of(request: Request) -> OidcLogin:
    """The application's logins through the provider.

    Raises:
        NotFound: none is configured.
    """
    found = _configured(request)
    if found is None:
        raise NotFound("no OpenID provider is configured", next_step="Set TIERSCOPE_OIDC__ISSUER; docs/howto/login.md")
    return found


@router.get("/start", status_code=303, response_class=Response, summary="Go to the OpenID provider")
def start(
    request: Request,
    next: Annotated[str, Query(max_length=1000, description="A path of the dashboard to go to afterwards.")] = "/",
) -> Response:
    """Redirect to the provider. `next` is a path of this service alone: anything else is refused."""
    login = oidc_of(request)
    check_next(next)
    try:
        begun = login.begin(redirect_uri=_redirect_uri(request), next_path=next)
    except LoginRefused as error:
        return _refused(request, error)
    response = Response(status_code=303, headers={"Location": begun.url, "Cache-Control": "no-store"})
    # Lax, not Strict: the provider sends the browser back from another site, and Strict cookies stay away then.
    # It proves nothing but that this browser began; the session's own cookie stays Strict.
    response.set_cookie(
        _cookie_name(request),
        begun.cookie,
        max_age=COOKIE_SECONDS,
        path="/",
        httponly=True,
        samesite="lax",
        secure=is_secure(request),
    )
    return response


@router.get("/callback", status_code=303, response_class=Response, summary="Come back from the OpenID provider")
def come_back(
    request: Request,
    state: Annotated[str, Query(max_length=200)] = "",
    code: Annotated[str | None, Query(max_length=4000)] = None,
    error: Annotated[str | None, Query(max_length=200)] = None,
    iss: Annotated[str | None, Query(max_length=1000)] = None,
) -> Response:
    """Log in and redirect to the dashboard; to `/login?error=<why>` where nobody was logged in.

    `error` is `expired` (begin again), `refused` (the provider said no), `failed` (what it sent is not to be trusted),
    `not-allowed` (no role here), `disabled` or `unreachable`.
    """
    cookie = request.cookies.get(_cookie_name(request), "")
    try:
        finished = oidc_of(request).finish(
            cookie=cookie, state=state, code=code, error=error, issuer=iss, redirect_uri=_redirect_uri(request)
        )
    except LoginRefused as refusal:
        return _refused(request, refusal)
    response = enter_page(request, finished.session.secret, finished.next_path)
    response.delete_cookie(_cookie_name(request), path="/", secure=is_secure(request), httponly=True, samesite="lax")
    return response


@router.get("/logout", status_code=303, response_class=Response, summary="Log out at the OpenID provider")
def leave(request: Request) -> Response:
    """Redirect to the provider's logout, which leads back to `/login`; there at once where the provider has none.

    It ends no session here: `DELETE /v1/session` does.
    """
    login = _configured(request)
    try:
        place = None if login is None else login.leave(return_uri=_base(request) + "/login")
    except LoginRefused as error:
        return _refused(request, error)
    return Response(status_code=303, headers={"Location": place or "/login", "Cache-Control": "no-store"})


def _configured(request: Request) -> OidcLogin | None:
    return use_cases(request).oidc


def _refused(request: Request, refusal: LoginRefused) -> Response:
    """Nobody is logged in: the log has the cause, the address has a word for it."""
    _log.warning("login through the provider failed", why=refusal.reason, detail=refusal.detail)
    headers = {"Location": f"/login?error={refusal.reason}", "Cache-Control": "no-store"}
    response = Response(status_code=303, headers=headers)
    response.delete_cookie(_cookie_name(request), path="/", secure=is_secure(request), httponly=True, samesite="lax")
    return response


def _redirect_uri(request: Request) -> str:
    """The address of the callback, as it must be registered at the provider."""
    return _base(request) + CALLBACK


def _base(request: Request) -> str:
    return (use_cases(request).settings.public_url or str(request.base_url)).rstrip("/")


def _cookie_name(request: Request) -> str:
    """With the prefix, no other name of the domain can plant the cookie."""
    return HOST_PREFIX + COOKIE if is_secure(request) else COOKIE
