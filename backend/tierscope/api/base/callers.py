"""Finds out who sends a request: a session cookie, an API token, or nobody on loopback."""

import hmac

from fastapi import Request

from tierscope.api.base.peers import on_plain_loopback
from tierscope.api.base.use_cases import use_cases
from tierscope.core.errors import BadCsrf, UnknownToken
from tierscope.usecases.access.tokens import ANONYMOUS_CALLER, Caller, csrf_token

SESSION_COOKIE = "tierscope_session_"
"""How names of session cookies begin; the instance follows."""
CSRF_HEADER = "x-csrf-token"
_SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})


def find_caller(request: Request) -> Caller | None:
    """Returns who sends the request; None where a login is needed.

    Raises:
        UnknownToken: a bearer token was sent and is not valid, or an `Authorization` header holds none and no session
            came with it. Whoever sends that header is never the anonymous reader.
        BadCsrf: a write with a session cookie lacks the session's CSRF token.
    """
    bearer = bearer_of(request)
    if bearer is not None:
        caller = use_cases(request).access.caller_of_token(bearer)
        if caller is None:
            raise UnknownToken("the bearer token is unknown, expired or revoked")
        return caller
    cookie = session_secret(request)
    caller = use_cases(request).access.caller_of_session(cookie) if cookie else None
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


def session_cookie_name(request: Request) -> str:
    """The name of this instance's session cookie. Browsers send cookies of all ports of a machine to each of them."""
    return SESSION_COOKIE + use_cases(request).access.instance_name()


def session_secret(request: Request) -> str | None:
    """Returns the secret of the session that the request came with, or None."""
    if not any(name.startswith(SESSION_COOKIE) for name in request.cookies):
        return None
    return request.cookies.get(session_cookie_name(request))


def bearer_of(request: Request) -> str | None:
    """Returns the secret of `Authorization: Bearer`, or None."""
    scheme, _, secret = request.headers.get("authorization", "").partition(" ")
    return secret.strip() if scheme.lower() == "bearer" and secret.strip() else None


def anonymous_reads(request: Request) -> bool:
    """Whether reading needs no login: loopback that is trusted, no proxy configured, no header that a proxy leaves."""
    settings = use_cases(request).settings
    return on_plain_loopback(settings, request.headers) and use_cases(request).access.loopback_trust.holds()
