"""Calls to other services over HTTP whose addresses people configure: guarded against reaching inside.

The name is looked up once, every address of the answer is judged, and the connection goes to a judged address: a name
that answers differently a moment later (DNS rebinding) changes nothing. TLS is checked against the name. Redirects are
not followed, proxies of the environment are not used, time and size are bounded. Messages name host and port alone,
because paths and queries of such addresses are often secrets.
"""

import asyncio
import socket
import ssl
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import httpx

from tierscope.core.addresses import Address, parse_allowed, plain_address
from tierscope.core.errors import OutgoingFailed, OutgoingRefused
from tierscope.core.settings import Outgoing

Resolve = Callable[[str, int], Sequence[str]]
"""The addresses of a name, as texts; raises OSError where there are none."""

_DEFAULT_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class Target:
    """A URL with the addresses that were judged when its name was looked up."""

    url: httpx.URL
    host: str
    port: int
    addresses: tuple[Address, ...]

    @property
    def place(self) -> str:
        """Host and port, for messages."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back: at most `answer_bytes` of the body. `retry_after_seconds` where the server names a number."""

    status_code: int
    body: bytes
    retry_after_seconds: int | None

    @property
    def ok(self) -> bool:
        """Whether the call was taken."""
        return 200 <= self.status_code < 300  # noqa: PLR2004 - the class of HTTP status that means success


def look_up(host: str, port: int) -> list[str]:
    """The addresses that the system's resolver knows for a name, in its order."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


class OutgoingCalls:
    """Makes guarded calls. One object may be used from several threads."""

    def __init__(self, settings: Outgoing, *, resolve: Resolve = look_up) -> None:
        """Reads the settings; ConfigurationError where the list of allowed addresses is wrong."""
        self._settings = settings
        self._allowed = parse_allowed(settings.allow)
        self._resolve = resolve

    def find_target(self, url: str) -> Target:
        """Looks up where a URL leads, and judges it.

        Raises:
            OutgoingRefused: it is no http or https URL, or an address of its name is internal and not allowed.
            OutgoingFailed: the name has no address.
        """
        parsed = _parse(url)
        host = parsed.raw_host.decode("ascii").strip("[]").rstrip(".")
        port = parsed.port or _DEFAULT_PORTS[parsed.scheme]
        try:
            addresses = tuple(plain_address(text) for text in self._resolve(host, port))
        except (OSError, UnicodeError) as error:
            raise OutgoingFailed(f"the name {host!r} cannot be looked up") from error
        if not addresses:
            raise OutgoingFailed(f"the name {host!r} has no address")
        target = Target(parsed, host, port, addresses)
        for address in addresses:
            # All of them: a name that stands for inside and outside at once is not to be trusted with either.
            if not self._allowed.permits(address, host, port):
                raise OutgoingRefused(f"{target.place} leads to the internal address {address}")
        return target

    def send(self, method: str, url: str, *, body: bytes = b"", headers: Mapping[str, str] | None = None) -> Answer:
        """Makes one call and returns its answer, whatever its status.

        Raises:
            OutgoingRefused: the address is not to be called.
            OutgoingFailed: nobody answered, TLS could not be checked, or it took longer than `total_seconds`.
        """
        target = self.find_target(url)
        try:
            return asyncio.run(self._send(target, method, body, headers or {}))
        except TimeoutError as error:
            raise OutgoingFailed(f"{target.place} took longer than {self._settings.total_seconds:g} s") from error
        except httpx.HTTPError as error:
            raise OutgoingFailed(f"{target.place}: {_cause(error)}") from error

    async def _send(self, target: Target, method: str, body: bytes, headers: Mapping[str, str]) -> Answer:
        timeout = httpx.Timeout(self._settings.total_seconds, connect=self._settings.connect_seconds)
        tls = self._tls if target.url.scheme == "https" else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        async with (
            asyncio.timeout(self._settings.total_seconds),
            httpx.AsyncClient(
                verify=tls, trust_env=False, follow_redirects=False, timeout=timeout, http2=False
            ) as client,
        ):
            for address in target.addresses[:-1]:
                try:
                    return await self._call(client, target, address, method, body, headers)
                except (httpx.ConnectError, httpx.ConnectTimeout):
                    continue
            return await self._call(client, target, target.addresses[-1], method, body, headers)

    async def _call(
        self,
        client: httpx.AsyncClient,
        target: Target,
        address: Address,
        method: str,
        body: bytes,
        headers: Mapping[str, str],
    ) -> Answer:
        sent = {"User-Agent": "tierscope", **headers, "Host": target.url.netloc.decode("ascii").rpartition("@")[2]}
        pinned = target.url.copy_with(host=str(address))
        extensions = {"sni_hostname": target.host}
        request = client.build_request(method, pinned, content=body, headers=sent, extensions=extensions)
        answer = await client.send(request, stream=True)
        try:
            received = bytearray()
            async for piece in answer.aiter_raw():
                received += piece
                if len(received) >= self._settings.answer_bytes:
                    break
        finally:
            await answer.aclose()
        wait = answer.headers.get("retry-after", "")
        return Answer(
            answer.status_code,
            bytes(received[: self._settings.answer_bytes]),
            int(wait) if wait.isascii() and wait.isdigit() else None,
        )

    @cached_property
    def _tls(self) -> ssl.SSLContext:
        """Loaded once, because reading all authorities takes longer than most calls."""
        context = httpx.create_ssl_context(trust_env=False)
        context.load_default_certs()
        if self._settings.ca_file is not None:
            context.load_verify_locations(cafile=self._settings.ca_file)
        return context


def _parse(url: str) -> httpx.URL:
    try:
        parsed = httpx.URL(url)
    except (httpx.InvalidURL, TypeError, ValueError) as error:
        raise OutgoingRefused("the address is no URL", next_step="Write https://host/path.") from error
    if parsed.scheme not in _DEFAULT_PORTS or not parsed.host:
        raise OutgoingRefused("the address is no http or https URL", next_step="Write https://host/path.")
    return parsed


def _cause(error: httpx.HTTPError) -> str:
    """What went wrong, in words that hold nothing of the address."""
    causes: dict[type[httpx.HTTPError], str] = {
        httpx.ConnectTimeout: "no connection in time",
        httpx.ConnectError: "no connection",
        httpx.TimeoutException: "no answer in time",
        httpx.RemoteProtocolError: "the connection ended before the answer",
    }
    said = next((text for kind, text in causes.items() if isinstance(error, kind)), "the connection broke")
    tls = error.__cause__ or error.__context__
    while tls is not None and not isinstance(tls, ssl.SSLCertVerificationError):
        tls = tls.__cause__ or tls.__context__
    return said if tls is None else f"its TLS certificate cannot be trusted ({tls.verify_message})"
