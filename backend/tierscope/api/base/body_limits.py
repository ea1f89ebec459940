"""How many bytes a request may carry: little by default, more where the table names the route.

As plain ASGI, because every request passes here before anything reads its body. What is announced is judged before the
first byte is taken, and what comes is counted as well, so that no more than the limit is ever held.
"""

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass

from fastapi import Request
from starlette.concurrency import run_in_threadpool
from starlette.routing import compile_path
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tierscope.api.base.problems import problem_response
from tierscope.api.base.use_cases import UseCases, use_cases
from tierscope.core.errors import TooLarge
from tierscope.core.settings import Settings
from tierscope.usecases.ingest.meters import IngestMeters
from tierscope.usecases.simulate.uploads import MAX_UPLOAD_BYTES

DEFAULT_BYTES = 1 << 20
_FORM_BYTES = 4 << 10
_SCENARIO_BYTES = 2 << 20
_RULES_BYTES = 2 << 20
_LABELS_BYTES = 4 << 20
_SELECTORS_BYTES = 256 << 10
_INGEST = "POST /v1/ingest/batches"
_LONGEST_LENGTH = 19  # digits of what fits into 64 bits


@dataclass(frozen=True, slots=True)
class BodyLimit:
    """Most bytes of a body as sent, and what a caller can do who has more; None = send less."""

    size_bytes: int
    next_step: str | None = None

    def refusal(self) -> TooLarge:
        """The error of a body that is larger."""
        step = self.next_step or f"Send at most {self.size_bytes} bytes at once: split it where that is possible."
        return TooLarge(f"the body has more than {self.size_bytes} bytes", next_step=step)


def body_limits(settings: Settings) -> dict[str, BodyLimit]:
    """Returns the routes, as method and template, whose bodies have another limit than `DEFAULT_BYTES`."""
    form, scenario = BodyLimit(_FORM_BYTES), BodyLimit(_SCENARIO_BYTES)
    return {
        _INGEST: BodyLimit(settings.limits.batch_bytes),
        "POST /api/v1/write": BodyLimit(
            settings.remote_write.body_bytes, "Send fewer samples per request: max_samples_per_send."
        ),
        "POST /otlp/v1/metrics": BodyLimit(
            settings.otlp.inflated_bytes, "Send smaller requests: lower the batch size of the exporter."
        ),
        "POST /prometheus/api/v1/read": BodyLimit(_SELECTORS_BYTES, "Ask for fewer selectors at once."),
        "POST /v1/simulator/uploads": BodyLimit(
            MAX_UPLOAD_BYTES, "Cut it to fewer intervals or pages, or replay it with `tierscope simulate`."
        ),
        "POST /v1/hosts/labels": BodyLimit(_LABELS_BYTES, "Split the file: each part needs the header."),
        "POST /v1/rules/import": BodyLimit(_RULES_BYTES, "Split the file by groups of rules."),
        "POST /v1/scenarios": scenario,
        "PUT /v1/scenarios/{scenario_id}": scenario,
        "POST /login": form,
        "POST /login/password": form,
    }


class BodyLimitMiddleware:
    """Answers 413 to bodies over the limit of their route."""

    def __init__(self, app: ASGIApp, *, settings: Settings, meters: IngestMeters) -> None:
        self._app = app
        self._meters = meters
        self._ingest = _INGEST.partition(" ")[2]
        self._default = BodyLimit(DEFAULT_BYTES)
        self._exceptions = _compile(body_limits(settings))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes a request on, or answers it with a problem."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        limit = self._limit(scope)
        if _announced_bytes(scope) > limit.size_bytes:
            refusal = limit.refusal()
            if scope["path"] == self._ingest:
                self._meters.refused(refusal)
            await problem_response(refusal, scope["path"])(scope, receive, send)
            return
        with ExitStack() as held:
            counted = _Counted(limit, receive, send, lambda: held.enter_context(_use_cases(scope).turns.uploading()))
            try:
                await self._app(scope, counted.receive, counted.send)
            finally:
                await counted.answer(scope)
                freed = _use_cases(scope).freed
                if freed.has_grown(counted.size_bytes):
                    await run_in_threadpool(freed.give_back)

    def _limit(self, scope: Scope) -> BodyLimit:
        for matches, limit in self._exceptions.get(scope["method"], ()):
            if matches(scope["path"]):
                return limit
        return self._default


class _Counted:
    """One request: its bytes as they come, and 413 in place of any answer once they are too many."""

    def __init__(self, limit: BodyLimit, receive: Receive, send: Send, grew_large: Callable[[], object]) -> None:
        """`grew_large` is called once there are more bytes than `DEFAULT_BYTES`."""
        self._limit, self._receive, self._send = limit, receive, send
        self._grew_large = grew_large
        self.size_bytes = 0
        """Of the body, so far."""
        self._started = False
        self._refusal: TooLarge | None = None

    async def receive(self) -> Message:
        """The next part of the body.

        Raises:
            TooLarge: with it there are too many bytes.
        """
        message = await self._receive()
        if message["type"] == "http.request":
            before, self.size_bytes = self.size_bytes, self.size_bytes + len(message.get("body", b""))
            if self.size_bytes > self._limit.size_bytes:
                self._refusal = self._limit.refusal()
                raise self._refusal
            if before <= DEFAULT_BYTES < self.size_bytes:
                self._grew_large()
        return message

    async def send(self, message: Message) -> None:
        """Passes an answer on; what is said about a body that was cut off is not it."""
        if self._refusal is None or self._started:
            self._started = True
            await self._send(message)

    async def answer(self, scope: Scope) -> None:
        """Answers where the body was too large and nothing was answered before."""
        if self._refusal is not None and not self._started:
            self._started = True
            await problem_response(self._refusal, scope["path"])(scope, self._receive, self._send)


def _use_cases(scope: Scope) -> UseCases:
    return use_cases(Request(scope))


_Matches = Callable[[str], object]


def _compile(limits: Mapping[str, BodyLimit]) -> dict[str, list[tuple[_Matches, BodyLimit]]]:
    made: dict[str, list[tuple[_Matches, BodyLimit]]] = {}
    for route, limit in limits.items():
        method, _, template = route.partition(" ")
        made.setdefault(method, []).append((compile_path(template)[0].match, limit))
    return made


def _announced_bytes(scope: Scope) -> int:
    """What Content-Length says; 0 where it says nothing, because parts are counted anyway."""
    for name, value in scope["headers"]:
        if name == b"content-length" and value.isdigit():
            return int(value[: _LONGEST_LENGTH + 1])
    return 0
