"""Servers of loopback in a thread, and ports of it."""

import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import BaseServer

LOOPBACK = "127.0.0.1"
NO_AUTHORITIES = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
"""What a client of plain HTTP needs not: reading the system's certificates takes it longer than most requests."""


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
        thread.join()


@contextmanager
def listening(handler: type[BaseHTTPRequestHandler]) -> Iterator[int]:
    """Serve on a port of loopback that the kernel hands out; gives the port."""
    server = QuietServer((LOOPBACK, 0), handler)
    with serving(server):
        yield int(server.server_address[1])


def free_port() -> int:
    """A port of loopback that nobody listens on, and that is given to nobody else while this process lives.

    A socket that never listens holds it: the kernel hands the port out to nobody, and yet lets a program listen there
    that asks for the port by its number and with `SO_REUSEADDR`, as servers do. It may also end and start again.
    """
    holder = socket.socket()
    holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    holder.bind((LOOPBACK, 0))
    port = int(holder.getsockname()[1])
    holder.detach()  # it stays open until this process ends
    return port
