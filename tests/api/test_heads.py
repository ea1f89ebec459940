"""Heads of requests are bounded, and a connection that ends takes all requests on it along."""

import socket
import threading
from collections.abc import Iterator
from contextlib import closing

import pytest
import uvicorn
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send

from factories.waiting import DEADLINE_SECONDS, until
from tierscope.api.base.server import MAX_HEAD_BYTES, BoundedProtocol

_LAST = b"Connection: close\r\n\r\n"
_GET = b"GET / HTTP/1.1\r\nHost: localhost\r\n"
_CHUNKED = b"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
_PART = b"y" * 4096


async def say_length(scope: Scope, receive: Receive, send: Send) -> None:
    """Answers with how many bytes the body has; at `/large` with more than a client takes that reads nothing."""
    assert scope["type"] == "http"
    body = await Request(scope, receive).body()
    text = "x" * (8 << 20) if scope["path"] == "/large" else str(len(body))
    await PlainTextResponse(text)(scope, receive, send)


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    config = uvicorn.Config(say_length, port=0, lifespan="off", log_config=None, http=BoundedProtocol)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    until(lambda: server.started, "the server starts")
    yield server.servers[0].sockets[0].getsockname()[1]
    server.should_exit = True
    thread.join()


def exchange(port: int, *parts: bytes) -> bytes:
    """Sends what the other side takes, and returns all that it says until it ends the connection."""
    received = b""
    with closing(socket.create_connection(("127.0.0.1", port), timeout=DEADLINE_SECONDS)) as connection:
        try:
            for part in parts:
                connection.sendall(part)
            while part := connection.recv(1 << 16):
                received += part
        except OSError:
            pass
    return received


@pytest.mark.parametrize(
    "parts",
    [
        [_GET, b"Cookie: ", *[_PART] * 14, b"\r\n", _LAST],
        [b"GET /", *[_PART] * 14, b" HTTP/1.1\r\nHost: localhost\r\n", _LAST],
        [_GET, *[b"X: y\r\n"] * 2000, _LAST],
    ],
)
def test_a_head_within_the_bound_is_answered(port: int, parts: list[bytes]) -> None:
    assert exchange(port, *parts).startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize(
    "parts",
    [
        [_GET, b"Cookie: " + b"y" * MAX_HEAD_BYTES + b"\r\n" + _LAST],
        [_GET, b"Cookie: ", *[_PART] * 10_000],
        [b"GET /", *[_PART] * 10_000],
        [b"GET /" + b"y" * MAX_HEAD_BYTES + b" HTTP/1.1\r\nHost: localhost\r\n" + _LAST],
        [_GET, *[b"X: y\r\n"] * 300_000],
        [_CHUNKED, b"1\r\nx\r\n0\r\n", b"X: ", *[_PART] * 10_000],
        [_CHUNKED, b"1;", *[_PART] * 10_000],
    ],
)
def test_a_head_beyond_it_ends_the_connection(port: int, parts: list[bytes]) -> None:
    said = exchange(port, *parts)
    # What was said may be lost where more is sent than is taken.
    assert said == b"" or said.startswith(b"HTTP/1.1 431")


def test_bodies_are_not_heads(port: int) -> None:
    long = b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n" % (4096 * 300)
    said = exchange(port, long, b"\r\n", *[_PART] * 300, _GET, _LAST)
    assert said.count(b"HTTP/1.1 200") == 2
    assert b"\r\n\r\n1228800HTTP" in said
    chunks = [b"1000\r\n" + _PART + b"\r\n"] * 300
    assert b"\r\n\r\n1228800" in exchange(port, _CHUNKED.replace(b"\r\n\r\n", b"\r\n" + _LAST), *chunks, b"0\r\n\r\n")


def test_several_heads_together_may_be_longer(port: int) -> None:
    head = _GET + b"Cookie: " + b"y" * 30_000 + b"\r\n"
    assert exchange(port, *[head + b"\r\n"] * 9, head + _LAST).count(b"HTTP/1.1 200") == 10


def test_a_client_that_goes_away_leaves_no_error_behind(port: int, caplog: pytest.LogCaptureFixture) -> None:
    for _ in range(20):
        with closing(socket.create_connection(("127.0.0.1", port), timeout=DEADLINE_SECONDS)) as connection:
            connection.sendall((_GET.replace(b"/ ", b"/large ", 1) + b"\r\n") * 50)
            connection.recv(1)
    assert exchange(port, _GET, _LAST).startswith(b"HTTP/1.1 200")
    assert [record for record in caplog.records if record.levelname == "ERROR"] == []


def test_an_answer_comes_with_its_head_and_after_the_word_to_go_on(port: int) -> None:
    with closing(socket.create_connection(("127.0.0.1", port), timeout=DEADLINE_SECONDS)) as connection:
        for _ in range(20):
            connection.sendall(_GET + b"\r\n")
            assert connection.recv(1 << 16).endswith(b"\r\n\r\n0")
        connection.sendall(b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n")
        assert connection.recv(1 << 16) == b"HTTP/1.1 100 Continue\r\n\r\n"
        connection.sendall(b"yyy")
        assert connection.recv(1 << 16).endswith(b"\r\n\r\n3")
        connection.sendall(b"GET /large HTTP/1.1\r\nHost: localhost\r\n" + _LAST)
        received = b"".join(iter(lambda: connection.recv(1 << 20), b""))
        assert received.endswith(b"x" * (8 << 20))
