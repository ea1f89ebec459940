"""Requests that two readers understand in two ways: none that is hidden in another is ever answered."""

from collections.abc import Iterator

from attack import wires
from attack.assault import Assault
from factories.waiting import DEADLINE_SECONDS

_MARK = "/v1/hidden-in-another"
_HIDDEN = wires.head("GET", _MARK)
_CLOSE = wires.head("GET", "/healthz", "Connection: close")
_MIB = 1 << 20
_ENDLESS_HEAD_BYTES = 96 * _MIB
_ODD_NAMES = (
    "Transfer-Encoding ",
    " Transfer-Encoding",
    "Transfer_Encoding",
    "Transfer-Encoding\x00",
    "X: y\nTransfer-Encoding",
)
_ODD_LENGTHS = ("2, 2", "2,0", "+2", "-2", "0x2", "2 2", "2\x00", "2.0", "\xd9\xa2", "", "2e0")
_ODD_SIZES = (
    "10000000000000002",
    "ffffffffffffffff0",
    "-2",
    "+2",
    "0x2",
    "2 ",
    "2;" + "x" * 70_000,
    "",
    "g",
    "2\n",
    "00000000000000000000002",
)


def attack(assault: Assault) -> None:
    """Hidden requests, then heads that are too long, then what is no HTTP."""
    three = [wires.head("GET", "/healthz"), _HIDDEN, _CLOSE]
    control = assault.exchange(three, "a control", quiet_seconds=DEADLINE_SECONDS)
    if len(wires.statuses(control)) != 3 or _MARK.encode() not in control:
        assault.found(f"three requests one after the other were answered {wires.statuses(control)}")
    for name, request in assault.some(_ambiguous(), 20):
        said = assault.exchange([request, _CLOSE], name)
        if _MARK.encode() in said:
            assault.found(f"{name}: the hidden request was answered {wires.statuses(said)}")
        if len(wires.statuses(said)) > 2:
            assault.found(f"{name}: two requests were answered {len(wires.statuses(said))} times")
    for name, parts in assault.some(_heads(), 4):
        said = assault.exchange([*parts], name)
        if any(status < 400 for status in wires.statuses(said)):
            assault.found(f"{name}: answered {wires.statuses(said)}")
    for name, request in assault.some(_strange(), 6):
        assault.exchange([request], name)
    _endless(assault)


def _post(*lines: str, body: bytes) -> bytes:
    return wires.head("POST", "/v1/session", "Content-Type: application/json", *lines) + body


def _ambiguous() -> Iterator[tuple[str, bytes]]:
    """A request whose end depends on who reads it, with another one behind the nearer end."""
    yield from _encodings()
    yield from _lengths()
    yield from _chunk_sizes()
    yield from _lines()


def _encodings() -> Iterator[tuple[str, bytes]]:
    chunked = b"0\r\n\r\n" + _HIDDEN
    length = f"Content-Length: {len(chunked)}"
    short = "Content-Length: 4"
    whole = b"%x\r\n" % len(_HIDDEN) + _HIDDEN + b"\r\n0\r\n\r\n"
    for value in (
        "chunked",
        " chunked",
        "chunked ",
        "Chunked",
        "xchunked",
        "chunked, identity",
        "identity, chunked",
        "identity",
        "chunked;q=1",
        "\tchunked",
        "\x0bchunked",
        '"chunked"',
        "chunked\r\nTransfer-Encoding: identity",
        "identity\r\nTransfer-Encoding: chunked",
        "\r\n chunked",
        "gzip, chunked",
        "chunked, chunked",
        "",
    ):
        yield f"a length and Transfer-Encoding {value!r}", _post(length, f"Transfer-Encoding: {value}", body=chunked)
        yield f"Transfer-Encoding {value!r} and a length", _post(f"Transfer-Encoding: {value}", short, body=whole)
    for name in _ODD_NAMES:
        yield f"a header {name!r}", _post(length, f"{name}: chunked", body=chunked)


def _lengths() -> Iterator[tuple[str, bytes]]:
    body = b"{}" + _HIDDEN
    for lengths in _ODD_LENGTHS:
        yield f"a length of {lengths!r}", _post(f"Content-Length: {lengths}", body=body)
    yield "two lengths", _post("Content-Length: 2", f"Content-Length: {len(body)}", body=body)
    yield "two lengths, the longer first", _post(f"Content-Length: {len(body)}", "Content-Length: 2", body=body)
    yield "a length beyond 64 bits", _post(f"Content-Length: {(1 << 64) + 2}", body=body)
    yield "a request in the body", _post(f"Content-Length: {len(_HIDDEN)}", body=_HIDDEN)
    yield "a request in the body of a GET", wires.head("GET", "/healthz", f"Content-Length: {len(_HIDDEN)}") + _HIDDEN


def _chunk_sizes() -> Iterator[tuple[str, bytes]]:
    for size in _ODD_SIZES:
        body = size.encode() + b"\r\n{}\r\n0\r\n\r\n"
        yield f"a chunk of {size[:24]!r}", _post("Transfer-Encoding: chunked", body=body + b"x")
    yield "a chunk without its end", _post("Transfer-Encoding: chunked", body=b"2\r\n{}XX0\r\n\r\n" + _HIDDEN)
    yield "a chunk that ends with LF", _post("Transfer-Encoding: chunked", body=b"2\n{}\n0\n\n" + _HIDDEN)
    trailer = b"0\r\nContent-Length: 100\r\nX: " + b"y" * 1000 + b"\r\n\r\n"
    yield "a trailer", _post("Transfer-Encoding: chunked", body=b"2\r\n{}\r\n" + trailer)


