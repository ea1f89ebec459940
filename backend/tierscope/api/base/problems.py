"""Errors as problem details (RFC 9457): the cause and the next step, never a stack trace."""

import asyncio
from collections.abc import Awaitable, Callable

import structlog
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from tierscope.api.base.figures import Problem
from tierscope.core.errors import (
    BadRequest,
    Busy,
    Forbidden,
    MethodNotAllowed,
    NotFound,
    TierscopeError,
    TooLarge,
    TooMany,
    Unauthenticated,
    Unavailable,
    Unprocessable,
    UnsupportedMedia,
)
from tierscope.usecases.nodes.fleet import perhaps_there

PROBLEM_TYPE = "application/problem+json"
_BY_STATUS: dict[int, type[TierscopeError]] = {
    401: Unauthenticated,
    403: Forbidden,
    404: NotFound,
    405: MethodNotAllowed,
    413: TooLarge,
    415: UnsupportedMedia,
    422: Unprocessable,
    503: Unavailable,
}
REMOTE_WRITE_PATH = "/api/v1/write"
"""Where Prometheus sends samples. It repeats what is answered 503, and drops what is answered 429."""
RETRY_SECONDS = 5
"""Whoever is sent away for a while is told for how long, also where the cause does not know."""
_COME_BACK = (TooMany.status, Unavailable.status)
_log = structlog.get_logger(__name__)


def problem_response(error: TierscopeError, instance: str | None = None) -> Response:
    """Returns the answer that tells a caller of `error`."""
    body = Problem(
        type=error.type,
        title=error.title,
        status=error.status,
        detail=error.detail,
        next_step=error.next_step,
        instance=instance,
    )
    headers = {"Cache-Control": "no-store"}
    if error.retry_after_seconds is not None:
        headers["Retry-After"] = str(error.retry_after_seconds)
    elif error.status in _COME_BACK:
        headers["Retry-After"] = str(RETRY_SECONDS)
    if error.status == Unauthenticated.status:
        headers["WWW-Authenticate"] = "Bearer"
    return Response(body.model_dump_json(), status_code=error.status, media_type=PROBLEM_TYPE, headers=headers)


def install_handlers(app: FastAPI) -> None:
    """Makes every error of `app` a problem."""
    handlers: list[tuple[type[Exception], Callable[[Request, Exception], Awaitable[Response]]]] = [
        (TierscopeError, _told),
        (RequestValidationError, _invalid),
        (HTTPException, _http),
        (ClientDisconnect, _told),
        (Exception, _told),
    ]
    for kind, handler in handlers:
        app.add_exception_handler(kind, handler)


def answer_to(error: Exception, path: str) -> Response:
    """Returns the answer to a request that ended in `error`, and writes to the log what the service is to blame for."""
    if isinstance(error, TierscopeError):
        if error.status >= TierscopeError.status:
            _log.warning("request failed", path=path, status=error.status, detail=error.detail)
        if isinstance(error, TooMany) and path == REMOTE_WRITE_PATH:
            wait = error.retry_after_seconds
            error = Busy(error.detail, next_step=error.next_step, retry_after_seconds=wait)
        return problem_response(error, path)
    if isinstance(error, ClientDisconnect):
        # Nobody reads this answer, and nothing is wrong here: a connection broke before the body had come.
        return problem_response(BadRequest("the connection ended in the middle of the body"), path)
    _log.error("request failed", path=path, exc_info=error)
    return problem_response(TierscopeError("an unexpected error; the log has it"), path)


async def _told(request: Request, error: Exception) -> Response:
    if isinstance(error, NotFound):
        error = await asyncio.to_thread(_perhaps_away, request, error)
    return answer_to(error, request.url.path)


def _perhaps_away(request: Request, error: NotFound) -> TierscopeError:
    """What was not found may be on a server of the fleet that does not answer: then nobody knows whether it exists."""
    held = getattr(request.app.state, "use_cases", None)
    try:
        away = [] if held is None else held.nodes.away()
    except TierscopeError as unknown:
        return unknown
    return perhaps_there(error.detail, away) if away else error


async def _invalid(request: Request, error: Exception) -> Response:
    errors = error.errors() if isinstance(error, RequestValidationError) else []
    places = [f"{'.'.join(str(part) for part in item['loc'])}: {item['msg']}" for item in errors[:5]]
    return problem_response(Unprocessable("; ".join(places) or "the request is not valid"), request.url.path)


async def _http(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    detail = str(error.detail) if isinstance(error, HTTPException) else "unknown"
    if status == MethodNotAllowed.status:
        detail = f"{request.method} is not offered here"
    known = _BY_STATUS.get(status, BadRequest if status < TierscopeError.status else TierscopeError)
    response = problem_response(known(f"{request.url.path}: {detail}"), request.url.path)
    if isinstance(error, HTTPException) and error.headers:
        response.headers.update(error.headers)
    return response
