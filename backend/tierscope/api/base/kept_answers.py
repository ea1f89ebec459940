"""Finished answers that are used again for a while, and answers that those who ask at once share."""

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
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

    While one is made, those who ask for the same wait for the next one, which begins when it ends, and share it: what
    anybody gets was read after they asked. So many viewers of a page cost what two do. Safe between threads.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: dict[str, Future[T]] = {}
        self._running: dict[str, Future[T]] = {}
        self._asking = 0

    def __len__(self) -> int:
        """How many ask now."""
        return self._asking

    def get(self, key: str, make: Callable[[], T]) -> T:
        """What `make` returns, or that of another thread that began after this call. Raises what it raised."""
        with self._lock:
            self._asking += 1
            joined, before = self._waiting.get(key), self._running.get(key)
            if joined is None:
                own = self._waiting[key] = Future[T]()
        try:
            if joined is not None:
                return joined.result()
            if before is not None:
                before.exception()
            return self._make(key, own, make)
        finally:
            with self._lock:
                self._asking -= 1

    def _make(self, key: str, own: Future[T], make: Callable[[], T]) -> T:
        with self._lock:
            del self._waiting[key]
            self._running[key] = own
        try:
            own.set_result(make())
        except BaseException as error:  # noqa: BLE001 - raised below, and by those who wait
            own.set_exception(error)
        finally:
            with self._lock:
                if self._running.get(key) is own:
                    del self._running[key]
        return own.result()