def _lines() -> Iterator[tuple[str, bytes]]:
    """Ends of lines that are none."""
    bare = b"GET /healthz HTTP/1.1\nHost: localhost\nX: y\n\n"
    yield "LF alone", bare.replace(b"X: y", b"Content-Length: %d" % len(_HIDDEN)) + _HIDDEN
    yield "CR alone", b"GET /healthz HTTP/1.1\rHost: localhost\r\r" + _HIDDEN.replace(b"\n", b"")
    yield "a header that goes on", wires.head("GET", "/healthz", "X: y\r\n GET " + _MARK + " HTTP/1.1")
    yield "NUL in a header", wires.head("GET", "/healthz", "X: a\x00\r\n", "Connection: close")
    yield (
        "a space before the colon",
        wires.head("POST", "/v1/session", f"Content-Length : {len(_HIDDEN)}") + _HIDDEN[:0],
    )
    yield "a header without a colon", wires.head("GET", "/healthz", "GET " + _MARK)


def _heads() -> Iterator[tuple[str, list[bytes]]]:
    """Heads that nobody means."""
    close = "Connection: close"
    yield "a request line of 1 MiB", [wires.head("GET", "/v1/" + "x" * _MIB, close)]
    yield "a query of 1 MiB", [wires.head("GET", "/v1/hosts?cursor=" + "x" * _MIB, close)]
    yield "a header of 1 MiB", [wires.head("GET", "/v1/fleet", "X: " + "y" * _MIB, close)]
    yield "a name of 1 MiB", [wires.head("GET", "/v1/fleet", "x" * _MIB + ": y", close)]
    yield "100,000 headers", [wires.head("GET", "/v1/fleet", *(f"X-{n}: y" for n in range(100_000)), close)]
    yield "one header 100,000 times", [wires.head("GET", "/v1/fleet", *["Cookie: a=b"] * 100_000, close)]
    yield "a method of 1 MiB", [wires.head("G" * _MIB, "/v1/fleet", close)]


def _endless(assault: Assault) -> None:
    """Heads without end: the server stops to take them long before the suite stops to send them."""
    part, line = b"y" * (1 << 16), b"X: " + b"y" * 4000 + b"\r\n"
    for name, begin, piece in assault.some(
        (
            ("a request line without end", b"GET /", part),
            ("a header without end", b"GET /v1/fleet HTTP/1.1\r\nHost: localhost\r\nX: ", part),
            ("headers without end", b"GET /v1/fleet HTTP/1.1\r\nHost: localhost\r\n", line),
            (
                "trailers without end",
                _post("Transfer-Encoding: chunked", body=b"0\r\n"),
                line,
            ),
        ),
        2,
    ):
        sent = _sent_until_refused(assault, name, begin, piece)
        if sent >= _ENDLESS_HEAD_BYTES:
            assault.found(f"{name}: {sent >> 20} MiB of it were taken")


def _sent_until_refused(assault: Assault, name: str, begin: bytes, piece: bytes) -> int:
    sent = 0
    with wires.connect(assault.arena.api.port) as connection:
        try:
            connection.sendall(begin)
            while sent < _ENDLESS_HEAD_BYTES:
                connection.sendall(piece)
                sent += len(piece)
        except OSError:
            pass
        assault.count(wires.statuses(wires.read_all(connection)) if sent < _ENDLESS_HEAD_BYTES else [], name)
    return sent


def _strange() -> Iterator[tuple[str, bytes]]:
    """What is no HTTP, or none that is spoken here."""
    yield "HTTP/2", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes(100)
    yield "TLS", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(500)
    yield "HTTP/0.9", b"GET /\r\n"
    yield "HTTP/1.0 without Host", b"GET /v1/fleet HTTP/1.0\r\n\r\n"
    yield "HTTP/9.9", b"GET / HTTP/9.9\r\nHost: localhost\r\n\r\n"
    yield "a proxy's request", b"CONNECT 169.254.169.254:80 HTTP/1.1\r\nHost: localhost\r\n\r\n"
    yield "an upgrade", wires.head("GET", "/v1/fleet", "Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c")
    key = "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA=="
    yield (
        "a web socket",
        wires.head("GET", "/v1/fleet", "Connection: Upgrade", "Upgrade: websocket", key, "Sec-WebSocket-Version: 13"),
    )
    yield "an asterisk", wires.head("OPTIONS", "*", "Connection: close")
    yield "a method of one's own", wires.head("BREAK", "/v1/fleet", "Connection: close")
    yield "a method in lower case", wires.head("get", "/v1/fleet", "Connection: close")
    yield (
        "an expectation",
        wires.head("POST", "/v1/session", "Expect: 100-continue", "Content-Length: 2", "Connection: close"),
    )
    yield "an expectation of nonsense", wires.head("POST", "/v1/session", "Expect: 999", "Content-Length: 2") + b"{}"
    yield "spaces in the address", wires.head("GET", "/ /v1/fleet HTTP/1.1", "Connection: close")
    yield "bytes in the address", wires.head("GET", "/\xff\xfe\x80", "Connection: close")
    yield "nothing", b"\r\n" * 10_000
    yield "zeros", bytes(100_000)
