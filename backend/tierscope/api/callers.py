"""Finds out who sends a request: a session cookie, an API token, or nobody on loopback."""

import hmac
from typing import cast

from fastapi import Request

from tierscope.api.peers import on_plain_loopback
from tierscope.core.errors import BadCsrf, UnknownToken
from tierscope.core.settings import Settings
from tierscope.usecases.access import ANONYMOUS_CALLER, Access, Caller, csrf_token

SESSION_COOKIE = "tierscope_session"
CSRF_HEADER = "x-csrf-token"
_SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})


def access_of(request: Request) -> Access:
    """The application's access use case."""
    return cast("Access", request.app.state.access)


def settings_of(request: Request) -> Settings:
    """The application's settings."""
    return cast("Settings", request.app.state.settings)


def find_caller(request: Request) -> Caller | None:
    """Returns who sends the request; None where a login is needed.

    Raises:
        UnknownToken: a bearer token was sent and is not valid, or an `Authorization` header holds none and no session
            came with it. Whoever sends that header is never the anonymous reader.
        BadCsrf: a write with a session cookie lacks the session's CSRF token.
    """
    bearer = bearer_of(request)
    if bearer is not None:
        caller = access_of(request).caller_of_token(bearer)
        if caller is None:
            raise UnknownToken("the bearer token is unknown, expired or revoked")
        return caller
    cookie = request.cookies.get(SESSION_COOKIE)
    caller = access_of(request).caller_of_session(cookie) if cookie else None
    if caller is not None and cookie is not None:
        sent = request.headers.get(CSRF_HEADER, "")
        if request.method not in _SAFE_METHODS and not hmac.compare_digest(
            sent.encode(errors="replace"), csrf_token(cookie).encode()
        ):
            raise BadCsrf(f"{request.method} {request.url.path} came with a session and without its CSRF token")
        return caller
    if "authorization" in request.headers:
        raise UnknownToken("the Authorization header holds no bearer token")
    if anonymous_reads(request):
        return ANONYMOUS_CALLER
    return None


def bearer_of(request: Request) -> str | None:
    """Returns the secret of `Authorization: Bearer`, or None."""
    scheme, _, secret = request.headers.get("authorization", "").partition(" ")
    return secret.strip() if scheme.lower() == "bearer" and secret.strip() else None


def anonymous_reads(request: Request) -> bool:
    """Whether reading needs no login: loopback only, no proxy configured, and no header that a proxy leaves."""
    settings = settings_of(request)
    return settings.anonymous_reads and on_plain_loopback(settings, request.headers)
