"""A page reaches the service through a name of its own: no answer under foreign names, whatever else a request says."""

from collections.abc import Iterator

from attack import wires
from attack.assault import Assault
from factories.waiting import DEADLINE_SECONDS

_FOREIGN = (
    "evil.example",
    "evil.example:8480",
    "localhost.",
    "localhost.evil.example",
    "127.0.0.1.evil.example",
    "evil.example@localhost",
    "localhost@evil.example",
    "[::1].evil.example",
    "[::1",
    "0x7f000001",
    "2130706433",
    "127.1",
    "localhost evil.example",
    "localhost,evil.example",
    "localhost/evil",
    "evil.example#localhost",
    "xn--localhost",
    "*",
    "\xff",
)
_BY_ADDRESS = ("10.0.0.1", "169.254.169.254:80", "[fe80::1]", "0.0.0.0")  # noqa: S104 - names in headers
_ALLOWED_BY_ADDRESS = ("/healthz", "/readyz")
_PATHS = (
    "/",
    "/healthz",
    "/readyz",
    "/metrics",
    "/metrics/fleet",
    "/openapi.json",
    "/v1/fleet",
    "/v1/hosts",
    "/v1/services",
    "/v1/session",
    "/v1/events",
    "/v1/status",
    "/v1/login/methods",
    "/login",
    "/assets/x.js",
    "/v1/rules/export",
    "/v1/series",
)
_TOKENS = (
    "",
    "Authorization: Bearer \xa0",
    "Authorization: Bearer x",
    "Authorization: Bearer   ",
    "Authorization: Basic YTpi",
)
_LINES = ("", "X-Forwarded-Host: localhost", "Forwarded: host=localhost", "X-Forwarded-For: 127.0.0.1")
_ANSWERED = range(200, 400)


def attack(assault: Assault) -> None:
    """Each path under each name; what is answered well was not to be."""
    for path in assault.some(_PATHS, 5):
        for what, request in assault.some(_requests(path), 24):
            said = assault.exchange([request], f"{path}: {what}", quiet_seconds=wires.QUIET_SECONDS)
            if any(status in _ANSWERED for status in wires.statuses(said)):
                assault.found(f"{path} answered {wires.statuses(said)} to {what}")
    request = wires.head("GET", "/v1/fleet", "Connection: close")
    control = wires.statuses(assault.exchange([request], "a control", quiet_seconds=DEADLINE_SECONDS))
    if control != [200]:
        assault.found(f"the control, asked under localhost, was answered {control}")


def _requests(path: str) -> Iterator[tuple[str, bytes]]:
    """Requests that nobody may have an answer to."""
    close = "Connection: close"
    for name in _FOREIGN:
        for token in _TOKENS:
            for line in _LINES:
                lines = [one for one in (token, line, close) if one]
                yield f"Host {name!r} with {token!r} and {line!r}", wires.head("GET", path, *lines, host=name)
    for name in () if path in _ALLOWED_BY_ADDRESS else _BY_ADDRESS:
        lines = [_TOKENS[1], close] if path.startswith("/metrics") else [close]
        yield f"Host {name!r}", wires.head("GET", path, *lines, host=name)
    yield "two Hosts", wires.head("GET", path, "Host: evil.example", close)
    yield "two Hosts, ours last", wires.head("GET", path, "Host: localhost", close, host="evil.example")
    yield "an absolute address", wires.head("GET", f"http://localhost{path}", close, host="evil.example")
    yield "a folded Host", wires.head("GET", path, "X: y\r\n Host: localhost", close, host="evil.example")
    yield "a foreign Origin", wires.head("GET", path, "Origin: http://evil.example", close)
    if path not in _ALLOWED_BY_ADDRESS:
        yield "no Host", wires.head("GET", path, close, host="")
