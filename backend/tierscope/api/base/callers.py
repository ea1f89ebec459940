"""Finds out who sends a request: a session cookie, an API token, or nobody on loopback."""

import hmac

from fastapi import Request

from tierscope.api.base.peers import on_plain_loopback
from tierscope.api.base.use_cases import use_cases
from tierscope.core.errors import BadCsrf, UnknownToken
from tierscope.usecases.access.tokens import ANONYMOUS_CALLER, Caller, csrf_token

SESSION_COOKIE = "tierscope_session_"
"""How names of session cookies begin; the instance follows."""
HOST_PREFIX = "__Host-"
"""Of cookies that browsers take by TLS, for the host that sets them and all its paths (RFC 6265bis, 4.1.3.2)."""
CSRF_HEADER = "x-csrf-token"
KEY_HEADER = "x-session-key"
"""Of requests without TLS: the part of the session's secret that its cookie does not hold."""
_COOKIE_CHARACTERS = 26
"""Of a session's secret without TLS, its prefix included; as many random bits are in either part, 124 or more."""
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


def is_secure(request: Request) -> bool:
    """Whether the browser reaches us by TLS, as far as the request or the settings say."""
    return use_cases(request).settings.secure_cookies or request.url.scheme == "https"


def session_cookie_name(request: Request) -> str:
    """The name of this instance's session cookie. Browsers send cookies of all ports of a machine to each of them.

    With its prefix browsers take it from this host by TLS alone: no neighbour in the domain and no plain port sets it.
    """
    prefix = HOST_PREFIX if is_secure(request) else ""
    return prefix + SESSION_COOKIE + use_cases(request).access.instance_name()


def split_secret(request: Request, secret: str) -> tuple[str, str | None]:
    """Returns what a session's cookie holds, and its key: None by TLS, where the cookie holds all.

    Without TLS browsers send cookies to every port of the host, whoever listens there; what a page of one port stores,
    no other port sees.
    """
    return (secret, None) if is_secure(request) else (secret[:_COOKIE_CHARACTERS], secret[_COOKIE_CHARACTERS:])


def session_secret(request: Request) -> str | None:
    """Returns the secret of the session that the request came with, or None."""
    if not any(name.removeprefix(HOST_PREFIX).startswith(SESSION_COOKIE) for name in request.cookies):
        return None
    cookie = request.cookies.get(session_cookie_name(request))
    return cookie if cookie is None or is_secure(request) else cookie + request.headers.get(KEY_HEADER, "")


def bearer_of(request: Request) -> str | None:
    """Returns the secret of `Authorization: Bearer`, or None."""
    scheme, _, secret = request.headers.get("authorization", "").partition(" ")
    return secret.strip() if scheme.lower() == "bearer" and secret.strip() else None


def anonymous_reads(request: Request) -> bool:
    """Whether reading needs no login: loopback that is trusted, no proxy configured, no header that a proxy leaves."""
    settings = use_cases(request).settings
    return on_plain_loopback(settings, request.headers) and use_cases(request).access.loopback_trust.holds()
