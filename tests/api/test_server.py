"""The server's own loop: idle until a signal."""

from __future__ import annotations

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
