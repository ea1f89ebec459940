"""The server's own loop: idle until a signal."""

import asyncio
import signal
import socket

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


@pytest.mark.parametrize("reads", [False, True])
def test_a_client_that_reads_nothing_loses_its_answer(monkeypatch: pytest.MonkeyPatch, *, reads: bool) -> None:
    """Each look is one turn of the loop; who reads a part between two of them is served on."""
    looks: list[int] = []
    monkeypatch.setattr(server_module, "STALLED_SECONDS", 0.0)

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
            if reads or len(looks) == 1:
                theirs.recv(1 << 22)
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

    assert asyncio.run(answer()) is not reads
