"""Short ways: what agents ask each minute is answered before routing, forms, compression and descriptions of answers.

A short way looks at the head of a request. One that is as agents write it is answered there; any other, such as one of
an unknown credential or without a length, goes on to its route, which refuses it with its cause. Both ways use the same
use cases and limits and give the same answer (tests/api/test_short_ways.py).
"""

import re
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Receive, Scope, Send

from tierscope.api.base.peers import FORWARDED_HEADERS
from tierscope.api.base.problems import answer_to
from tierscope.api.base.rate_limits import Left
from tierscope.api.base.request_meters import RequestMeters
from tierscope.api.base.security import HEADERS, allowed_names, host_name
from tierscope.api.base.use_cases import UseCases
from tierscope.core.errors import TooMany
from tierscope.core.settings import Settings
from tierscope.usecases.fleet.agents import HostIdentity

MAX_BODY_BYTES = 256 << 10
"""Larger bodies take the long way: it costs little beside them."""
NOT_MODIFIED = 304
_KNOWN_HOSTS = 64
_LENGTH = re.compile(rb"[0-9]{1,9}")
_NUMBER = re.compile(rb"[0-9]{1,18}")
_SECURITY = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]
_FORWARDED = frozenset(name.encode() for name in FORWARDED_HEADERS)
_UNUSUAL = frozenset({b"origin", b"cookie", b"transfer-encoding", b"expect"}) | _FORWARDED
"""Headers that agents do not send."""


JSON_TYPE = (b"content-type", b"application/json")


@dataclass(frozen=True, slots=True)
class ShortRequest:
    """A request of an agent whose credential was checked moments ago."""

    heads: Mapping[bytes, bytes]
    """By name in small letters; each name stands once."""
    host: HostIdentity
    cases: UseCases
    receive: Receive

    @property
    def body_bytes(self) -> int | None:
        """The length of the body as announced; None where it is not, or is more than a short way takes."""
        length = self.heads.get(b"content-length", b"")
        found = int(length) if _LENGTH.fullmatch(length) else None
        return found if found is not None and found <= MAX_BODY_BYTES else None

    def number(self, name: bytes) -> int | None:
        """A header that holds a number below 10^18; None where it does not."""
        value = self.heads.get(name, b"")
        return int(value) if _NUMBER.fullmatch(value) else None

    def holds_numbers(self, *names: bytes) -> bool:
        """Whether those of these headers that are there hold numbers."""
        return all(name not in self.heads or self.number(name) is not None for name in names)

    async def body(self) -> bytes:
        """The body, as long as announced: the server's own parser sees to that.

        Raises:
            ClientDisconnect: the connection ended before.
        """
        parts = []
        while True:
            message = await self.receive()
            if message["type"] != "http.request":
                raise ClientDisconnect
            parts.append(message.get("body", b""))
            if not message.get("more_body", False):
                return parts[0] if len(parts) == 1 else b"".join(parts)


@dataclass(frozen=True, slots=True)
class ShortAnswer:
    """An answer without what every answer carries."""

    status: int
    body: bytes
    headers: tuple[tuple[bytes, bytes], ...] = ()


Work = Callable[[], Awaitable[ShortAnswer]]
ShortWay = Callable[[ShortRequest], Work | None]
"""Looks at a head and returns what answers it; None where the request takes the long way."""


class ShortWays:
    """Stands before the whole application."""

    def __init__(
        self, app: ASGIApp, *, settings: Settings, meters: RequestMeters, ways: Mapping[tuple[str, str], ShortWay]
    ) -> None:
        self._app = app
        self._settings = settings
        self._meters = meters
        self._ways = ways
        self._names = allowed_names(settings)
        self._hosts: set[bytes] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers a request, or passes it on."""
        way = self._ways.get((scope["method"], scope["path"])) if scope["type"] == "http" else None
        asked = None if way is None else self._request(scope, receive)
        work = None if way is None or asked is None else way(asked)
        if asked is None or work is None:
            await self._app(scope, receive, send)
            return
        start = time.perf_counter()
        status = 500
        try:
            status = await self._answer(asked, work, scope, send)
        finally:
            self._meters.count(scope["method"], scope["path"], status, time.perf_counter() - start)

    def _request(self, scope: Scope, receive: Receive) -> ShortRequest | None:
        """A request as agents write it, with a credential that is known; None for any other."""
        sent: list[tuple[bytes, bytes]] = scope["headers"]
        heads = dict(sent)
        if len(heads) != len(sent) or not _UNUSUAL.isdisjoint(heads) or scope["query_string"]:
            return None
        if not self._is_own(heads.get(b"host", b"")):
            return None
        scheme, _, secret = heads.get(b"authorization", b"").partition(b" ")
        if scheme.lower() != b"bearer" or not secret.isascii():
            return None
        cases: UseCases = scope["app"].state.use_cases
        host = cases.agents.known(secret.decode().strip())
        return None if host is None else ShortRequest(heads, host, cases, receive)

    def _is_own(self, header: bytes) -> bool:
        if header in self._hosts:
            return True
        if host_name(header.decode("latin-1")) not in self._names:
            return False
        if len(self._hosts) < _KNOWN_HOSTS:
            self._hosts.add(header)
        return True

    async def _answer(self, asked: ShortRequest, work: Work, scope: Scope, send: Send) -> int:
        limiter, left = asked.cases.rate_limiter, None
        try:
            left = limiter.take_agent(asked.host.public_id)
            answer = await work()
        except Exception as error:  # noqa: BLE001 - whatever it is, the caller gets an answer
            if isinstance(error, TooMany) and left is None:
                left = limiter.left_to_agent(asked.host.public_id)
            problem = answer_to(error, scope["path"])
            answer = ShortAnswer(
                problem.status_code,
                bytes(problem.body),
                tuple(head for head in problem.raw_headers if head[0] != b"content-length"),
            )
        await self._send(answer, left, send)
        freed = asked.cases.freed
        if freed.has_grown(asked.body_bytes or 0):
            await run_in_threadpool(freed.give_back)
        return answer.status

    async def _send(self, answer: ShortAnswer, left: Left | None, send: Send) -> None:
        headers = [*answer.headers]
        if answer.status != NOT_MODIFIED:
            headers.append((b"content-length", b"%d" % len(answer.body)))
        if left is not None:
            headers += [(name.lower().encode(), value.encode()) for name, value in left.headers().items()]
        await send({"type": "http.response.start", "status": answer.status, "headers": headers + _SECURITY})
        await send({"type": "http.response.body", "body": answer.body})
