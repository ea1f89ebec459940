"""The HTTP server: uvicorn, with a loop that waits for a signal where uvicorn's looks for one ten times a second.

It bounds how many connections stand, how much of answers waits to be read, and how long the head of a request may be.
By itself uvicorn holds a first line or a header of any length before anyone is asked, and joins it again with every
part that comes, so that megabytes of one header keep everybody waiting.
"""

from __future__ import annotations

import asyncio
import contextlib
import resource
import sys
from types import FrameType
from typing import TYPE_CHECKING, cast

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

if TYPE_CHECKING:
    from uvicorn._types import ASGI3Application

MAX_HEAD_BYTES = 64 << 10
"""Of the first line and all headers together; of what stands between two parts of a body, such as trailers, too."""
KEEP_ALIVE_SECONDS = 120
"""How long a connection may be idle: longer than the rhythm of senders, and than the 90 s after which Go's own client
ends one. An end that crosses a request breaks it, and the sender has to repeat it."""
_CONNECTIONS_KEPT = 1000
_CROWDED_SECONDS = 5
"""The same where more connections are open than that: each holds memory and a descriptor."""
MOST_CONNECTIONS = 4096
"""Of more, one ends that asks nothing, the oldest first: whoever opens connections keeps nobody else out."""
_OTHER_DESCRIPTORS = 256
"""What a process opens beside connections: the database, files, its log."""
STALLED_SECONDS = 30.0
"""A client that reads nothing of its answer for so long is not served any more: the answer is held for it."""
CROWDED_BYTES = 64 << 20
_CROWDED_STALLED_SECONDS = 2.0
"""The same where answers of so many bytes are held."""
_CROWDED_READ_BYTES = 256 << 10
"""What a client has to read between two looks then: who reads a byte now and then has an answer held, too."""
MOST_HELD_BYTES = 256 << 20
"""Of all answers together. Beyond it who has read for longest loses what is left of its answer."""
_REFUSAL = b"HTTP/1.1 431 Request Header Fields Too Large\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
_CONTINUE = b"HTTP/1.1 100 "
_JOINED_BYTES = 16 << 10
"""The longest part of a body that is copied to go with the head."""
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
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)  # on Linux never without end
    wanted = max(soft, min(MOST_CONNECTIONS + _OTHER_DESCRIPTORS, hard))
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    server = QuietServer(config)
    server.run()
    if not server.started:
        sys.exit(_STARTUP_FAILURE)


