"""Which server a host's rows are on: its number says so.

Each server gives hosts numbers of a range of its own, so that a row is found without a look-up and PostgreSQL asks no
other server for it. A host that moves keeps its number: a range is cut, and a piece of it is another server's then.
"""

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy import Table

from tierscope.storage.tables import (
    TIME_TABLES,
    boots,
    findings,
    host_layouts,
    host_pods,
    host_recent,
    host_services,
    hosts,
    inventory,
    marks,
    objects,
    streams,
)

HOSTS_PER_NODE = 1 << 40
"""Numbers of a node: 0 to this less one are those of the first server. A bigint has room for 8 million nodes."""

MAX_NODE = (1 << 13) - 1
"""The largest number of a node: numbers of hosts stay below 2**53, which JSON programs read without loss."""

Span = tuple[int, int]
"""Numbers of hosts: the first one, and the first one beyond."""


def numbers_of(node: int) -> Span:
    """The numbers that a node gives."""
    return node * HOSTS_PER_NODE, (node + 1) * HOSTS_PER_NODE


@dataclass(frozen=True, slots=True)
class Placement:
    """Which node holds which numbers. Without a range one server, number 0, holds everything."""

    firsts: tuple[int, ...] = ()
    """Where ranges begin, ascending; each ends where the next one begins, the last one with its node's numbers."""
    nodes: tuple[int, ...] = ()

    def node_of(self, host_id: int) -> int:
        """The number of the node that holds a host."""
        place = bisect_right(self.firsts, host_id) - 1
        return self.nodes[place] if place >= 0 else 0

    def spans(self) -> list[tuple[Span, int]]:
        """All ranges with their nodes."""
        if not self.firsts:
            return []
        ends = (*self.firsts[1:], self._end())
        return [((first, beyond), node) for first, beyond, node in zip(self.firsts, ends, self.nodes, strict=True)]

    def moved(self, span: Span, node: int) -> "Placement":
        """The same with these numbers on another node."""
        held = zip(self.firsts, self.nodes, strict=True)
        ranges = {first: holder for first, holder in held if not span[0] <= first < span[1]} | {span[0]: node}
        if span[1] < self._end():
            ranges.setdefault(span[1], self.node_of(span[1]))
        return place_of(ranges)

    def without(self, node: int) -> "Placement":
        """The same with the ranges of a node on the first server, which has no hosts of them.

        Where each node's numbers begin is still known, so that none is given twice.
        """
        held = zip(self.firsts, self.nodes, strict=True)
        return place_of({first: 0 if holder == node else holder for first, holder in held})

    @property
    def last_given(self) -> int:
        """The largest number that a node has had."""
        return max(self.firsts, default=0) // HOSTS_PER_NODE

    def _end(self) -> int:
        """The first number beyond all."""
        return numbers_of(self.last_given)[1]


def place_of(ranges: Mapping[int, int]) -> Placement:
    """A placement of nodes by the first number of a range; neighbours of one node become one.

    Not where the numbers that another node gave begin: by the last such place it is known where all numbers end.
    """
    ordered = sorted(ranges.items())
    kept = [
        one
        for place, one in enumerate(ordered)
        if one[0] % HOSTS_PER_NODE == 0 or place == 0 or one[1] != ordered[place - 1][1]
    ]
    return Placement(tuple(first for first, _ in kept), tuple(node for _, node in kept))


_BY_HOST = (
    boots,
    findings,
    host_layouts,
    host_pods,
    host_recent,
    host_services,
    inventory,
    objects,
    streams,
    *(entry.table for entry in TIME_TABLES if "host_id" in entry.table.c),
)
OF_HOSTS: dict[Table, str] = {hosts: "id", **dict.fromkeys(_BY_HOST, "host_id")}
"""Tables with the rows of hosts, with the column that holds the host's number."""

KEYS: dict[Table, str] = {**OF_HOSTS, marks: "id"}
"""Tables that are on each node, with the column whose number says on which one a row is: of marks it is their own, as
they are where they were made. All others have rows of the whole fleet, on the coordinator; nodes have those too that
their own rows refer to: storage/base/numbering.py"""

NUMBERED = (hosts, marks, boots)
"""Those of them that number their rows, each node from its first number on."""
