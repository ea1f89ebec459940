"""Finished answers that are used again for a while, and those that people who ask at once share."""

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Generic, TypeVar

from tierscope.core import generations
from tierscope.core.cache import StoredCache

T = TypeVar("T")

MOST_BYTES = 64 << 20
_MAKERS = 64


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

    While one is made, those who ask for the same wait for the next one, which has its turn after it, and share it: what
    anybody gets was read after they asked. So many viewers of a page cost what two do.
    """

    def __init__(self) -> None:
        self._waiting: dict[str, _Shared[T]] = {}
        self._running: dict[str, _Shared[T]] = {}

    def __len__(self) -> int:
        """How many ask now."""
        return sum(one.asking for those in (self._waiting, self._running) for one in those.values())

    async def get(
        self,
        key: str,
        make: Callable[[], Awaitable[T]],
        *,
        turn: Callable[[Callable[[], bool]], AbstractAsyncContextManager[object]],
    ) -> T:
        """What `make` returns, or that of another whose turn came after this call. Raises what it raised.

        `turn` is waited for and held while it is made; it is told how to know whether others share what is made.
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
            async with turn(lambda: own.asking > 1):
                del self._waiting[key]
                self._running[key] = own
                made = await make()
            own.answer.set_result(made)
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
