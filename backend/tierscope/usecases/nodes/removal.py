"""Taking a server out of a fleet: one that is drained, or one that is gone for ever with the hosts that it had."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from tierscope.core.clock import Clock, utc_now
from tierscope.core.database import Database, WriteTransaction
from tierscope.core.errors import Conflict, Unprocessable
from tierscope.storage.access.credentials import AuditRow, append_audit
from tierscope.storage.base.facts import store_fact
from tierscope.storage.base.retention import kept
from tierscope.storage.nodes.counts import forget_counts
from tierscope.storage.nodes.foreign import (
    cut_anew,
    detach,
    drop_pieces,
    hide_fleet,
    lock_fleet,
    make_pieces,
    part_with,
)
from tierscope.storage.nodes.leaving import (
    LostHost,
    count_objects,
    database_bytes,
    forget_hosts,
    hold_enrolments,
    lost_hosts,
    note_lost,
    take_over_work,
)
from tierscope.storage.nodes.placement import Placement
from tierscope.storage.nodes.rows import (
    DataNode,
    delete_nodes,
    lock_nodes,
    read_nodes,
    read_placement,
    store_placement,
)
from tierscope.usecases.nodes.changes import LAST_NUMBER_FACT
from tierscope.usecases.nodes.fleet import Nodes, answers
from tierscope.usecases.nodes.turn import Turn, named, numbered, require_there
from tierscope.usecases.nodes.watch import NodeWatch


@dataclass(frozen=True, slots=True)
class Account:
    """What is lost with a server that is gone for ever."""

    name: str
    away_since: datetime
    """Until then its hosts were stored: what they sent later waits with their agents."""
    hosts: tuple[LostHost, ...]


@dataclass(frozen=True, slots=True)
class Removed:
    """A server that is no node any more."""

    number: int
    name: str
    database: str
    """Its host and database, without a password."""
    left_bytes: int | None
    """How large its database is, which is left as it is; None where it does not answer."""
    work: int
    """Pieces of work of the fleet that waited on it and wait on the coordinator now."""
    lost: Account | None
    """What is lost with it; None for one that was drained."""


class Removal:
    """Takes servers out of a fleet. Nobody moves hosts meanwhile."""

    def __init__(self, database: Database, *, clock: Clock = utc_now) -> None:
        self._database = database
        self._nodes = Nodes(database)
        self._turn = Turn(database, self._nodes)
        self._clock = clock

    def remove(self, name: str, *, actor: str) -> Removed:
        """Takes a drained server out of the fleet; its database is left as it is.

        Raises:
            NotFound: there is no such node.
            Unprocessable: it is the coordinator.
            Conflict: it has hosts or takes new ones, or is away; somebody moves hosts or removes data.
            Unavailable: a server does not answer, or the tables of the fleet are in use for long.
        """
        with self._turn.alone():
            node = self._of_name(name)
            require_there(
                node,
                next_step="Start it. If it is gone for ever, `tierscope nodes remove --lost` says what is lost.",
            )
            if not node.draining:
                raise Conflict(
                    f"node {name} takes hosts", next_step=f"Take them away first: `tierscope nodes drain {name}`."
                )
            purge = self._turn.last_purge()
            with self._nodes.own(node.number).read() as own:
                waiting, left_bytes = count_objects(own), database_bytes(own)
            if waiting:
                raise Conflict(
                    f"{waiting} objects of node {name} are not deleted from the object store yet",
                    next_step="Wait until a worker has deleted them, an hour at most, and run this again.",
                )
            taken: list[int] = []

            def leave(transaction: WriteTransaction) -> None:
                self._turn.refuse_purged(transaction, purge)
                with self._nodes.own(node.number).write() as own:
                    hosts = hold_enrolments(own)
                    if hosts:
                        raise Conflict(
                            f"node {name} has {hosts} hosts",
                            next_step=f"Take them away first: `tierscope nodes drain {name}`.",
                        )
                    taken[:] = [take_over_work(own, transaction)]

            self._leave(node, leave, actor, None)
        return Removed(node.number, name, node.place, left_bytes, taken[0], None)

    def account(self, name: str) -> Account:
        """What would be lost with a server that is gone for ever; nothing is changed.

        Raises:
            NotFound: there is no such node.
            Unprocessable: it is the coordinator.
            Conflict: it answers, or another server is away, so that nobody can say whose hosts are lost.
        """
        node = self._of_name(name)
        if answers(self._nodes.own(node.number)):
            raise Conflict(
                f"node {name} answers: nothing of it is lost",
                next_step=f"Take its hosts away: `tierscope nodes drain {name}`, then `tierscope nodes remove {name}`.",
            )
        watch = NodeWatch(self._nodes, clock=self._clock)
        for _ in range(2):  # who is silent twice is left out of answers
            watch.look()
        with self._database.read() as session:
            for other in read_nodes(session):
                if other.number != node.number:
                    require_there(other)
            since = self._of_name(name).away_since
            if since is None:
                raise Conflict(f"node {name} answers again", next_step="Look with `tierscope nodes list`.")
            return Account(name, since, tuple(lost_hosts(session)))

    def give_up(self, name: str, *, actor: str) -> Removed:
        """Takes a server that is gone for ever out of the fleet, with all that it had.

        Raises: what `account` does, and
            Conflict: somebody moves hosts or removes data.
            Unavailable: the tables of the fleet are in use for long.
        """
        with self._turn.alone():
            account = self.account(name)
            node = self._of_name(name)
            purge = self._turn.last_purge()
            self._leave(node, lambda transaction: self._turn.refuse_purged(transaction, purge), actor, account)
        return Removed(node.number, name, node.place, None, 0, account)

    def _leave(
        self, node: DataNode, checked: Callable[[WriteTransaction], None], actor: str, lost: Account | None
    ) -> None:
        """Nothing shows the node, or asks it, from the moment on when this commits."""
        with self._database.own_rows.read() as session:
            nodes = read_nodes(session)
            after = read_placement(session).without(node.number)
        several_stay = len(nodes) > 2  # noqa: PLR2004 - the coordinator and another one
        if several_stay:
            self._turn.show_by_ranges(numbered(nodes, 0))
            with self._database.own_rows.write() as own:
                make_pieces(own, 0, after)
        self._turn.when_free(lambda: self._leave_at_once(node, checked, actor, lost))
        self._nodes.forget()
        with self._database.own_rows.write() as own:
            drop_pieces(own, (0, after) if several_stay else None)

    def _leave_at_once(
        self, node: DataNode, checked: Callable[[WriteTransaction], None], actor: str, lost: Account | None
    ) -> None:
        now = self._clock()
        with self._database.write() as transaction:
            lock_nodes(transaction)
            nodes, before = read_nodes(transaction), read_placement(transaction)
            if node.number not in {one.number for one in nodes}:  # the connection was lost as it committed
                return
            lock_fleet(transaction)
            checked(transaction)
            after = before.without(node.number)
            stay = [one for one in nodes if one.number != node.number]
            if len(stay) == 1:
                self._end_fleet(transaction, nodes, after)
            else:
                if numbered(nodes, node.number).away_since is None:
                    detach(transaction, node, before)
                part_with(transaction, node)
                store_placement(transaction, after)
                delete_nodes(transaction, node.number)
                cut_anew(transaction, stay, before, after)
            forget_counts(transaction, node.number)
            if lost is not None:
                spans = [span for span, number in before.spans() if number == node.number]
                forget_hosts(transaction, spans)
                note_lost(transaction, spans, until=now + kept("heat"))
            for host in lost.hosts if lost is not None else ():
                append_audit(transaction, AuditRow(now, actor, "host.lose", host.public_id, {"node": node.name}))
            detail = {"lost_hosts": None if lost is None else len(lost.hosts)}
            append_audit(transaction, AuditRow(now, actor, "node.remove", node.name, detail))

    @staticmethod
    def _end_fleet(transaction: WriteTransaction, nodes: Sequence[DataNode], after: Placement) -> None:
        """One server holds everything, as before the first node was added."""
        hide_fleet(transaction)
        for node in nodes:
            part_with(transaction, node)
        store_fact(transaction, LAST_NUMBER_FACT, str(after.last_given))
        delete_nodes(transaction, *(node.number for node in nodes))

    def _of_name(self, name: str) -> DataNode:
        with self._database.own_rows.read() as session:
            node = named(read_nodes(session), name)
        if node.number == 0:
            raise Unprocessable("the coordinator holds what is of the whole fleet and stays")
        return node
