"""A TCP proxy on loopback that behaves as badly as it is told to, and taps what it passes on."""

import asyncio
import contextlib
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Literal

from factories.loopback import LOOPBACK
from factories.waiting import DEADLINE_SECONDS
from faults.tap import Messages, Tap

_CHUNK_BYTES = 16 << 10
_RESET = struct.pack("ii", 1, 0)

Answers = Literal["pass", "lose", "truncate"]
Requests = Literal["pass", "reset", "hold"]


@dataclass(slots=True)
class Weather:
    """How the network is. Changes hold for what is passed on from then on."""

    cut: bool = False
    """Connections are reset, new ones at once."""
    delay_seconds: float = 0.0
    """Before each piece of data."""
    bytes_per_second: int | None = None
    answers: Answers = "pass"
    """`lose`: the service answers and the client hears nothing; `truncate`: it hears half."""
    requests: Requests = "pass"
    """`reset`: the connection breaks in the middle of a body; `hold`: the network swallows everything."""


@dataclass(slots=True)
class Proxy:
    """A running proxy from `port` to `target_port`."""

    target_port: int
    port: int = 0
    weather: Weather = field(default_factory=Weather)
    tap: Tap = field(default_factory=Tap)
    _writers: set[asyncio.StreamWriter] = field(default_factory=set)
    _loop: asyncio.AbstractEventLoop | None = None

    @property
    def url(self) -> str:
        """Where clients connect to."""
        return f"http://{LOOPBACK}:{self.port}"

    def change(self, weather: Weather) -> None:
        """Sets the weather; a cut breaks what is open."""
        self.weather = weather
        if weather.cut and self._loop is not None:
            self._loop.call_soon_threadsafe(self._break_all)

    def lead_to(self, port: int) -> None:
        """Leads to another server from now on; what is open to the old one breaks."""
        self.target_port = port
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._break_all)

    def _break_all(self) -> None:
        for writer in list(self._writers):
            _reset(writer)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection of a client, until either side ends it."""
        self._writers.add(writer)
        upstream: asyncio.StreamWriter | None = None
        try:
            if self.weather.cut:
                return
            # The end of the proxy cancels this; Python 3.11 would print that as an error.
            with contextlib.suppress(OSError, asyncio.CancelledError):
                back, upstream = await asyncio.open_connection(LOOPBACK, self.target_port)
                pumps = [self._requests(reader, upstream), self._answers(back, writer)]
                tasks = [asyncio.ensure_future(pump) for pump in pumps]
                _, rest = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
                for task in rest:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)
        finally:
            self._writers.discard(writer)
            _reset(writer)
            if upstream is not None:
                _reset(upstream)

    async def _requests(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        messages = Messages()
        while data := await reader.read(_CHUNK_BYTES):
            await self._slow_down(len(data))
            if self.weather.requests == "hold":
                continue
            if self.weather.requests == "reset":
                writer.write(data[: len(data) // 2])
                await writer.drain()
                return
            for message in messages.feed(data):
                self.tap.request(message)
            writer.write(data)
            await writer.drain()

    async def _answers(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        messages = Messages()
        while data := await reader.read(_CHUNK_BYTES):
            await self._slow_down(len(data))
            if self.weather.answers == "lose":
                for message in messages.feed(data):
                    self.tap.lost(message)
                return
            if self.weather.answers == "truncate":
                writer.write(data[: len(data) // 2])
                await writer.drain()
                return
            writer.write(data)
            await writer.drain()
            for message in messages.feed(data):
                self.tap.answer(message)

    async def _slow_down(self, size: int) -> None:
        seconds = self.weather.delay_seconds
        if self.weather.bytes_per_second is not None:
            seconds += size / self.weather.bytes_per_second
        if seconds:
            await asyncio.sleep(seconds)


def _reset(writer: asyncio.StreamWriter) -> None:
    """Ends a connection with a reset, as a host that vanished and came back would."""
    opened = writer.get_extra_info("socket")
    if opened is not None and not writer.is_closing():
        with contextlib.suppress(OSError):
            opened.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
    writer.close()


@contextmanager
def proxying(target_port: int) -> Iterator[Proxy]:
    """A proxy on a free port; its loop runs in a thread that ends with the block."""
    proxy = Proxy(target_port)
    started, ended = threading.Event(), asyncio.Event()

    async def main() -> None:
        server = await asyncio.start_server(proxy.serve, LOOPBACK, 0)
        proxy.port = server.sockets[0].getsockname()[1]
        proxy._loop = asyncio.get_running_loop()
        started.set()
        await ended.wait()
        server.close()
        proxy._break_all()
        rest = asyncio.all_tasks() - {asyncio.current_task()}
        for task in rest:
            task.cancel()
        await asyncio.gather(*rest, return_exceptions=True)

    thread = threading.Thread(target=asyncio.run, args=(main(),), name="proxy", daemon=True)
    thread.start()
    assert started.wait(DEADLINE_SECONDS), "the proxy did not start"
    try:
        yield proxy
    finally:
        assert proxy._loop is not None
        proxy._loop.call_soon_threadsafe(ended.set)
        thread.join(DEADLINE_SECONDS)
        assert not thread.is_alive(), "the proxy did not end"