def _connections_bound() -> int:
    """How many connections may be open: fewer where the process may not open so many files."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return min(MOST_CONNECTIONS, max(1, soft - _OTHER_DESCRIPTORS))


class _HeadTooLongError(Exception):
    """More than the bound; the parser hands it on as an error of its own."""


class _HeadWithBody:
    """What a request writes through: the head of its answer goes with the first part of the body, in one packet.

    Nothing waits for long: uvicorn is told of a head by those who have a body in their hands.
    """

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._head: bytes | None = None
        self._begun = False

    def write(self, data: bytes) -> None:
        """Takes the next part of an answer."""
        if not self._begun and not data.startswith(_CONTINUE):
            self._begun, self._head = True, data
        elif self._head is None:
            self._transport.write(data)
        else:
            head, self._head = self._head, None
            if len(data) > _JOINED_BYTES:
                self._transport.write(head)
                self._transport.write(data)
            else:
                self._transport.write(head + data)

    def close(self) -> None:
        """Ends the connection once everything is written."""
        if self._head is not None:
            self._transport.write(self._head)
            self._head = None
        self._transport.close()

    def is_closing(self) -> bool:
        """Whether the connection ends."""
        return self._transport.is_closing()


class BoundedProtocol(HttpToolsProtocol):
    """One connection."""

    _pending_bytes = 0
    """What came since the last part of a message was whole."""
    _got_on = False
    _too_long = False
    _running: RequestResponseCycle | None = None
    looking: asyncio.TimerHandle | None = None
    _made_at = 0.0
    paused_at = 0.0
    """By the loop's clock: since when its client reads an answer that is held."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn's own
        """Takes a connection, and ends another one where there are too many."""
        super().connection_made(transport)
        self._made_at = self.loop.time()
        if len(self.connections) > _connections_bound():
            others = (one for one in self._all() if one is not self)
            for one in sorted(others, key=BoundedProtocol._worth)[:1]:
                one.transport.abort()

    def _worth(self) -> tuple[int, float]:
        """What is ended first: who never asked, then who waits for its next question, then who is answered."""
        asked = 0 if self._running is None else 1 if self._running.response_complete else 2
        return asked, self._made_at

    def data_received(self, data: bytes) -> None:
        """Takes what came, unless it is the middle of a head that is too long."""
        self._got_on = False
        super().data_received(data)
        self._pending_bytes = 0 if self._got_on else self._pending_bytes + len(data)
        if self._pending_bytes > MAX_HEAD_BYTES and not self.transport.is_closing():
            self._refuse()

    def pause_writing(self) -> None:
        """The client reads more slowly than the answer comes: look whether it reads at all."""
        super().pause_writing()
        self._stop_looking()
        self.paused_at = self.loop.time()
        held = [one for one in self._all() if one.looking is not None or one is self]
        if sum(one.transport.get_write_buffer_size() for one in held) > MOST_HELD_BYTES:
            min(held, key=lambda one: one.paused_at).transport.abort()
        self._look_again(None)

    def resume_writing(self) -> None:
        """The client has read most of it."""
        super().resume_writing()
        self._stop_looking()

    def _look_again(self, before: int | None) -> None:
        held = self.transport.get_write_buffer_size()
        crowded = sum(one.transport.get_write_buffer_size() for one in self._all()) > CROWDED_BYTES
        if before is not None and before - held < (_CROWDED_READ_BYTES if crowded else 1):
            self.transport.abort()
            return
        seconds = _CROWDED_STALLED_SECONDS if crowded else STALLED_SECONDS
        self.looking = self.loop.call_later(seconds, self._look_again, held)

    def _all(self) -> list[BoundedProtocol]:
        ours = (one for one in self.connections if isinstance(one, BoundedProtocol))
        return [one for one in ours if not one.transport.is_closing() or one.transport.get_write_buffer_size()]

    def _stop_looking(self) -> None:
        if self.looking is not None:
            self.looking.cancel()
            self.looking = None

    def on_response_complete(self) -> None:
        """An answer is whole: from here on the connection is idle."""
        crowded = len(self.connections) > _CONNECTIONS_KEPT
        self.timeout_keep_alive = min(
            self.config.timeout_keep_alive, _CROWDED_SECONDS if crowded else KEEP_ALIVE_SECONDS
        )
        super().on_response_complete()

    def on_message_begin(self) -> None:
        """A request begins."""
        self._got_on = True
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """A head is whole."""
        self._got_on = True
        if len(self.url) + sum(len(name) + len(value) for name, value in self.headers) > MAX_HEAD_BYTES:
            self._too_long = True
            raise _HeadTooLongError
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """A part of a body."""
        self._got_on = True
        super().on_body(body)

    def send_400_response(self, msg: str) -> None:
        """Answers what the parser refused."""
        if self._too_long:
            self._refuse()
        else:
            super().send_400_response(msg)

    def _refuse(self) -> None:
        # In the middle of another answer it would be read as a part of it.
        if self._running is None or self._running.response_complete:
            self.transport.write(_REFUSAL)
        self.transport.close()

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: ASGI3Application) -> None:
        self._running = cycle
        cycle.transport = cast("asyncio.Transport", _HeadWithBody(cycle.transport))
        super()._start_asgi_task(cycle, app)

    def connection_lost(self, exc: Exception | None) -> None:
        """Ends what was asked on it: with several requests one behind another, uvicorn tells the newest alone."""
        self.pipeline.clear()
        self._stop_looking()
        super().connection_lost(exc)
        if self._running is not None and not self._running.response_complete:
            self._running.disconnected = True
            self._running.message_event.set()
