"""The servers of a fleet, as a process of the service uses them.

Reads go through the coordinator, whose sessions see the rows of all nodes. What writes a host's data goes straight to
the server that holds the host, in one transaction there. With one server both are the same one.
"""

from collections.abc import Callable
from typing import TypeVar

import structlog

from tierscope.core.cache import Cache
from tierscope.core.database import Database
from tierscope.core.errors import Unavailable
from tierscope.storage.nodes.numbers import hosts_by_node
from tierscope.storage.nodes.placement import node_of
from tierscope.storage.nodes.rows import DataNode, read_nodes

Done = TypeVar("Done")
log = structlog.get_logger(__name__)
KEPT_SECONDS = 10.0
"""How long the list of nodes counts as known."""


class Nodes:
    """Connections to the servers of a fleet, each opened when it is first needed."""

    def __init__(self, database: Database) -> None:
        """`database`: the coordinator's. The others get pools like its own."""
        self._coordinator = database
        self._listed: Cache[None, tuple[DataNode, ...]] = Cache(1, lifetime_seconds=KEPT_SECONDS)

    @property
    def coordinator(self) -> Database:
        """Sees the rows of all nodes."""
        return self._coordinator

    def listed(self) -> tuple[DataNode, ...]:
        """All nodes, as they were listed moments ago; none where one server holds everything."""
        found = self._listed.get(None)
        if found is None:
            with self._coordinator.read() as session:
                found = read_nodes(session)
            self._listed.put(None, found)
        return found

    def forget(self) -> None:
        """Looks at the list anew when it is asked for next."""
        self._listed.clear()

    def numbers(self) -> tuple[int, ...]:
        """Numbers of all nodes, those that are away too."""
        return tuple(node.number for node in self.listed()) or (0,)

    def own(self, number: int) -> Database:
        """The server of a node, whose sessions see its own rows alone.

        Raises:
            Unavailable: there is no such node.
        """
        if number == 0:
            return self._coordinator.own_rows
        for node in self.listed():
            if node.number == number:
                return self._coordinator.other(node.url)
        self.forget()
        raise Unavailable(f"no node has the number {number}", retry_after_seconds=5)

    def on_each(self, work: Callable[[Database], Done]) -> list[Done]:
        """What `work` returns for each server by itself. One that does not answer is left for the next run."""
        done = []
        for number in self.numbers():
            try:
                done.append(work(self.own(number)))
            except Unavailable as error:
                if len(self.numbers()) == 1:
                    raise
                log.warning("a node could not be worked on", node=number, cause=error.detail)
        return done

    def of_host(self, host_id: int) -> Database:
        """The server that holds a host.

        Raises:
            Unavailable: there is no such node.
        """
        return self.own(node_of(host_id))

    def emptiest(self) -> int:
        """The number of the node with the fewest hosts, of those that answer."""
        if len(self.numbers()) == 1:
            return 0
        with self._coordinator.read() as session:
            there = [node.number for node in read_nodes(session) if node.away_since is None]
            held = hosts_by_node(session)
        return min(there, key=lambda number: (held.get(number, 0), number), default=0)
