"""Finished answers that are used again for a while, those that people who ask at once share, and turns of who waits."""

import asyncio
import threading
import time
from collections import OrderedDict, deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Generic, TypeVar

from tierscope.core import generations
from tierscope.core.cache import StoredCache
from tierscope.core.errors import BusyReading

T = TypeVar("T")

MOST_BYTES = 64 << 20
_MAKERS = 64
AT_ONCE = 2
WAITING_MAX = 128
WAITING_OF_ONE_MAX = 48
"""A dashboard asks for all its panels at once."""
WAIT_SECONDS = 15.0
RETRY_SECONDS = 5


class Answers:
    """Finished bodies by request. One request makes a body; the same ones meanwhile wait for it."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._kept: StoredCache[str, tuple[float, bytes]] = StoredCache(MOST_BYTES, size_of=lambda kept: len(kept[1]))
        self._making = [threading.Lock() for _ in range(_MAKERS)]

    def get(self, key: str, seconds: float, make: Callable[[], bytes]) -> bytes:
        """The body that was made less than `seconds` ago in this generation of the database, else a new one."""
        with self._making[hash(key) % _MAKERS]:
            kept = self._kept.get(key)
            if kept is not None and self._clock() - kept[0] < seconds:
                return kept[1]
            generation = generations.current()
            body = make()
            self._kept.put(key, (self._clock(), body), generation=generation)
            return body


class AtOnce(Generic[T]):
    """One answer for all who ask the same at once, never older than their question.

    While one is made, those who ask for the same wait for the next one, which begins when it ends, and share it: what
    anybody gets was read after they asked. So many viewers of a page cost what two do.
    """

    def __init__(self) -> None:
        self._waiting: dict[str, _Shared[T]] = {}
        self._running: dict[str, _Shared[T]] = {}

    def __len__(self) -> int:
        """How many ask now."""
        return sum(one.asking for those in (self._waiting, self._running) for one in those.values())

    async def get(self, key: str, make: Callable[[Callable[[], bool]], Awaitable[T]]) -> T:
        """What `make` returns, or that of another who began after this call. Raises what it raised.

        `make` is told how to know whether others share what it makes.
        """
        joined = self._waiting.get(key)
        if joined is not None:
            joined.asking += 1
            return await asyncio.shield(joined.answer)
        own = self._waiting[key] = _Shared[T](asyncio.get_running_loop().create_future())
        before = self._running.get(key)
        try:
            if before is not None:
                await asyncio.wait([before.answer])
            del self._waiting[key]
            self._running[key] = own
            own.answer.set_result(await make(lambda: own.asking > 1))
        except BaseException as error:
            own.answer.set_exception(error)
            own.answer.exception()  # nobody else may have asked
            raise
        finally:
            for those in (self._waiting, self._running):
                if those.get(key) is own:
                    del those[key]
        return own.answer.result()


@dataclass(slots=True)
class _Shared(Generic[T]):
    answer: "asyncio.Future[T]"
    asking: int = 1


@dataclass(slots=True, eq=False)
class Working:
    """A question that is worked on: what the process had when it began, and whether others were answered beside it."""

    began_bytes: int
    beside: bool


class Turns:
    """Lets a few through at once; callers that wait take turns, each with its oldest question."""

    def __init__(self, at_once: int = AT_ONCE, *, wait_seconds: float = WAIT_SECONDS) -> None:
        self._free = at_once
        self._wait_seconds = wait_seconds
        self._waiting: OrderedDict[str, deque[asyncio.Future[None]]] = OrderedDict()
        self._working: list[Working] = []
        self._uploads = 0

    def __len__(self) -> int:
        """How many wait."""
        return sum(map(len, self._waiting.values()))

    @property
    def began_bytes(self) -> int:
        """What the process had when the oldest of those began that are worked on."""
        return min((one.began_bytes for one in self._working), default=0)

    @contextmanager
    def working(self, began_bytes: int) -> Iterator[Working]:
        """A question from its turn to its answer."""
        own = Working(began_bytes, bool(self._working or self._uploads))
        self._mark()
        self._working.append(own)
        try:
            yield own
        finally:
            self._working.remove(own)

    @contextmanager
    def uploading(self) -> Iterator[None]:
        """A body that takes memory beside questions."""
        self._mark()
        self._uploads += 1
        try:
            yield
        finally:
            self._uploads -= 1

    def _mark(self) -> None:
        for one in self._working:
            one.beside = True

    @asynccontextmanager
    async def turn(self, key: str) -> AsyncIterator[None]:
        """Waits for a turn of a caller and holds it.

        Raises:
            BusyReading: too many wait, or none came in time.
        """
        await self._take(key)
        try:
            yield
        finally:
            self._give()

    async def _take(self, key: str) -> None:
        if self._free:
            self._free -= 1
            return
        own = self._waiting.get(key, ())
        if len(self) >= WAITING_MAX or len(own) >= WAITING_OF_ONE_MAX:
            raise BusyReading(
                f"{len(self)} questions wait, {len(own)} of this caller", retry_after_seconds=RETRY_SECONDS
            )
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(key, deque()).append(turn)
        try:
            await asyncio.wait_for(asyncio.shield(turn), self._wait_seconds)
        except BaseException as error:
            self._leave(key, turn)
            if isinstance(error, TimeoutError):
                raise BusyReading(
                    f"no turn came within {self._wait_seconds:g} s", retry_after_seconds=RETRY_SECONDS
                ) from None
            raise

    def _leave(self, key: str, turn: "asyncio.Future[None]") -> None:
        if turn.done():  # it came at the last moment
            self._give()
            return
        self._waiting[key].remove(turn)
        if not self._waiting[key]:
            del self._waiting[key]

    def _give(self) -> None:
        """Hands the turn to the caller who waits longest for one."""
        if not self._waiting:
            self._free += 1
            return
        key, own = self._waiting.popitem(last=False)
        turn = own.popleft()
        if own:
            self._waiting[key] = own
        turn.set_result(None)
