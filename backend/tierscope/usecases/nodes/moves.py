"""Moving hosts with their history from one server of a fleet to another, while they send.

Some hosts at a time: what they send is refused while their rows are copied, so that their agents keep it and send it
again. The copy is one transaction on the new server, and nobody sees it. Then one transaction of the coordinator says
that the hosts are there, and all reads and writes go there from that moment on. What was left behind is deleted last.

A move that is cut off leaves its hosts where the coordinator says that they are: before that transaction they take
batches again after `HELD_SECONDS`, or once a move begins. The next move deletes what it left on either side first.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import structlog

from tierscope.core.clock import Clock, utc_now
from tierscope.core.database import Database
from tierscope.core.errors import Conflict, NotFound, TierscopeError, Unavailable
from tierscope.storage.access.credentials import AuditRow, append_audit
from tierscope.storage.base.subjects import find_host
from tierscope.storage.nodes.counts import forget_counts
from tierscope.storage.nodes.foreign import cut_anew, drop_pieces, lock_fleet, make_pieces
from tierscope.storage.nodes.moving import (
    Mark,
    copy_hosts,
    delete_hosts,
    disk_was_full,
    hold_back,
    hold_for_good,
    hold_on,
    hosts_in,
    let_go,
    make_room,
    raise_edges,
    read_marks,
    store_anew,
    take_time,
)
from tierscope.storage.nodes.placement import Span
from tierscope.storage.nodes.rows import (
    DataNode,
    lock_nodes,
    note_draining,
    read_nodes,
    read_placement,
    store_placement,
)
from tierscope.usecases.nodes.fleet import Nodes
from tierscope.usecases.nodes.room import Room, spread
from tierscope.usecases.nodes.turn import Turn, named, numbered, require_there

HOSTS_AT_ONCE = 8
HELD_SECONDS = 300.0
"""For how long hosts are refused at most after the process that moves them was killed; it is renewed table by table."""
log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Moved:
    """Hosts that were moved, and how many rows that were."""

    hosts: int
    rows: int
    to: str
    """The node that has them now."""
    left: int
    """Hosts that are still to be moved by the same command."""
    disks_unseen: tuple[str, ...] = ()
    """Nodes whose free disk is not seen from here: whether they have room was not checked."""


@dataclass(frozen=True, slots=True)
class Drained:
    """What a node has lost."""

    hosts: int
    rows: int
    disks_unseen: tuple[str, ...] = ()
    """Nodes whose free disk is not seen from here: whether they have room was not checked."""


class Moves:
    """Moves hosts between nodes. One process does at a time."""

    def __init__(self, database: Database, *, clock: Clock = utc_now) -> None:
        self._database = database
        self._nodes = Nodes(database)
        self._turn = Turn(database, self._nodes)
        self._room = Room(self._nodes)
        self._clock = clock

    def move(
        self, public_ids: Sequence[str], to: str, *, actor: str, told: Callable[[Moved], None] = lambda _: None
    ) -> Moved:
        """Moves hosts to a node; those that are there already stay.

        Raises:
            NotFound: there is no such host or node.
            Conflict: a node is away or has no room, or somebody else moves hosts.
            Unavailable: a server does not answer, is busy or has no room; the hosts that are left are where they were.
        """
        with self._turn.alone():
            with self._database.read() as session:
                nodes, placement = read_nodes(session), read_placement(session)
                target = named(nodes, to)
                require_there(target)
                found = {public_id: find_host(session, public_id) for public_id in dict.fromkeys(public_ids)}
            missing = [public_id for public_id, host in found.items() if host is None]
            if missing:
                raise NotFound(f"no host has the id {missing[0][:40]!r}")
            ids = sorted(host.id for host in found.values() if host is not None)
            moving = [host_id for host_id in ids if placement.node_of(host_id) != target.number]
            sources: dict[int, list[Span]] = {}
            for host_id in moving:
                sources.setdefault(placement.node_of(host_id), []).append((host_id, host_id + 1))
            for number in sources:
                require_there(numbered(nodes, number))
            needed = sum(self._room.size(numbered(nodes, number), spans) for number, spans in sources.items())
            unseen = self._room.require({target: needed})
            self._note(actor, "host.move", to, {"hosts": len(moving)})
            rows = 0
            for done, host_id in enumerate(moving, start=1):
                source = numbered(nodes, placement.node_of(host_id))
                moved = self._move_span((host_id, host_id + 1), source, target)
                rows += moved
                told(Moved(1, moved, to, len(moving) - done))
            return Moved(len(moving), rows, to, 0, unseen)

    def drain(self, name: str, *, actor: str, told: Callable[[Moved], None] = lambda _: None) -> Drained:
        """Lets a node take no new hosts and moves all that it has, each time to the emptiest of the others.

        It can be cut off anywhere, and goes on where it was when it is called again.

        Raises:
            NotFound: there is no such node.
            Unprocessable: it is the only one.
            Conflict: the node is away, the others have no room, or somebody else moves hosts.
            Unavailable: no other node takes hosts; or a server does not answer, is busy or has no room. Hosts that are
                left are where they were.
        """
        with self._turn.alone():
            with self._database.own_rows.read() as session:
                nodes = read_nodes(session)
                source = named(nodes, name)
                require_there(source)
            self._nodes.emptiest(but=source.number)
            unseen = self._room.require(self._planned(source, nodes))
            with self._database.write() as transaction:
                note_draining(transaction, source.number, draining=True)
            self._note(actor, "node.drain", name, {})
            hosts = rows = 0
            while (found := self._next(source)) is not None:
                span, count, left = found
                target = numbered(nodes, self._nodes.emptiest(but=source.number))
                moved = self._move_span(span, source, target)
                hosts, rows = hosts + count, rows + moved
                told(Moved(count, moved, target.name, left))
            return Drained(hosts, rows, unseen)

    def fill(self, name: str, *, actor: str) -> None:
        """Lets a node that was drained take new hosts again.

        Raises:
            NotFound: there is no such node.
        """
        with self._database.own_rows.write() as transaction:
            node = named(read_nodes(transaction), name)
            note_draining(transaction, node.number, draining=False)
        self._note(actor, "node.fill", name, {})

    def _planned(self, source: DataNode, nodes: Sequence[DataNode]) -> dict[DataNode, int]:
        """How many bytes of a node's hosts go to each of the others."""
        spans = self._spans_of(source)
        with self._nodes.own(source.number).read() as own:
            hosts = sum(len(hosts_in(own, span)) for span in spans)
        if not hosts:
            return {}
        each = self._room.size(source, spans) / hosts
        shares = spread(hosts, self._nodes.held_by_takers(but=source.number))
        return {numbered(nodes, number): round(each * count) for number, count in shares.items()}

    def _spans_of(self, node: DataNode) -> list[Span]:
        with self._database.own_rows.read() as session:
            return [span for span, number in read_placement(session).spans() if number == node.number]

    def _next(self, source: DataNode) -> tuple[Span, int, int] | None:
        """The range of the next hosts of a node, how many they are and how many come after; None where it has none.

        It begins where the hosts before end, so that few ranges are made.
        """
        spans = self._spans_of(source)
        with self._nodes.own(source.number).read() as own:
            by_span = {span: hosts_in(own, span) for span in spans}
        left = sum(map(len, by_span.values()))
        for (first, _), ids in by_span.items():
            some = ids[:HOSTS_AT_ONCE]
            if some:
                return (first, some[-1] + 1), len(some), left - len(some)
        return None

    def _move_span(self, span: Span, source: DataNode, target: DataNode) -> int:
        """Moves the hosts of a range; how many rows that were."""
        here, there = self._nodes.own(source.number), self._nodes.own(target.number)
        self._turn.show_by_ranges(source, target)
        purge = self._turn.last_purge()
        with here.write() as transaction:
            hold_back(transaction, span, HELD_SECONDS)
        try:
            rows, waiting = self._copy(span, here, there)
            self._switch(span, source, target, waiting, purge)
        except BaseException as error:
            self._undo(span, target, here, there)
            if isinstance(error, Unavailable) and disk_was_full(error):
                raise Unavailable(
                    f"the disk of node {target.name} is full: its new hosts stay on {source.name}",
                    retry_after_seconds=60,
                    next_step=f"Free space on {target.name}, or add another node, and run this again.",
                ) from error
            raise
        self._nodes.forget()
        with here.write() as transaction:
            delete_hosts(transaction, span)
        self._tidy(source, target)
        return rows

    def _copy(self, span: Span, here: Database, there: Database) -> tuple[int, list[Mark]]:
        def go_on() -> None:
            with here.write() as renewing:
                if not hold_on(renewing, span, HELD_SECONDS):
                    raise _too_slow()

        with here.snapshot() as source:
            waiting = read_marks(source, span)
            with there.write() as transaction:
                raise_edges(source, transaction)
                make_room(source, transaction, span)
            with self._database.own_rows.read() as names, there.write() as transaction:
                take_time(transaction)
                rows = copy_hosts(source, transaction, names, span, going_on=go_on)
        return rows, waiting

    def _switch(self, span: Span, source: DataNode, target: DataNode, waiting: list[Mark], purge: int) -> None:
        """From here on the hosts are on the other node, for everybody."""
        with self._database.own_rows.read() as session:
            after = read_placement(session).moved(span, target.number)
        for node in (source, target):
            with self._nodes.own(node.number).write() as own:
                make_pieces(own, node.number, after)
        self._turn.when_free(lambda: self._switch_at_once(span, target, waiting, purge))

    def _switch_at_once(self, span: Span, target: DataNode, waiting: list[Mark], purge: int) -> None:
        with self._database.write() as transaction:
            lock_nodes(transaction)
            before = read_placement(transaction)
            number = before.node_of(span[0])
            if number == target.number:  # the connection was lost as it committed
                return
            nodes = read_nodes(transaction)
            for node in (numbered(nodes, number), numbered(nodes, target.number)):
                require_there(node)
            self._turn.refuse_purged(transaction, purge)
            lock_fleet(transaction)
            # Nobody reads or writes through the coordinator now, and the row of a host says of its own server's writers
            # that it took none.
            with self._nodes.own(number).write() as source:
                if not hold_for_good(source, span):
                    raise _too_slow()
                with self._nodes.own(target.number).write() as there:
                    store_anew(source, there, span, waiting)
            after = before.moved(span, target.number)
            store_placement(transaction, after)
            forget_counts(transaction, number, target.number)
            cut_anew(transaction, nodes, before, after)
            transaction.renew_generation()

    def _undo(self, span: Span, target: DataNode, here: Database, there: Database) -> None:
        """Lets hosts stay, unless they moved though nobody could say so. What fails here the next move does."""
        try:
            with self._database.own_rows.read() as session:
                moved = read_placement(session).node_of(span[0]) == target.number
            if not moved:
                with here.write() as transaction:
                    let_go(transaction, span)
            with (here if moved else there).write() as transaction:
                delete_hosts(transaction, span)
        except TierscopeError as error:
            log.warning("what a move left behind could not be deleted", cause=error.detail)

    def _tidy(self, *nodes: DataNode) -> None:
        with self._database.own_rows.read() as session:
            placement = read_placement(session)
        for node in nodes:
            with self._nodes.own(node.number).write() as own:
                drop_pieces(own, (node.number, placement))

    def _note(self, actor: str, action: str, subject: str, detail: dict[str, object]) -> None:
        with self._database.own_rows.write() as transaction:
            append_audit(transaction, AuditRow(self._clock(), actor, action, subject, detail))


def _too_slow() -> Conflict:
    return Conflict("hosts sent again before their copy was whole: they stay", next_step="Run this again.")
