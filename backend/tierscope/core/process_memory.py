"""Gives memory back to the machine that a large request has left behind in this process."""

import ctypes
import os
import threading
from pathlib import Path

KEPT_BYTES = 16 << 20
"""What may stay for the next request above what was in use before."""
LOOK_BYTES = 256 << 10
"""After so many bytes of requests the process is looked at: a look opens a file, too much for a small request."""
_ARENA_MAX, _ARENAS = -8, 2
"""Threads share so many heaps: each of more keeps its own free pages."""
_MMAP_THRESHOLD, _MMAP_BYTES = -3, 1 << 20
"""What is larger has pages of its own, which go back when it is freed. glibc raises this to 32 MiB by itself, and then
arrays of an answer lie in heaps between what stays: mallopt(3), "dynamic mmap threshold"."""
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


class FreedMemory:
    """Asks glibc for free pages once the process has grown; where it cannot be asked, nothing happens."""

    def __init__(self) -> None:
        allocator = ctypes.CDLL(None)
        self._can_trim = hasattr(allocator, "malloc_trim")
        if self._can_trim:
            allocator.mallopt(_ARENA_MAX, _ARENAS)
            allocator.mallopt(_MMAP_THRESHOLD, _MMAP_BYTES)
        self._lock = threading.Lock()
        self._in_use = resident_bytes()
        self._unseen_bytes = 0

    def has_grown(self, request_bytes: int) -> bool:
        """Whether the process has grown by more than it may keep, as far as was looked, after one more request."""
        self._unseen_bytes += request_bytes
        if not self._can_trim or self._unseen_bytes < LOOK_BYTES:
            return False
        self._unseen_bytes = 0
        return resident_bytes() > self._in_use + KEPT_BYTES

    def give_back(self) -> None:
        """Gives free pages back. What is in use afterwards is what the process needs."""
        if self._can_trim and self._lock.acquire(blocking=False):
            try:
                trim_heaps()
                self._in_use = resident_bytes()
            finally:
                self._lock.release()


def trim_heaps() -> None:
    """Gives free pages back, so that what is resident is in use."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


def resident_bytes() -> int:
    """The memory that this process has now; 0 where the kernel does not say."""
    try:
        return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * _PAGE_BYTES
    except OSError:
        return 0
