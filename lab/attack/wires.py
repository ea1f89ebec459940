"""Bytes on a connection as no client library would send them, and what comes back."""

import contextlib
import re
import socket
from collections.abc import Iterable, Iterator

from factories.loopback import LOOPBACK

QUIET_SECONDS = 2.0
"""A connection that says nothing for so long is given up. One that would have spoken later is a finding less, no false
one."""
_STATUS = re.compile(rb"HTTP/1\.[01] (\d{3}) ")
_MOST_BYTES = 4 << 20


def connect(port: int, *, quiet_seconds: float = QUIET_SECONDS) -> socket.socket:
    """A connection to the API."""
    return socket.create_connection((LOOPBACK, port), timeout=quiet_seconds)


def read_all(connection: socket.socket) -> bytes:
    """What comes until the other side ends, is quiet, or has said enough."""
    received = bytearray()
    with contextlib.suppress(OSError):
        while len(received) < _MOST_BYTES and (part := connection.recv(1 << 16)):
            received += part
    return bytes(received)


def exchange(port: int, parts: Iterable[bytes], *, quiet_seconds: float = QUIET_SECONDS) -> bytes:
    """Sends all parts, as far as the other side takes them, and returns what it said."""
    with connect(port, quiet_seconds=quiet_seconds) as connection:
        with contextlib.suppress(OSError):
            for part in parts:
                connection.sendall(part)
        return read_all(connection)


def statuses(said: bytes) -> list[int]:
    """The status of each answer on a connection."""
    return [int(found) for found in _STATUS.findall(said)]


def head(method: str, target: str, *lines: str, host: str = "localhost") -> bytes:
    """A request's head with these lines; no Host where it is empty."""
    first = [f"{method} {target} HTTP/1.1", *([f"Host: {host}"] if host else []), *lines]
    return ("\r\n".join(first) + "\r\n\r\n").encode("latin-1")


def chunks(part: bytes, most_bytes: int) -> Iterator[bytes]:
    """A chunked body that ends only where the suite does."""
    framed = f"{len(part):x}\r\n".encode() + part + b"\r\n"
    for _ in range(most_bytes // len(part)):
        yield framed
