"""What a process knows of hosts' inventories: none is read twice."""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Generic, TypeVar

from tierscope.core.database import ReadSession
from tierscope.storage.base.binary import Ints
from tierscope.storage.fleet.inventories import NONE_US, newest_inventories, read_parts

Said = TypeVar("Said")
NEWEST = datetime(9999, 1, 1, tzinfo=UTC)
"""A moment that all inventories were sent before."""


class KnownInventories(Generic[Said]):
    """Reads hosts' inventories, those that are new to it alone, and keeps what is made of them."""

    def __init__(self, parts: Sequence[str], make: Callable[[Mapping[str, Any]], Said], *, most: int) -> None:
        """`make`: what to keep of an inventory with these fields, hashable; at most that of `most` inventories."""
        self._parts = parts
        self._make = make
        self._most = most
        self._known: dict[tuple[int, int], Said] = {}

    def at(self, session: ReadSession, *moments: datetime) -> list[dict[int, Said]]:
        """For each moment what hosts' newest inventories until then say; hosts without one are missing."""
        ids, times = newest_inventories(session, moments)
        return [self._read(session, ids, sent) for sent in times]

    def newest(self, session: ReadSession, host_ids: Sequence[int]) -> dict[int, Said]:
        """What the newest inventories of these hosts say, by number; hosts without one are missing."""
        ids, [times] = newest_inventories(session, [NEWEST], host_ids)
        return self._read(session, ids, times)

    def _read(self, session: ReadSession, ids: Ints, times_us: Ints) -> dict[int, Said]:
        sent = times_us != NONE_US
        keys = list(zip(ids[sent].tolist(), times_us[sent].tolist(), strict=True))
        known = self._known
        missing = [key for key in keys if key not in known]
        if len(known) + len(missing) > self._most:
            known, missing = {}, keys
        alike = {one: one for one in known.values()} if missing else {}
        for key, body in read_parts(session, missing, self._parts).items():
            one = self._make(body)
            known[key] = alike.setdefault(one, one)
        self._known = known
        return {key[0]: known[key] for key in keys if key in known}
