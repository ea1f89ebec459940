"""One attack while it is played: it asks, everything is counted, and what should not have been is written down."""

import random
import threading
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

import httpx

from attack import wires
from attack.arena import Arena
from factories.waiting import DEADLINE_SECONDS

T = TypeVar("T")
_MOST_FINDINGS = 40
_TIMEOUT = httpx.Timeout(DEADLINE_SECONDS).as_dict()
_FAULT = 500


@dataclass(slots=True)
class Assault:
    """What an attack has at hand, and what became of it."""

    arena: Arena
    dice: random.Random
    small: bool
    """A few of everything, for `make test`."""
    requests: int = 0
    answers: Counter[int] = field(default_factory=Counter)
    findings: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    _transport: httpx.HTTPTransport = field(
        default_factory=lambda: httpx.HTTPTransport(limits=httpx.Limits(max_connections=64, keepalive_expiry=2.0))
    )
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def some(self, things: Iterable[T], few: int) -> list[T]:
        """All of them; few that are drawn where the attack is small."""
        whole = list(things)
        return self.dice.sample(whole, min(few, len(whole))) if self.small else whole

    def of(self, whole: int, few: int) -> int:
        """How many: fewer where the attack is small."""
        return few if self.small else whole

    def found(self, what: str) -> None:
        """Something that should not have been."""
        with self._lock:
            if len(self.findings) < _MOST_FINDINGS:
                self.findings.append(what)

    def count(self, statuses: Sequence[int], what: str) -> None:
        """Counts answers that came on another way; none may be a fault of the service."""
        with self._lock:
            self.requests += 1
            self.answers.update(statuses)
        if _FAULT in statuses:
            self.found(f"{what}: answered 500")

    def ask(
        self,
        method: str,
        path: str,
        *,
        headers: Mapping[str, str] | Sequence[tuple[bytes, bytes]] = (),
        expect: Collection[int] = (),
        may_break: bool = False,
        what: str = "",
        **body: Any,  # noqa: ANN401 - whatever httpx makes a body or a query of
    ) -> httpx.Response | None:
        """Asks the API once, without cookies of before. None where the connection ended without an answer.

        Args:
            method: of the request.
            path: beneath the API's address.
            headers: of the request.
            expect: statuses that are right; all but 500 where it is empty.
            may_break: whether the API may end the connection without a word.
            what: names the request where it goes wrong.
            body: `json`, `content`, `data` or `params`, as httpx takes them.
        """
        said = what or f"{method} {path[:120]}"
        try:
            answer = self._send(httpx.Request(method, self.arena.api.url + path, headers=_headers(headers), **body))
        except httpx.TransportError as error:
            self.count([], said)
            if not may_break:
                self.found(f"{said}: no answer, {error!r}")
            return None
        self.count([answer.status_code], said)
        if expect and answer.status_code not in expect and answer.status_code != _FAULT:
            self.found(f"{said}: answered {answer.status_code}, {answer.text[:160]!r}")
        return answer

    def _send(self, request: httpx.Request) -> httpx.Response:
        request.extensions["timeout"] = _TIMEOUT
        try:
            answer = self._transport.handle_request(request)
            answer.read()
        except (httpx.RemoteProtocolError, httpx.WriteError, httpx.ReadError):
            # A kept connection may have ended at that moment; a fault comes again.
            if not isinstance(request.stream, httpx.ByteStream):
                raise
            answer = self._transport.handle_request(request)
            answer.read()
        finally:
            request.extensions.pop("timeout")
        return answer

    def exchange(self, parts: Iterable[bytes], what: str, *, quiet_seconds: float = wires.QUIET_SECONDS) -> bytes:
        """Sends bytes as they are on a connection of their own; what came back."""
        try:
            said = wires.exchange(self.arena.api.port, parts, quiet_seconds=quiet_seconds)
        except OSError as error:
            self.found(f"{what}: no connection, {error!r}")
            said = b""
        self.count(wires.statuses(said), what)
        return said

    def close(self) -> None:
        """Ends its connections."""
        self._transport.close()


def _headers(
    given: Mapping[str, str] | Sequence[tuple[bytes, bytes]],
) -> dict[str, str] | list[tuple[bytes, bytes]]:
    return dict(given) if isinstance(given, Mapping) else list(given)


@contextmanager
def assaulting(arena: Arena, seed: int, *, small: bool) -> Iterator[Assault]:
    """An attack that may begin."""
    assault = Assault(arena, random.Random(seed), small)  # noqa: S311 - a seeded test
    try:
        yield assault
    finally:
        assault.close()
