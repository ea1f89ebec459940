"""Secrets: made from 256 random bits, kept as SHA-256, remembered for a few seconds after they were checked."""

import hashlib
import secrets
import threading
import time
from typing import Generic, TypeVar

T = TypeVar("T")

CACHE_SECONDS = 10.0
CACHE_ENTRIES = 20_000
_PREFIXES = {"join": "tsj", "api": "tsa", "link": "tsl", "session": "tss", "password": "tsp", "host": "tsh"}


def new_secret(kind: str) -> str:
    """Returns a fresh secret. Its prefix says what it is, so that a leaked one can be found by a scanner."""
    return f"{_PREFIXES[kind]}_{secrets.token_urlsafe(32)}"


def hash_secret(secret: str) -> bytes:
    """Returns the SHA-256 that is stored and looked up. Looking up a hash leaks nothing about the secret by time."""
    return hashlib.sha256(secret.encode("utf-8", errors="replace")).digest()


class SecretCache(Generic[T]):
    """What a checked secret stands for, by hash, for `CACHE_SECONDS`. Safe for threads.

    A revocation in this process is in force at once (`forget`); in another one after the lifetime at most.
    """

    def __init__(self, *, seconds: float = CACHE_SECONDS, entries: int = CACHE_ENTRIES) -> None:
        self._seconds = seconds
        self._entries = entries
        self._known: dict[bytes, tuple[float, T]] = {}
        self._lock = threading.Lock()

    def get(self, digest: bytes) -> T | None:
        """Returns the value, or None where it is not known or too old."""
        entry = self._known.get(digest)
        if entry is None or entry[0] < time.monotonic():
            return None
        return entry[1]

    def put(self, digest: bytes, value: T) -> None:
        """Remembers a value. A full cache is emptied: it is a cache."""
        with self._lock:
            if len(self._known) >= self._entries:
                self._known.clear()
            self._known[digest] = (time.monotonic() + self._seconds, value)

    def forget(self, digest: bytes) -> None:
        """Forgets one value at once."""
        with self._lock:
            self._known.pop(digest, None)

    def clear(self) -> None:
        """Forgets everything."""
        with self._lock:
            self._known.clear()
