"""Objects by key: the interface of their stores, and a reader that keeps the newest bodies.

A body that rows refer to never changes once it was put: its key ends in the checksum of its bytes, which is checked as
it is read. A published file is put again under its name, whole; who reads it says which checksum it has.
"""

import hashlib
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from tierscope.core.cache import Cache
from tierscope.core.errors import ObjectMissing, Unavailable

CHECKSUM_CHARACTERS = 32
RETRY_SECONDS = 30
MOST_KEPT_BYTES = 32 << 20
MOST_OBJECT_BYTES = 128 << 20
"""A longer body is none of ours, and is not read: an hour of a service on a host, or a day of a table, is far below."""


@dataclass(frozen=True, slots=True)
class FoundObject:
    """An object in a listing."""

    key: str
    size_bytes: int
    changed_at: datetime


class ObjectStore(Protocol):
    """Where objects are kept. All calls raise `Unavailable` while the store cannot be reached."""

    def put(self, key: str, body: bytes) -> None:
        """Store an object, in place of what has its key. It is durable when this returns, and never there in part."""

    def get(self, key: str, digest: str | None = None) -> bytes:
        """The bytes that were put, checked by the digest or else by the key; ObjectMissing where they are not there."""

    def delete(self, keys: Sequence[str]) -> None:
        """Remove objects; those that are not there are none the less removed."""

    def list(self, prefix: str) -> Iterator[FoundObject]:
        """Objects whose key begins with `prefix`, in order of their keys."""


class ObjectReader:
    """Reads bodies that rows refer to, and keeps the newest of them: an object never changes under its key.

    A store that cannot be reached is not asked again for a while: each question would wait for it, and others for that.
    """

    def __init__(self, store: ObjectStore | None, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._store = store
        self._clock = clock
        self._away: tuple[float, str] | None = None
        """Until when it is not asked, and why."""
        self._kept: Cache[str, bytes] = Cache(MOST_KEPT_BYTES, size_of=len)

    def get(self, key: str) -> bytes:
        """The bytes of an object.

        Raises:
            Unavailable: the store cannot be reached, or none is set.
            ObjectMissing: it is not there.
        """
        known = self._kept.get(key)
        if known is not None:
            return known
        if self._store is None:
            raise Unavailable(
                "these rows are in an object store, and none is set",
                next_step="Set TIERSCOPE_OBJECTS__STORE as it was when they were moved.",
                retry_after_seconds=RETRY_SECONDS,
            )
        if self._away is not None and self._clock() < self._away[0]:
            raise Unavailable(self._away[1], retry_after_seconds=RETRY_SECONDS)
        try:
            body = self._store.get(key)
        except ObjectMissing:
            raise
        except Unavailable as error:
            self._away = (self._clock() + RETRY_SECONDS, error.detail)
            raise
        self._kept.put(key, body)
        return body


def checksum(body: bytes) -> str:
    """What a key ends in."""
    return hashlib.sha256(body).hexdigest()[:CHECKSUM_CHARACTERS]


def check_body(key: str, body: bytes, digest: str | None = None) -> bytes:
    """The body, if it is the one that was put under this key: with that checksum, or with the one in the key.

    Raises:
        ObjectMissing: it is another.
    """
    found = checksum(body)
    if found != digest if digest else found not in key.rpartition("/")[2]:
        raise ObjectMissing(f"the object {key} is damaged", retry_after_seconds=RETRY_SECONDS)
    return body
