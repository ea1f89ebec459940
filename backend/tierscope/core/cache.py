"""What a process keeps so that it need not be made again: one rule of eviction for all of it."""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

from tierscope.core import generations

K = TypeVar("K")
V = TypeVar("V")


class Cache(Generic[K, V]):
    """Values by key, the least recently used dropped beyond a bound. Safe between threads.

    `most`: the sum of sizes that is kept; `size_of` gives that of a value, without it each counts one. A value alone
    above the bound is not kept. `lifetime_seconds`: how long a value is good; without it, until it is dropped.
    """

    def __init__(
        self,
        most: int,
        *,
        size_of: Callable[[V], int] | None = None,
        lifetime_seconds: float | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._most = most
        self._size_of = size_of
        self._lifetime_seconds = lifetime_seconds
        self._clock = clock
        self._lock = threading.Lock()
        self._held: OrderedDict[K, tuple[V, int, float]] = OrderedDict()
        self._sum = 0

    def get(self, key: K) -> V | None:
        """The value, None where none is kept or it is too old."""
        with self._lock:
            found = self._held.get(key)
            if found is None:
                return None
            value, _, put_at = found
            if self._lifetime_seconds is not None and self._clock() - put_at >= self._lifetime_seconds:
                self._remove(key)
                return None
            self._held.move_to_end(key)
            return value

    def put(self, key: K, value: V) -> None:
        """Keep a value in place of the one before."""
        size = 1 if self._size_of is None else self._size_of(value)
        with self._lock:
            self._remove(key)
            if size > self._most:
                return
            self._held[key] = (value, size, self._clock())
            self._sum += size
            while self._sum > self._most:
                self._remove(next(iter(self._held)))

    def drop(self, key: K) -> None:
        """Keep it no longer."""
        with self._lock:
            self._remove(key)

    def clear(self) -> None:
        """Keep nothing."""
        with self._lock:
            self._held.clear()
            self._sum = 0

    def items(self) -> list[tuple[K, V]]:
        """All that is kept, however old, the least recently used first."""
        with self._lock:
            return [(key, value) for key, (value, _, _) in self._held.items()]

    def __len__(self) -> int:
        return len(self._held)

    def __contains__(self, key: K) -> bool:
        return key in self._held

    def _remove(self, key: K) -> None:
        held = self._held.pop(key, None)
        if held is not None:
            self._sum -= held[1]


class StoredCache(Generic[K, V]):
    """A `Cache` of what was read of a database: nothing outlives its generation (core/generations.py)."""

    def __init__(
        self,
        most: int,
        *,
        size_of: Callable[[V], int] | None = None,
        lifetime_seconds: float | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        size = None if size_of is None else (lambda kept: size_of(kept[1]))
        self._cache: Cache[K, tuple[int, V]] = Cache(most, size_of=size, lifetime_seconds=lifetime_seconds, clock=clock)

    def get(self, key: K) -> V | None:
        """The value, None where none is kept, or it is too old or of another generation."""
        kept = self._cache.get(key)
        return None if kept is None or kept[0] != generations.current() else kept[1]

    def put(self, key: K, value: V, *, generation: int) -> None:
        """Keep a value; `generation`: of the session that read it, or the count before it was begun to be read."""
        self._cache.put(key, (generation, value))

    def drop(self, key: K) -> None:
        """Keep it no longer."""
        self._cache.drop(key)

    def clear(self) -> None:
        """Keep nothing."""
        self._cache.clear()

    def items(self) -> list[tuple[K, V]]:
        """All that is kept, however old, the least recently used first."""
        count = generations.current()
        return [(key, value) for key, (generation, value) in self._cache.items() if generation == count]

    def __len__(self) -> int:
        return len(self.items())

    def __contains__(self, key: K) -> bool:
        return any(kept == key for kept, _ in self.items())
