"""How requests are sent: the token, retries where the service asks to wait, problems as exceptions, pages."""

import time
from collections.abc import Callable, Iterator, Mapping
from types import TracebackType
from typing import Any, Self, TypedDict, Unpack, cast

import httpx

from tierscope_client.errors import UnreachableError, problem_of
from tierscope_client.tables import Origin, Table

WAIT_STATUSES = frozenset({429, 503})
WAIT_SECONDS = 1.0
"""Where an answer does not say for how long."""
FAILED = 400

Parameters = Mapping[str, object]


class Parts(TypedDict, total=False):
    """What a request has besides its method and path."""

    query: Parameters
    headers: Parameters
    body: object
    content: bytes | None
    media_type: str


class Transport:
    """What every operation stands on. One is not for several threads at once."""

    def __init__(
        self,
        address: str,
        *,
        token: str | None = None,
        auth: httpx.Auth | Callable[[httpx.Request], httpx.Request] | None = None,
        timeout_seconds: float = 30.0,
        retries: int = 4,
        longest_wait_seconds: float = 60.0,
        verify: bool | str = True,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """Connects to nobody yet.

        Args:
            address: of the service, such as `https://tierscope.example`.
            token: an API token; None reads what needs no login.
            auth: what asks for a token when one is needed, in place of `token`.
            timeout_seconds: for each request.
            retries: how often a request is sent again when the service answers 429 or 503.
            longest_wait_seconds: a longer Retry-After is not waited for: the refusal is raised.
            verify: whether certificates are checked, or the file of authorities to check them with.
            sleep: what waits between retries.
        """
        headers = {"Accept": "application/json, application/problem+json;q=0.9, */*;q=0.1"}
        if token is not None:
            headers["Authorization"] = f"Bearer {token}"
        self._http = httpx.Client(base_url=address, headers=headers, auth=auth, timeout=timeout_seconds, verify=verify)
        self._retries = retries
        self._longest_wait_seconds = longest_wait_seconds
        self._sleep = sleep

    def __enter__(self) -> Self:
        """For use in a `with`, which closes the connections."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Closes the connections."""
        self.close()

    @property
    def address(self) -> str:
        """The address of the service."""
        return str(self._http.base_url).rstrip("/")

    def close(self) -> None:
        """Closes the connections."""
        self._http.close()

    def _json(self, method: str, path: str, **parts: Unpack[Parts]) -> Any:  # noqa: ANN401 - the operation says what
        response = self.send(method, path, **parts)
        return response.json() if response.content else None

    def _bytes(self, method: str, path: str, **parts: Unpack[Parts]) -> bytes:
        return self.send(method, path, **parts).content

    def _table(self, path: str, query: Parameters) -> Table:
        """The table of an answer; of a list longer than one file, all files one after another."""
        asked = {**query, "format": "arrow"}
        streams, origins = [], set[str]()
        while True:
            response = self.send("GET", path, query=asked)
            streams.append(response.content)
            origins.add(response.headers.get("X-Origin", "unknown"))
            asked["cursor"] = response.headers.get("X-Next-Cursor")
            if asked["cursor"] is None:
                origin = origins.pop() if len(origins) == 1 else "mixed"
                return Table(cast("Origin", origin), streams)

    def _items(self, path: str, query: Parameters) -> Iterator[Any]:
        """Items of all pages, each page fetched when it is reached."""
        asked = dict(query)
        while True:
            page = self._json("GET", path, query=asked)
            yield from page["items"]
            if page["next_cursor"] is None:
                return
            asked["cursor"] = page["next_cursor"]

    def send(
        self,
        method: str,
        path: str,
        *,
        query: Parameters | None = None,
        headers: Parameters | None = None,
        body: object = None,
        content: bytes | None = None,
        media_type: str | None = None,
    ) -> httpx.Response:
        """Sends until it is answered with something else than a request to wait.

        Raises:
            ProblemError: the service refused.
            UnreachableError: nobody answered.
        """
        sent = {name: str(value) for name, value in (headers or {}).items() if value is not None}
        if media_type is not None:
            sent["Content-Type"] = media_type
        request = self._http.build_request(
            method, path, params=_written(query or {}), headers=sent, json=body, content=content
        )
        for attempt in range(self._retries + 1):
            try:
                response = self._http.send(request)
            except httpx.TransportError as error:
                raise UnreachableError(f"{method} {request.url}: {str(error) or type(error).__name__}") from error
            if response.status_code < FAILED:
                return response
            wait = _wait_seconds(response)
            if wait is None or attempt == self._retries or wait > self._longest_wait_seconds:
                raise problem_of(response)
            self._sleep(wait)
        raise AssertionError("the last attempt returns or raises")


def _wait_seconds(response: httpx.Response) -> float | None:
    """How long the service asks to wait; None where the same request will be refused again."""
    if response.status_code not in WAIT_STATUSES:
        return None
    asked = response.headers.get("Retry-After", "")
    return float(asked) if asked.isdecimal() else WAIT_SECONDS


def _written(query: Parameters) -> dict[str, str | list[str]]:
    """Parameters that were given, as they stand in an address."""
    written: dict[str, str | list[str]] = {}
    for name, value in query.items():
        if isinstance(value, list | tuple):
            written[name] = [_text(item) for item in value]
        elif value is not None:
            written[name] = _text(value)
    return written


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
