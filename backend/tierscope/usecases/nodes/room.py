"""Whether servers have room for the hosts that are to be moved to them."""

import shutil
from collections.abc import Mapping, Sequence

from tierscope.core.errors import Conflict
from tierscope.storage.base.server_disk import data_place
from tierscope.storage.nodes.placement import Span
from tierscope.storage.nodes.room import host_bytes
from tierscope.storage.nodes.rows import DataNode
from tierscope.usecases.nodes.fleet import Nodes


def spread(hosts: int, held: Mapping[int, int]) -> dict[int, int]:
    """How many of some hosts each node gets where each host goes to the emptiest.

    `held`: hosts by node, of those that take some.
    """
    now = dict(held)
    for _ in range(hosts):
        emptiest = min(now, key=lambda number: (now[number], number))
        now[emptiest] += 1
    return {number: now[number] - held[number] for number in now}


class Room:
    """Compares what hosts take with what is free."""

    def __init__(self, nodes: Nodes) -> None:
        self._nodes = nodes

    def size(self, source: DataNode, spans: Sequence[Span]) -> int:
        """Bytes of the rows of ranges of hosts of a node."""
        with self._nodes.own(source.number).snapshot() as session:
            return host_bytes(session, spans)

    def require(self, needed_bytes: Mapping[DataNode, int]) -> tuple[str, ...]:
        """Checks that what goes to each node fits there; names of nodes whose disks are not seen from here.

        PostgreSQL tells nobody how much of its disk is free: it is seen where a server is on this machine, and our
        role may know its data directory (`pg_read_all_settings`).

        Raises:
            Conflict: a disk has less room.
        """
        unseen = []
        on_disk: dict[int, tuple[int, int, list[str]]] = {}
        for node, needed in needed_bytes.items():
            if not needed:
                continue
            with self._nodes.own(node.number).read() as session:
                place = data_place(session)
            if place is None:
                unseen.append(node.name)
                continue
            disk = place.stat().st_dev
            _, so_far, names = on_disk.get(disk, (0, 0, []))
            on_disk[disk] = (shutil.disk_usage(place).free, so_far + needed, [*names, node.name])
        for free, needed, names in on_disk.values():
            require_fits(needed, free, names)
        return tuple(unseen)


def require_fits(needed_bytes: int, free_bytes: int, names: Sequence[str]) -> None:
    """Raises Conflict where nodes of one disk have less room than is needed."""
    if needed_bytes > free_bytes:
        raise Conflict(
            f"the hosts have {needed_bytes:,} bytes, the disk of {' and '.join(names)} has {free_bytes:,} bytes free:"
            " none is moved",
            next_step="Free space there, move fewer hosts, or add another node: `tierscope nodes add`.",
        )
