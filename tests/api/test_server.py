"""The server's own loop: idle until a signal."""

import asyncio
import contextlib
import resource
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from types import SimpleNamespace
from typing import Any, cast

import pytest
import uvicorn
from uvicorn.server import ServerState

from tierscope.api.base import server as server_module
from tierscope.api.base.server import KEEP_ALIVE_SECONDS, BoundedProtocol, QuietServer


async def _nothing(*_: object) -> None:
    """An application that is never asked."""


class _Signalled(QuietServer):
    """A server that gets its signal while its loop waits."""

    async def on_tick(self, counter: int) -> bool:
        """As the server does, and have the signal come next."""
        asyncio.get_running_loop().call_soon(self.handle_exit, signal.SIGTERM, None)
        return await super().on_tick(counter)


def test_a_signal_ends_the_loop_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """It would take an hour if the loop looked for the signal when its time is over."""
    monkeypatch.setattr(server_module, "_DATE_SECONDS", 3600.0)
    server = _Signalled(uvicorn.Config(_nothing, log_config=None))
    asyncio.run(server.main_loop())
    assert server.should_exit


def test_a_signal_before_the_loop_counts() -> None:
    server = QuietServer(uvicorn.Config(_nothing, log_config=None))
    server.handle_exit(signal.SIGTERM, None)
    asyncio.run(server.main_loop())
    assert not server.force_exit


async def _unasked(scope: object, receive: object, send: object) -> None:
    """An application that is never asked, and is no factory."""


@pytest.mark.parametrize(("others", "seconds"), [(0, 120), (999, 120), (1000, 5)])
def test_idle_connections_are_kept_for_as_long_as_there_are_few(others: int, seconds: int) -> None:
    async def answer() -> float:
        config = uvicorn.Config(_unasked, log_config=None, http=BoundedProtocol)
        config.timeout_keep_alive = KEEP_ALIVE_SECONDS
        config.load()
        state = ServerState()
        protocol = BoundedProtocol(config, state, {}, asyncio.get_running_loop())
        ours, theirs = socket.socketpair()
        with ours, theirs:
            transport, _ = await asyncio.get_running_loop().connect_accepted_socket(lambda: protocol, ours)
            state.connections.update(object() for _ in range(others))  # type: ignore[misc]
            protocol.on_response_complete()
            transport.close()
            return protocol.timeout_keep_alive

    assert asyncio.run(answer()) == seconds


@pytest.mark.parametrize(
    ("reads_bytes", "crowded", "ends"), [(0, False, True), (1 << 22, False, False), (1 << 12, True, True)]
)
def test_a_client_that_reads_nothing_loses_its_answer(
    monkeypatch: pytest.MonkeyPatch, reads_bytes: int, *, crowded: bool, ends: bool
) -> None:
    """Each look is one turn of the loop; who reads a part between two of them is served on, if it is enough."""
    looks: list[int] = []
    monkeypatch.setattr(server_module, "STALLED_SECONDS", 0.0)
    if crowded:
        monkeypatch.setattr(server_module, "CROWDED_BYTES", 0)

    async def answer() -> bool:
        loop = asyncio.get_running_loop()
        config = uvicorn.Config(_unasked, log_config=None, http=BoundedProtocol)
        config.load()
        protocol = BoundedProtocol(config, ServerState(), {}, loop)
        look = protocol._look_again
        ours, theirs = socket.socketpair()
        theirs.settimeout(0)
        gone, enough = loop.create_future(), loop.create_future()
        lost = protocol.connection_lost

        def noted(before: int | None) -> None:
            looks.append(0)
            if len(looks) == 20:
                enough.set_result(None)
            if len(looks) == 1:
                theirs.recv(1 << 22)
            elif reads_bytes:
                theirs.recv(reads_bytes)
            loop.call_soon(loop.call_soon, loop.call_soon, look, before)

        def told(error: Exception | None) -> None:
            lost(error)
            gone.set_result(None)

        monkeypatch.setattr(protocol, "_look_again", noted)
        monkeypatch.setattr(protocol, "connection_lost", told)
        with theirs:
            transport, _ = await loop.connect_accepted_socket(lambda: protocol, ours)
            transport.write(b"x" * (4 << 20))
            await asyncio.wait([gone, enough], return_when=asyncio.FIRST_COMPLETED)
            ended = not enough.done()
            transport.abort()
            await gone
            return ended

    assert asyncio.run(answer()) is ends


@contextlib.asynccontextmanager
async def _connected(count: int) -> AsyncIterator[tuple[list[BoundedProtocol], Callable[[], Awaitable[None]]]]:
    """Connections of one server in the order in which they came, and how one more comes."""
    loop, state, sockets = asyncio.get_running_loop(), ServerState(), contextlib.ExitStack()
    config = uvicorn.Config(_unasked, log_config=None, http=BoundedProtocol)
    config.load()
    made: list[BoundedProtocol] = []

    async def connect() -> None:
        ours, theirs = socket.socketpair()
        sockets.enter_context(theirs)
        made.append(BoundedProtocol(config, state, {}, loop))
        await loop.connect_accepted_socket(lambda: made[-1], ours)

    for _ in range(count):
        await connect()
    with sockets:
        yield made, connect
        for one in made:
            one.transport.abort()
        told = loop.create_future()  # once the connections are lost
        loop.call_soon(told.set_result, None)
        await told


def test_of_too_many_connections_the_oldest_that_never_asked_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_module, "_connections_bound", lambda: 4)

    async def ended() -> list[list[bool]]:
        async with _connected(4) as (made, connect):
            for one, complete in zip(made, (True, False, None, None), strict=True):
                one._running = None if complete is None else cast("Any", SimpleNamespace(response_complete=complete))
            found = []
            for _ in range(4):
                await connect()
                found.append([one.transport.is_closing() for one in made[:4]])
                made[-1]._running = made[1]._running
            for one in made:
                one._running = None
            return found

    first_answered = [True, False, True, True]
    assert asyncio.run(ended()) == [[False, False, True, False], [False, False, True, True], first_answered, [True] * 4]


def test_answers_that_are_held_have_a_bound_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_module, "MOST_HELD_BYTES", 6 << 20)

    async def ended() -> list[list[bool]]:
        async with _connected(3) as (made, _):
            found = []
            for one in made:
                one.transport.write(b"x" * (4 << 20))
                found.append([other.transport.is_closing() for other in made])
            return found

    assert asyncio.run(ended()) == [[False, False, False], [True, False, False], [True, True, False]]


def test_a_server_may_open_as_many_files_as_it_takes_connections() -> None:
    code = (
        "import resource; from unittest.mock import patch; from tierscope.api.base import server;"
        " resource.setrlimit(resource.RLIMIT_NOFILE, (300, resource.getrlimit(resource.RLIMIT_NOFILE)[1]));"
        " before = server._connections_bound();"
        " patch.object(server, 'QuietServer').start(); server.serve(None);"
        " print(before, server._connections_bound())"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    assert told == ["44", str(min(4096, hard - 256))]
