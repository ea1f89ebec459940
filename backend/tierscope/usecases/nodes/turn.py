"""One change of who holds which hosts at a time, and what each such change waits for."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from threading import Event

from tierscope.core.database import Database, WriteTransaction
from tierscope.core.errors import Conflict, NotFound, Unavailable, Unprocessable
from tierscope.storage.nodes.foreign import cut, drop_pieces, lock_fleet, make_pieces
from tierscope.storage.nodes.moving import away_from_home, delete_hosts, let_go, try_move_lock
from tierscope.storage.nodes.rows import DataNode, lock_nodes, note_cut, read_nodes, read_placement
from tierscope.storage.operate.purge_parts import try_purge_lock
from tierscope.storage.operate.purges import last_purge, next_purge
from tierscope.usecases.nodes.fleet import Nodes, until_free
from tierscope.usecases.nodes.restoring import finish_restore, require_finished

SWITCH_TRIES = 60
_MOST_WAIT_SECONDS = 2.0
"""Between two of them, so that others read meanwhile."""


class Turn:
    """The right to change who holds which hosts."""

    def __init__(self, database: Database, nodes: Nodes) -> None:
        self._database = database
        self._nodes = nodes

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Keeps others from moving hosts, once what a move before left behind is deleted.

        Raises:
            Unprocessable: there is one server.
            Conflict: somebody else moves hosts, a backup of the fleet is made or restored, or a restore is not finished
                as a node does not answer.
        """
        with self._database.write() as holding:
            if not read_nodes(holding):
                raise Unprocessable("the fleet has one database server", next_step="Add one: `tierscope nodes add`.")
            if not try_move_lock(holding):
                raise Conflict(
                    "somebody else moves hosts now, or a backup is made or restored",
                    next_step="Wait until that has ended.",
                )
            require_finished(finish_restore(self._database))
            with self._database.own_rows.read() as session:
                nodes, placement = read_nodes(session), read_placement(session)
            for node in nodes:
                if node.cut and node.away_since is None:
                    own = self._nodes.own(node.number)
                    with own.read() as session:
                        left = away_from_home(session, placement, node.number)
                    for host_id in left:
                        with own.write() as transaction:
                            delete_hosts(transaction, (host_id, host_id + 1))
                    with own.write() as transaction:
                        let_go(transaction)
                        drop_pieces(transaction, (node.number, placement))
            yield

    def show_by_ranges(self, *nodes: DataNode) -> None:
        """Shows nodes by ranges, before any of them has rows that are not to be shown."""
        with self._database.own_rows.read() as session:
            placement = read_placement(session)
            whole = [node for node in read_nodes(session) if node.number in {n.number for n in nodes} and not node.cut]
        for node in whole:
            with self._nodes.own(node.number).write() as own:
                make_pieces(own, node.number, placement)
        if whole:
            self.when_free(lambda: self._show_cut(whole))

    def _show_cut(self, whole: Sequence[DataNode]) -> None:
        with self._database.write() as transaction:
            lock_nodes(transaction)
            placement = read_placement(transaction)
            lock_fleet(transaction)
            there = {node.number: node for node in read_nodes(transaction)}
            for node in whole:
                require_there(there[node.number])
                cut(transaction, there[node.number], placement)
                note_cut(transaction, node.number)

    @staticmethod
    def when_free(work: Callable[[], None]) -> None:
        """Does what waits for the tables of the fleet, as often as it takes: others read meanwhile.

        Raises:
            Unavailable: they were in use at each of the tries; nothing is changed.
        """
        try:
            until_free(work, tries=SWITCH_TRIES, pause=lambda tried: Event().wait(min(_MOST_WAIT_SECONDS, tried / 4)))
        except Unavailable as error:
            raise Unavailable(
                f"the hosts stay where they are: {error.detail}",
                retry_after_seconds=60,
                next_step="Run this again once long reads of the fleet, such as exports, have ended.",
            ) from error

    def last_purge(self) -> int:
        """The number of the newest job that removes data.

        Raises:
            Conflict: one is not done.
        """
        with self._database.own_rows.read() as session:
            if next_purge(session) is not None:
                raise Conflict(
                    "data of a host or a service are being removed",
                    next_step="Wait until `tierscope purge list` says that it is done.",
                )
            return last_purge(session)

    @staticmethod
    def refuse_purged(transaction: WriteTransaction, purge: int) -> None:
        """Keeps others from removing data until the transaction ends. `purge`: as `last_purge` said before.

        Raises:
            Unavailable: somebody removes data now.
            Conflict: data were removed since then.
        """
        if not try_purge_lock(transaction):
            raise Unavailable("data of a host or a service are being removed", retry_after_seconds=5)
        if last_purge(transaction) != purge:
            raise Conflict("data were removed while hosts were copied: they stay", next_step="Run this again.")


def named(nodes: Sequence[DataNode], name: str) -> DataNode:
    """The node of a name.

    Raises:
        NotFound: there is none.
    """
    for node in nodes:
        if node.name == name:
            return node
    raise NotFound(f"no node has the name {name[:40]!r}", next_step="See `tierscope nodes list`.")


def numbered(nodes: Sequence[DataNode], number: int) -> DataNode:
    """The node of a number, which is one of them."""
    return next(node for node in nodes if node.number == number)


def require_there(node: DataNode, *, next_step: str = "Run this again once it answers.") -> None:
    """Raises Conflict where a node is left out of answers, as it does not answer."""
    if node.away_since is not None:
        raise Conflict(f"node {node.name} is away since {node.away_since:%Y-%m-%d %H:%M:%S} UTC", next_step=next_step)
