"""The HTTP server: uvicorn, with a loop that waits for a signal where uvicorn's looks for one ten times a second."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from types import FrameType

import uvicorn

_DATE_SECONDS = 1.0
"""How long the Date of answers may stand: its resolution is a second."""
_STARTUP_FAILURE = 3


class QuietServer(uvicorn.Server):
    """One server process, idle while nobody asks."""

    _loop: asyncio.AbstractEventLoop | None = None

    async def main_loop(self) -> None:
        """Keep the Date of answers until a signal ends the server."""
        self._signalled = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        while not await self.on_tick(0):
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._signalled.wait(), _DATE_SECONDS)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Note a signal and wake the loop."""
        super().handle_exit(sig, frame)
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._signalled.set)


def serve(config: uvicorn.Config) -> None:
    """Serve until a signal. Exits with 3 where the server cannot start, as uvicorn's own command does."""
    server = QuietServer(config)
    server.run()
    if not server.started:
        sys.exit(_STARTUP_FAILURE)
