"""How often batches come by themselves: by the hosts that send, not by how fast each of them is answered."""

import time
from collections.abc import Callable

_WINDOW_SECONDS = 60.0


class Senders:
    """Counts different hosts by the minute. The caller holds a lock."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._since = clock()
        self._hosts: set[int] = set()
        self._before = 0

    def note(self, host_id: int) -> None:
        """A batch of this host has come."""
        self._turn()
        self._hosts.add(host_id)

    def per_second(self) -> float:
        """Batches a second if each host that sent in the last whole minute sends one a minute."""
        self._turn()
        return self._before / _WINDOW_SECONDS

    def _turn(self) -> None:
        passed = self._clock() - self._since
        if passed >= _WINDOW_SECONDS:
            self._before = len(self._hosts) if passed < 2 * _WINDOW_SECONDS else 0
            self._hosts.clear()
            self._since += passed
