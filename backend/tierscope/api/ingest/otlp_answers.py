"""Answers of OTLP over HTTP: what was left out, and errors as `google.rpc.Status`, each in the request's encoding.

A status has the fields of a partial success, number 1 a number and number 2 a text: it is written as one, because its
own class would be a dependency more.
Source: OpenTelemetry protocol specification 1.9, "OTLP/HTTP Response".
"""

import orjson
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsPartialSuccess,
    ExportMetricsServiceResponse,
)
from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tierscope.api.base.problems import PROBLEM_TYPE
from tierscope.core.errors import BadRequest, Unprocessable

METRICS_PATH = "/otlp/v1/metrics"
PROTOBUF, JSON = "application/x-protobuf", "application/json"
_CODES = {400: 3, 401: 16, 403: 7, 404: 5, 413: 8, 415: 3, 429: 8, 503: 14}
"""Numbers of `google.rpc.Code`; 13 (internal) for all else."""
_INTERNAL = 13


def is_json(scope: Scope) -> bool:
    """Whether a request is in JSON."""
    for name, value in scope["headers"]:
        if name == b"content-type":
            return bytes(value).partition(b";")[0].strip().lower() == JSON.encode()
    return False


def partial_success(rejected_points: int, reason: str | None, *, json: bool) -> bytes:
    """An `ExportMetricsServiceResponse`; without a reason everything is stored."""
    if json:
        partial = {"rejectedDataPoints": str(rejected_points), "errorMessage": reason}
        return orjson.dumps({} if reason is None else {"partialSuccess": partial})
    if reason is None:
        return b""
    answer = ExportMetricsServiceResponse(partial_success=_number_and_text(rejected_points, reason))
    return answer.SerializeToString()


def status(code: int, message: str, *, json: bool) -> bytes:
    """A `google.rpc.Status`."""
    if json:
        return orjson.dumps({"code": code, "message": message})
    return _number_and_text(code, message).SerializeToString()


def _number_and_text(number: int, text: str) -> ExportMetricsPartialSuccess:
    return ExportMetricsPartialSuccess(rejected_data_points=number, error_message=text)


class OtlpStatusMiddleware:
    """Makes a status of each problem that is answered to a request of OTLP, wherever it was found.

    Senders repeat what was answered with 429, 502, 503 or 504 alone. What cannot be read is 400 in OTLP.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes a request on, and its answer back."""
        if scope["type"] == "http" and scope["path"] == METRICS_PATH:
            # Answers are a few bytes, and what is compressed could not be read here.
            headers = [header for header in scope["headers"] if header[0] != b"accept-encoding"]
            await self._app({**scope, "headers": headers}, receive, _Statuses(send, json=is_json(scope)))
        else:
            await self._app(scope, receive, send)


class _Statuses:
    """Holds the start of an answer that is a problem until its body is there."""

    def __init__(self, send: Send, *, json: bool) -> None:
        self._send = send
        self._json = json
        self._start: Message | None = None
        self._body = b""

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start" and _is_problem(message):
            self._start = message
        elif self._start is None:
            await self._send(message)
        elif message["type"] == "http.response.body":
            self._body += message.get("body", b"")
            if not message.get("more_body", False):
                await self._answer(self._start)

    async def _answer(self, start: Message) -> None:
        problem = orjson.loads(self._body)
        code = BadRequest.status if start["status"] == Unprocessable.status else start["status"]
        text = f"{problem['detail']}. {problem['next_step']}"
        body = status(_CODES.get(code, _INTERNAL), text, json=self._json)
        headers = MutableHeaders(raw=list(start["headers"]))
        headers["content-type"] = JSON if self._json else PROTOBUF
        headers["content-length"] = str(len(body))
        await self._send({**start, "status": code, "headers": headers.raw})
        await self._send({"type": "http.response.body", "body": body})


def _is_problem(start: Message) -> bool:
    return any(name == b"content-type" and value.startswith(PROBLEM_TYPE.encode()) for name, value in start["headers"])
