"""The servers of a fleet, as a process of the service uses them.

Reads go through the coordinator, whose sessions see the rows of all nodes. What writes a host's data goes straight to
the server that holds the host, in one transaction there. With one server both are the same one.
"""

from collections.abc import Callable, Sequence
from typing import TypeVar

import structlog

from tierscope.core.cache import StoredCache
from tierscope.core.database import Database
from tierscope.core.errors import TierscopeError, Unavailable
from tierscope.domain.fleet.hosts_away import HostsAway
from tierscope.storage.nodes.counts import read_hosts_away
from tierscope.storage.nodes.numbers import hosts_by_node
from tierscope.storage.nodes.placement import Placement
from tierscope.storage.nodes.rows import DataNode, read_nodes, read_placement

Done = TypeVar("Done")
log = structlog.get_logger(__name__)
KEPT_SECONDS = 10.0
"""How long the list of nodes counts as known."""
MAY_BE_THERE_SECONDS = 5


def until_free(work: Callable[[], Done], *, tries: int, pause: Callable[[int], object] = lambda _: None) -> Done:
    """What `work` returns once it need not wait for others any more; `pause` is told how often it was tried.

    Raises:
        Unavailable: it had to at each of the tries.
    """
    for tried in range(1, tries):
        try:
            return work()
        except Unavailable:
            pause(tried)
    return work()


def answers(server: Database) -> bool:
    """Whether a server can be reached now."""
    try:
        with server.read():
            return True
    except TierscopeError:
        return False


def tell_away(nodes: Sequence[DataNode], hosts: HostsAway) -> str | None:
    """How many of all nodes answer, which do not, and how many hosts these have; None where all do."""
    away = [node.name for node in nodes if node.away_since is not None]
    if not away:
        return None
    return f"{len(nodes) - len(away)} of {len(nodes)} nodes answer; away: {', '.join(away)} ({hosts.amount()})"


def tell_away_now(database: Database) -> str | None:
    """The same of a fleet by its coordinator."""
    with database.own_rows.read() as session:
        return tell_away(read_nodes(session), read_hosts_away(session))


def perhaps_there(detail: str, away: Sequence[str]) -> Unavailable:
    """What is said in place of "there is none": it may be on a node that does not answer."""
    return Unavailable(
        f"{detail} on the nodes that answer; away: {', '.join(away)}", retry_after_seconds=MAY_BE_THERE_SECONDS
    )


class Nodes:
    """Connections to the servers of a fleet, each opened when it is first needed."""

    def __init__(self, database: Database) -> None:
        """`database`: the coordinator's. The others get pools like its own."""
        self._coordinator = database
        self._listed: StoredCache[None, tuple[DataNode, ...]] = StoredCache(1, lifetime_seconds=KEPT_SECONDS)
        self._placement: Placement | None = None
        self._urls: set[str] = set()

    @property
    def coordinator(self) -> Database:
        """Sees the rows of all nodes."""
        return self._coordinator

    def listed(self) -> tuple[DataNode, ...]:
        """All nodes, as they were listed moments ago; none where one server holds everything."""
        found = self._listed.get(None)
        if found is None:
            with self._coordinator.own_rows.read() as session:
                found, self._placement = read_nodes(session), read_placement(session)
            self._listed.put(None, found, generation=session.generation)
            urls = {node.url for node in found if node.number}
            for gone in self._urls - urls:
                self._coordinator.part_with(gone)
            self._urls = urls
        return found

    def away(self) -> list[str]:
        """Names of nodes that rows are shown without now, whichever process noted it."""
        if not self.listed():
            return []
        with self._coordinator.own_rows.read() as session:
            return [node.name for node in read_nodes(session) if node.away_since is not None]

    def number_of(self, host_id: int) -> int:
        """The number of the node that holds a host, by the last list that was read: a server that lost it says so.

        It asks the database the first time alone, as each batch comes by here.
        """
        if self._placement is None:
            self.listed()
        return 0 if self._placement is None else self._placement.node_of(host_id)

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
        return self.own(self.number_of(host_id))

    def emptiest(self, *, but: int | None = None) -> int:
        """The number of the node with the fewest hosts, of those that answer and take new ones.

        Raises:
            Unavailable: there is none.
        """
        if len(self.numbers()) == 1:
            return 0
        held = self.held_by_takers(but=but)
        return min(held, key=lambda number: (held[number], number))

    def held_by_takers(self, *, but: int | None = None) -> dict[int, int]:
        """Hosts by the number of their node, of nodes that answer and take new ones.

        Raises:
            Unavailable: there is none.
        """
        with self._coordinator.read() as session:
            nodes = [node for node in read_nodes(session) if node.number != but]
            there = [node.number for node in nodes if node.away_since is None and not node.draining]
            held = hosts_by_node(session, read_placement(session))
        if not there:
            states = (f"{node.name} is {'away' if node.away_since else 'drained'}" for node in nodes)
            raise Unavailable(
                f"no database server takes hosts: {', '.join(states)}",
                retry_after_seconds=60,
                next_step="Add one (`tierscope nodes add`), or let one take hosts again (`tierscope nodes fill`).",
            )
        return {number: held[number] for number in there}

    @property
    def several(self) -> bool:
        """Whether the last list that was read named nodes."""
        return self._placement is not None and bool(self._placement.firsts)
