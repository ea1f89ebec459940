"""What a process knows of hosts' inventories: networks, and what makes hosts peers. None is read twice."""

from dataclasses import dataclass
from datetime import UTC, datetime

from tierscope.core.database import ReadSession
from tierscope.domain.fleet.peer_hosts import LikeKey, like_key
from tierscope.storage.base.binary import Ints
from tierscope.storage.fleet.machines import NONE_US, newest_inventories, read_machines

NEWEST = datetime(9999, 1, 1, tzinfo=UTC)
"""A moment that all inventories were sent before."""
MOST_KNOWN = 1_000_000
"""Inventories; about 200 bytes each."""


@dataclass(frozen=True, slots=True)
class KnownMachine:
    """What an inventory says."""

    devices: frozenset[str] | None
    """RDMA devices, and `smc`; None where nobody looked."""
    like: LikeKey
    """What it says of which hosts are peers; labels and the agent may say more."""


class KnownMachines:
    """Reads hosts' inventories, those that are new to it alone."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, int], KnownMachine] = {}

    def at(self, session: ReadSession, *moments: datetime) -> list[dict[int, KnownMachine]]:
        """For each moment what hosts' newest inventories until then say; hosts without one are missing."""
        ids, times = newest_inventories(session, moments)
        return [self._read(session, ids, sent) for sent in times]

    def _read(self, session: ReadSession, ids: Ints, times_us: Ints) -> dict[int, KnownMachine]:
        sent = times_us != NONE_US
        keys = list(zip(ids[sent].tolist(), times_us[sent].tolist(), strict=True))
        known = self._known
        missing = [key for key in keys if key not in known]
        if len(known) + len(missing) > MOST_KNOWN:
            known, missing = {}, keys
        alike = {one: one for one in known.values()} if missing else {}
        for key, machine in read_machines(session, missing).items():
            one = KnownMachine(machine.devices, like_key({}, machine.body, None))
            known[key] = alike.setdefault(one, one)
        self._known = known
        return {key[0]: known[key] for key in keys if key in known}
