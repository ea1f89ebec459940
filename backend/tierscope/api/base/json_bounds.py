"""Refuses JSON of very many values before it is read: each of them becomes an object, and each wrong one an error.

As plain ASGI, inside the limit for the bytes of a body. The body is held once, as whoever reads it would hold it.
"""

from starlette.concurrency import run_in_threadpool
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tierscope.api.base.problems import problem_response
from tierscope.core.errors import TooLarge
from tierscope.domain.base.json_text import MAX_PARTS, has_too_many_parts

_WITHOUT_BODY = frozenset({"GET", "HEAD", "OPTIONS", "DELETE"})


class JsonBoundsMiddleware:
    """Answers 413 to JSON of more values than one reads."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes a request on, or answers it with a problem."""
        if scope["type"] != "http" or scope["method"] in _WITHOUT_BODY or not _is_json(scope):
            await self._app(scope, receive, send)
            return
        try:
            body, ended = await _whole(receive)
        except TooLarge:
            return  # whoever counts the bytes answers
        if len(body) > MAX_PARTS and await run_in_threadpool(has_too_many_parts, body):
            error = TooLarge(
                f"the JSON has more than {MAX_PARTS} strings, commas, colons and brackets",
                next_step="Send less at once: split it.",
            )
            await problem_response(error, scope["path"])(scope, receive, send)
            return
        await self._app(scope, _Replayed(body, ended, receive), send)


class _Replayed:
    """A body that has been received, as one part; then whatever comes."""

    def __init__(self, body: bytes, ended: Message | None, receive: Receive) -> None:
        self._body: bytes | None = body
        self._ended, self._receive = ended, receive

    async def __call__(self) -> Message:
        if self._ended is not None:
            return self._ended
        if self._body is None:
            return await self._receive()
        body, self._body = self._body, None
        return {"type": "http.request", "body": body, "more_body": False}


async def _whole(receive: Receive) -> tuple[bytes, Message | None]:
    """The body, and the end of the connection where that came first."""
    parts = []
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return b"", message
        parts.append(message.get("body", b""))
        if not message.get("more_body", False):
            return b"".join(parts), None


def _is_json(scope: Scope) -> bool:
    """Whether the body may be read as JSON; one without a type is."""
    for name, value in scope["headers"]:
        if name == b"content-type":
            return b"json" in value.lower() or not value.strip()
    return True
