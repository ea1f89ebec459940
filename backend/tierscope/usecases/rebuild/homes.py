"""Where the rows of hosts that Prometheus feeds are written: its samples are on the coordinator, a host on any server.

What is made of samples is committed where the host is, and then the mark is done with on the coordinator: whatever is
cut off in between is made again, which changes nothing.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from tierscope.core.database import ReadSession, WriteTransaction
from tierscope.storage.nodes.cut import be_awaited
from tierscope.storage.nodes.rows import read_nodes, read_placement
from tierscope.usecases.nodes.fleet import Nodes


class AwaitedHostError(Exception):
    """The host moves to another server now, or its server does not answer: its samples wait."""


@dataclass(frozen=True, slots=True)
class Home:
    """The server of a host, by its number, and a transaction on it."""

    number: int
    rows: WriteTransaction


class HostHomes:
    """The servers of hosts, seen from a transaction of the coordinator. One server is its own only home."""

    def __init__(self, nodes: Nodes | None = None) -> None:
        """`nodes`: of a fleet that may have several servers."""
        self._nodes = nodes

    @contextmanager
    def fleet(self, transaction: WriteTransaction) -> Iterator[ReadSession]:
        """A session that sees the hosts of all servers. Close it before a host is locked: moves lock in that order."""
        if self._nodes is None or not self._nodes.several:
            yield transaction
            return
        with self._nodes.coordinator.read() as session:
            yield session

    @contextmanager
    def of(self, transaction: WriteTransaction, host_id: int) -> Iterator[Home]:
        """Where a host is, with a transaction there that commits at the end of the block.

        Raises:
            AwaitedHostError: that server is away.
        """
        number = self._number(transaction, host_id) if self._nodes is not None and self._nodes.several else 0
        if number == 0 or self._nodes is None:
            yield Home(0, transaction)
            return
        if any(node.number == number and node.away_since is not None for node in read_nodes(transaction)):
            raise AwaitedHostError
        be_awaited(transaction)
        with self._nodes.own(number).write() as own:
            yield Home(number, own)

    def require_gone(self, transaction: WriteTransaction, host_id: int, home: Home) -> None:
        """Raises AwaitedHostError where a host that its home does not have has another home by now."""
        if self._nodes is not None and self._number(transaction, host_id) != home.number:
            self._nodes.forget()
            raise AwaitedHostError

    @staticmethod
    def _number(transaction: WriteTransaction, host_id: int) -> int:
        return read_placement(transaction).node_of(host_id)
