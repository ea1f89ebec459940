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
        self._alike: dict[Said, Said] = {}
        self._generation = -1

    def at(
        self, session: ReadSession, *moments: datetime, host_ids: Sequence[int] | None = None
    ) -> list[dict[int, Said]]:
        """For each moment what the newest inventories until then say, by host; hosts without one are missing.

        All hosts unless some are named.
        """
        ids, times = newest_inventories(session, moments, host_ids)
        return [self._read(session, ids, sent) for sent in times]

    def newest(self, session: ReadSession, host_ids: Sequence[int]) -> dict[int, Said]:
        """What the newest inventories of these hosts say, by number; hosts without one are missing."""
        [found] = self.at(session, NEWEST, host_ids=host_ids)
        return found

    def _read(self, session: ReadSession, ids: Ints, times_us: Ints) -> dict[int, Said]:
        sent = times_us != NONE_US
        keys = list(zip(ids[sent].tolist(), times_us[sent].tolist(), strict=True))
        known = self._known if self._generation == session.generation else {}
        missing = [key for key in keys if key not in known]
        if len(known) + len(missing) > self._most:
            known, missing, self._alike = {}, keys, {}
        for key, body in read_parts(session, missing, self._parts).items():
            one = self._make(body)
            known[key] = self._alike.setdefault(one, one)
        self._known, self._generation = known, session.generation
        return {key[0]: known[key] for key in keys if key in known}
