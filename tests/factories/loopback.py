"""Servers of loopback in a thread, and ports of it."""

import contextlib
import secrets
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import BaseServer

LOOPBACK = "127.0.0.1"
_PORTS = range(12_000, 30_000)


class QuietHandler(BaseHTTPRequestHandler):
    """Logs nothing."""

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is the base class's
        """Requests are not logged."""


class KeepAliveHandler(QuietHandler):
    """Keeps connections open between requests, by HTTP/1.1."""

    protocol_version = "HTTP/1.1"


class QuietServer(ThreadingHTTPServer):
    """An HTTP server that says nothing where a client goes away before the answer."""

    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """Broken connections are what some tests are about."""


@contextmanager
def serving(server: BaseServer) -> Iterator[None]:
    """Answers requests in a thread while the block lasts."""
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)


@contextmanager
def listening(handler: type[BaseHTTPRequestHandler]) -> Iterator[int]:
    """Serve on a port of loopback that the kernel hands out; gives the port."""
    server = QuietServer((LOOPBACK, 0), handler)
    with serving(server):
        yield int(server.server_address[1])


def free_port() -> int:
    """A port of loopback that nobody listens on now, below those that the kernel hands out.

    A program takes a minute to start on a busy machine; until then nobody else should get its port.
    """
    while True:
        port = secrets.choice(_PORTS)
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind((LOOPBACK, port))
            return port
