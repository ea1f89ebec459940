"""Finished answers that are used again for a while."""

import threading
import time
from collections.abc import Callable

from tierscope.core.cache import Cache

MOST_BYTES = 64 << 20
_MAKERS = 64


class Answers:
    """Finished bodies by request. One request makes a body; the same ones meanwhile wait for it."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._kept: Cache[str, tuple[float, bytes]] = Cache(MOST_BYTES, size_of=lambda kept: len(kept[1]))
        self._making = [threading.Lock() for _ in range(_MAKERS)]

    def get(self, key: str, seconds: float, make: Callable[[], bytes]) -> bytes:
        """The body that was made less than `seconds` ago, else a new one."""
        with self._making[hash(key) % _MAKERS]:
            kept = self._kept.get(key)
            if kept is not None and self._clock() - kept[0] < seconds:
                return kept[1]
            body = make()
            self._kept.put(key, (self._clock(), body))
            return body
