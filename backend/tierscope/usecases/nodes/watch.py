"""Looks whether each server of a fleet answers: one that does not is left out of answers until it does again."""

import threading
from datetime import timedelta

import structlog

from tierscope.core.clock import Clock, utc_now
from tierscope.core.errors import TierscopeError
from tierscope.storage.nodes.counts import count_in_service, read_count, store_counts
from tierscope.storage.nodes.foreign import attach, detach, lock_fleet
from tierscope.storage.nodes.numbers import read_revision
from tierscope.storage.nodes.rows import DataNode, lock_nodes, note_away, read_nodes, read_placement
from tierscope.usecases.nodes.fleet import Nodes, until_free
from tierscope.usecases.nodes.restoring import finish_if_free

LOOK_SECONDS = 5.0
ALONE_SECONDS = 30.0
"""Between looks where one server holds everything, and only the list could change that."""
NOTE_TRIES = 20
COUNTED_EVERY = timedelta(minutes=1)
"""How old the count of a node's hosts grows while the node answers."""
_PAUSE_SECONDS = 0.3
log = structlog.get_logger(__name__)


class NodeWatch:
    """Asks each node every few seconds, in a thread of its own. Any number of processes may do so at once."""

    def __init__(self, nodes: Nodes, *, clock: Clock = utc_now) -> None:
        self._nodes = nodes
        self._clock = clock
        self._silent: set[int] = set()
        self._first = True
        self._revisions: dict[int, str] = {}
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="node-watch", daemon=True)
        self.shown: tuple[DataNode, ...] = ()
        """All nodes as the last look found them, without another question; none where there is one server."""

    @property
    def others(self) -> list[str]:
        """Names of those that answer, with a schema that is not the coordinator's."""
        revisions = self._revisions
        return [node.name for node in self.shown if revisions.get(node.number, revisions.get(0)) != revisions.get(0)]

    @property
    def away(self) -> list[str]:
        """Names of those that did not answer."""
        return [node.name for node in self.shown if node.away_since is not None]

    def start(self) -> None:
        """Begins to look."""
        self._thread.start()

    def stop(self) -> None:
        """Ends after the look that runs."""
        self._ended.set()
        if self._thread.is_alive():
            self._thread.join()

    def look(self) -> list[str]:
        """Ask each node once; names of those whose state changed. A node is away once it was silent twice in a row.

        The first look, and each after which one was silent, goes on with a restore that was cut off: it may have left
        a node under another name.

        Raises:
            Unavailable: the coordinator does not answer.
        """
        if self._first or self._silent:
            finish_if_free(self._nodes.coordinator)
            self._first = False
        self._nodes.forget()
        changed = []
        for node in self._nodes.listed():
            if node.number == 0:
                self._answers(node)
                continue
            there, again = self._answers(node), node.number in self._silent
            self._silent = self._silent - {node.number} if there else self._silent | {node.number}
            if there == (node.away_since is not None) and (there or again) and self._note(node, away=not there):
                changed.append(node.name)
                log.warning("a node answers again" if there else "a node is away", node=node.name)
        if changed:
            self._nodes.forget()
        self.shown = self._nodes.listed()
        self._count()
        return changed

    def _run(self) -> None:
        while True:
            try:
                self.look()
            except TierscopeError as error:
                log.warning("nodes could not be looked at", cause=error.detail)
            except Exception:
                log.exception("nodes could not be looked at")
            if self._ended.wait(LOOK_SECONDS if self.shown else ALONE_SECONDS):
                return

    def _count(self) -> None:
        """Counts the hosts of nodes that answer, so that it is known how many answers lack once one does not."""
        there = [node.number for node in self.shown if node.number and node.number in self._revisions]
        if not there:
            return
        now = self._clock()
        with self._nodes.own(0).read() as session:
            kept = {number: read_count(session, number) for number in there}
            placement = read_placement(session)
        counts = {}
        for number, count in kept.items():
            if count is not None and timedelta() <= now - count[1] < COUNTED_EVERY:
                continue
            spans = [span for span, holder in placement.spans() if holder == number]
            try:
                with self._nodes.own(number).read() as own:
                    counts[number] = count_in_service(own, spans)
            except TierscopeError:
                continue
        if counts:
            with self._nodes.own(0).write() as transaction:
                store_counts(transaction, counts, placement, at=now)

    def _answers(self, node: DataNode) -> bool:
        try:
            with self._nodes.own(node.number).read() as session:
                self._revisions[node.number] = read_revision(session)
        except TierscopeError:
            self._revisions.pop(node.number, None)
            return False
        return True

    def _note(self, node: DataNode, *, away: bool) -> bool:
        """Notes it once nobody uses the tables of the fleet for a moment.

        Who waits for their end lets no read begin meanwhile, and some reads begin within others: so it waits briefly,
        and again and again.
        """
        return until_free(
            lambda: self._note_at_once(node, away=away),
            tries=NOTE_TRIES,
            pause=lambda _: self._ended.wait(_PAUSE_SECONDS),
        )

    def _note_at_once(self, node: DataNode, *, away: bool) -> bool:
        with self._nodes.own(0).write() as transaction:
            lock_nodes(transaction)
            noted = note_away(transaction, node.number, self._clock() if away else None)
            if noted:
                lock_fleet(transaction)
                (there,) = (one for one in read_nodes(transaction) if one.number == node.number)
                (detach if away else attach)(transaction, there, read_placement(transaction))
        return noted
