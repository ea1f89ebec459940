"""Moving hosts with their history from one server of a fleet to another, while they send.

Some hosts at a time: what they send is refused while their rows are copied, so that their agents keep it and send it
again. The copy is one transaction on the new server, and nobody sees it. Then one transaction of the coordinator says
that the hosts are there, and all reads and writes go there from that moment on. What was left behind is deleted last.

A move that is cut off leaves its hosts where the coordinator says that they are: before that transaction they take
batches again after `HELD_SECONDS`, or once a move begins. The next move deletes what it left on either side first.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Event

import structlog

from tierscope.core.clock import Clock, utc_now
from tierscope.core.database import Database, WriteTransaction
from tierscope.core.errors import Conflict, NotFound, TierscopeError, Unavailable, Unprocessable
from tierscope.storage.access.credentials import AuditRow, append_audit
from tierscope.storage.base.subjects import find_host
from tierscope.storage.nodes.foreign import cut, cut_anew, drop_pieces, lock_fleet, make_pieces
from tierscope.storage.nodes.moving import (
    Mark,
    away_from_home,
    copy_hosts,
    delete_hosts,
    disk_was_full,
    fed_by_prometheus,
    hold_back,
    hold_for_good,
    hold_on,
    hosts_in,
    let_go,
    make_room,
    public_ids,
    raise_edges,
    read_marks,
    store_anew,
    take_time,
    try_move_lock,
)
from tierscope.storage.nodes.placement import Span
from tierscope.storage.nodes.rows import (
    DataNode,
    lock_nodes,
    note_cut,
    note_draining,
    read_nodes,
    read_placement,
    store_placement,
)
from tierscope.storage.operate.purge_parts import try_purge_lock
from tierscope.storage.operate.purges import last_purge, next_purge
from tierscope.usecases.nodes.fleet import Nodes, until_free

HOSTS_AT_ONCE = 8
HELD_SECONDS = 300.0
"""For how long hosts are refused at most after the process that moves them was killed; it is renewed table by table."""
SWITCH_TRIES = 60
_MOST_WAIT_SECONDS = 2.0
"""Between two of them, so that others read meanwhile."""
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


@dataclass(frozen=True, slots=True)
class Drained:
    """What a node has lost."""

    hosts: int
    rows: int
    stay: tuple[str, ...]
    """Hosts that cannot be moved: samples of Prometheus feed them, which come to the coordinator."""


class Moves:
    """Moves hosts between nodes. One process does at a time."""

    def __init__(self, database: Database, *, clock: Clock = utc_now) -> None:
        self._database = database
        self._nodes = Nodes(database)
        self._clock = clock

    def move(
        self, public_ids: Sequence[str], to: str, *, actor: str, told: Callable[[Moved], None] = lambda _: None
    ) -> Moved:
        """Moves hosts to a node; those that are there already stay.

        Raises:
            NotFound: there is no such host or node.
            Conflict: samples of Prometheus feed a host, a node is away, or somebody else moves hosts.
            Unavailable: a server does not answer, is busy or has no room; the hosts that are left are where they were.
        """
        with self._alone():
            with self._database.read() as session:
                nodes, placement = read_nodes(session), read_placement(session)
                target = _named(nodes, to)
                _require_there(target)
                found = {public_id: find_host(session, public_id) for public_id in dict.fromkeys(public_ids)}
            missing = [public_id for public_id, host in found.items() if host is None]
            if missing:
                raise NotFound(f"no host has the id {missing[0][:40]!r}")
            ids = sorted(host.id for host in found.values() if host is not None)
            moving = [host_id for host_id in ids if placement.node_of(host_id) != target.number]
            with self._database.own_rows.read() as session:
                fed = fed_by_prometheus(session) & set(moving)
            if fed:
                names = [public_id for public_id, host in found.items() if host is not None and host.id in fed]
                raise Conflict(
                    f"samples of Prometheus feed {', '.join(names[:5])}, and they come to the coordinator",
                    next_step="Leave them where they are, and move the others.",
                )
            self._note(actor, "host.move", to, {"hosts": len(moving)})
            rows = 0
            for done, host_id in enumerate(moving, start=1):
                source = _numbered(nodes, placement.node_of(host_id))
                _require_there(source)
                moved = self._move_span((host_id, host_id + 1), source, target)
                rows += moved
                told(Moved(1, moved, to, len(moving) - done))
            return Moved(len(moving), rows, to, 0)

    def drain(self, name: str, *, actor: str, told: Callable[[Moved], None] = lambda _: None) -> Drained:
        """Lets a node take no new hosts and moves all that it has, each time to the emptiest of the others.

        It can be cut off anywhere, and goes on where it was when it is called again.

        Raises:
            NotFound: there is no such node.
            Unprocessable: it is the only one.
            Conflict: the node is away, or somebody else moves hosts.
            Unavailable: no other node takes hosts; or a server does not answer, is busy or has no room. Hosts that are
                left are where they were.
        """
        with self._alone():
            with self._database.own_rows.read() as session:
                nodes = read_nodes(session)
                source = _named(nodes, name)
                _require_there(source)
                fed = fed_by_prometheus(session)
            self._nodes.emptiest(but=source.number)
            with self._database.write() as transaction:
                note_draining(transaction, source.number, draining=True)
            self._note(actor, "node.drain", name, {})
            hosts = rows = 0
            while (found := self._next(source, fed)) is not None:
                span, count, left = found
                target = _numbered(nodes, self._nodes.emptiest(but=source.number))
                moved = self._move_span(span, source, target)
                hosts, rows = hosts + count, rows + moved
                told(Moved(count, moved, target.name, left))
            return Drained(hosts, rows, self._ids_of(source, fed))

    def fill(self, name: str, *, actor: str) -> None:
        """Lets a node that was drained take new hosts again.

        Raises:
            NotFound: there is no such node.
        """
        with self._database.own_rows.write() as transaction:
            node = _named(read_nodes(transaction), name)
            note_draining(transaction, node.number, draining=False)
        self._note(actor, "node.fill", name, {})

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Keeps others from moving hosts, once what a move before left behind is deleted."""
        with self._database.write() as holding:
            if not read_nodes(holding):
                raise Unprocessable("the fleet has one database server", next_step="Add one: `tierscope nodes add`.")
            if not try_move_lock(holding):
                raise Conflict("somebody else moves hosts now", next_step="Wait until that has ended.")
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

    def _next(self, source: DataNode, fed: set[int]) -> tuple[Span, int, int] | None:
        """The range of the next hosts of a node, how many they are and how many come after; None where it has none.

        It begins where the hosts before end, so that few ranges are made.
        """
        with self._database.own_rows.read() as session:
            placement = read_placement(session)
        spans = [span for span, node in placement.spans() if node == source.number]
        with self._nodes.own(source.number).read() as own:
            by_span = {span: hosts_in(own, span) for span in spans}
        left = sum(len(set(ids) - fed) for ids in by_span.values())
        for (first, _), ids in by_span.items():
            run: list[int] = []
            begin = first
            for host_id in ids:
                if host_id in fed and run:
                    break
                if host_id in fed:
                    begin = host_id + 1
                elif len(run) < HOSTS_AT_ONCE:
                    run.append(host_id)
            if run:
                return (begin, run[-1] + 1), len(run), left - len(run)
        return None

    def _move_span(self, span: Span, source: DataNode, target: DataNode) -> int:
        """Moves the hosts of a range; how many rows that were."""
        here, there = self._nodes.own(source.number), self._nodes.own(target.number)
        self._cut(source, target)
        purge = self._last_purge()
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

    def _cut(self, *nodes: DataNode) -> None:
        """Shows nodes by ranges, before any of them has rows that are not to be shown."""
        with self._database.own_rows.read() as session:
            placement = read_placement(session)
            whole = [node for node in read_nodes(session) if node.number in {n.number for n in nodes} and not node.cut]
        for node in whole:
            with self._nodes.own(node.number).write() as own:
                make_pieces(own, node.number, placement)
        if whole:
            self._try(lambda: self._show_cut(whole))

    def _show_cut(self, whole: Sequence[DataNode]) -> None:
        with self._database.write() as transaction:
            lock_nodes(transaction)
            placement = read_placement(transaction)
            lock_fleet(transaction)
            there = {node.number: node for node in read_nodes(transaction)}
            for node in whole:
                _require_there(there[node.number])
                cut(transaction, there[node.number], placement)
                note_cut(transaction, node.number)

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
        self._try(lambda: self._switch_at_once(span, target, waiting, purge))

    def _switch_at_once(self, span: Span, target: DataNode, waiting: list[Mark], purge: int) -> None:
        with self._database.write() as transaction:
            lock_nodes(transaction)
            before = read_placement(transaction)
            number = before.node_of(span[0])
            if number == target.number:  # the connection was lost as it committed
                return
            nodes = read_nodes(transaction)
            for node in (_numbered(nodes, number), _numbered(nodes, target.number)):
                _require_there(node)
            self._refuse_purged(transaction, purge)
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
            cut_anew(transaction, nodes, before, after)

    @staticmethod
    def _try(work: Callable[[], None]) -> None:
        """Does what waits for the tables of the fleet, as often as it takes: others read meanwhile."""
        try:
            until_free(work, tries=SWITCH_TRIES, pause=lambda tried: Event().wait(min(_MOST_WAIT_SECONDS, tried / 4)))
        except Unavailable as error:
            raise Unavailable(
                f"the hosts stay where they are: {error.detail}",
                retry_after_seconds=60,
                next_step="Run this again once long reads of the fleet, such as exports, have ended.",
            ) from error

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

    def _last_purge(self) -> int:
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

    def _refuse_purged(self, transaction: WriteTransaction, purge: int) -> None:
        if not try_purge_lock(transaction):
            raise Unavailable("data of a host or a service are being removed", retry_after_seconds=5)
        if last_purge(transaction) != purge:
            raise Conflict("data were removed while hosts were copied: they stay", next_step="Run this again.")

    def _ids_of(self, node: DataNode, numbers: set[int]) -> tuple[str, ...]:
        with self._nodes.own(node.number).read() as session:
            return public_ids(session, numbers)

    def _note(self, actor: str, action: str, subject: str, detail: dict[str, object]) -> None:
        with self._database.own_rows.write() as transaction:
            append_audit(transaction, AuditRow(self._clock(), actor, action, subject, detail))


def _too_slow() -> Conflict:
    return Conflict("hosts sent again before their copy was whole: they stay", next_step="Run this again.")


def _named(nodes: Sequence[DataNode], name: str) -> DataNode:
    for node in nodes:
        if node.name == name:
            return node
    raise NotFound(f"no node has the name {name[:40]!r}", next_step="See `tierscope nodes list`.")


def _numbered(nodes: Sequence[DataNode], number: int) -> DataNode:
    return next(node for node in nodes if node.number == number)


def _require_there(node: DataNode) -> None:
    if node.away_since is not None:
        raise Conflict(
            f"node {node.name} is away since {node.away_since:%Y-%m-%d %H:%M:%S} UTC",
            next_step="Run this again once it answers.",
        )
