"""Hundreds of clients that are slow in all ways, while others are answered."""

import contextlib
import resource
import selectors
import socket
from dataclasses import dataclass

from attack import wires
from attack.assault import Assault

_ROUNDS = 25


@dataclass(slots=True)
class Slow:
    """A client that sends a byte now and then."""

    connection: socket.socket
    rest: bytes
    sent: int = 0


def attack(assault: Assault) -> None:
    """Byte by byte: heads, bodies; and answers that nobody reads. Between the bytes others are answered."""
    count = assault.of(400, 80)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, 4096)), hard))
    clients = [_client(assault, number) for number in range(count)]
    readers = _never_reading(assault, assault.of(100, 20))
    try:
        for _ in range(assault.of(_ROUNDS, 4)):
            for client in clients:
                _next_byte(client)
            for path in ("/v1/fleet", "/v1/hosts", "/v1/status"):
                assault.ask("GET", path, expect=(200,), what=f"{path} beside {count} slow clients")
            answer = {"link": "tsl_x"}
            assault.ask("POST", "/v1/session", json=answer, expect=(401,), what="a login beside slow clients")
        assault.notes.append(f"{count} slow clients, {len(readers)} that read nothing")
    finally:
        for connection in [*(client.connection for client in clients), *readers]:
            connection.close()
    assault.requests += count + len(readers)


def _client(assault: Assault, number: int) -> Slow:
    length = "Content-Length: 1000"
    heads = (
        (wires.head("GET", "/v1/fleet", "X: " + "y" * 500), 0),
        (wires.head("POST", "/v1/session", "Content-Type: application/json", length) + b"[" * 1000, -1000),
        (wires.head("POST", "/v1/rules/backtest", "Transfer-Encoding: chunked") + b"1\r\n[\r\n" * 200, -1400),
        (
            wires.head(
                "POST",
                "/v1/ingest/batches",
                f"Authorization: Bearer {assault.arena.host.credential}",
                "Content-Type: application/x-protobuf",
                "Content-Encoding: zstd",
                length,
            )
            + b"\x28" * 1000,
            -1000,
        ),
    )
    whole, slow_from = heads[number % len(heads)]
    connection = wires.connect(assault.arena.api.port)
    begin = len(whole) + slow_from if slow_from else 0
    connection.sendall(whole[:begin])
    return Slow(connection, whole[begin:])


def _next_byte(client: Slow) -> None:
    # One that was answered and ended is over.
    with contextlib.suppress(OSError):
        client.connection.sendall(client.rest[client.sent : client.sent + 1])
        client.sent += 1


def _never_reading(assault: Assault, count: int) -> list[socket.socket]:
    """Each asks for large answers many times and takes none of them."""
    request = wires.head("GET", "/openapi.json") * 20
    made = []
    for _ in range(count):
        connection = wires.connect(assault.arena.api.port)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        with contextlib.suppress(OSError):
            connection.sendall(request)
        made.append(connection)
    with selectors.DefaultSelector() as answered:
        for connection in made:
            answered.register(connection, selectors.EVENT_READ)
        # From the first answer on the server is at the work that nobody will take.
        answered.select(wires.QUIET_SECONDS)
    return made
