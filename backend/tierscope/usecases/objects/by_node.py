"""Objects of all servers of a fleet, which share one store: what none of them lists is deleted."""

from collections.abc import Callable
from contextlib import nullcontext
from datetime import timedelta
from typing import TypeVar

import structlog

from tierscope.core.clock import Clock, TimeLimit
from tierscope.core.database import Database
from tierscope.core.errors import Unavailable
from tierscope.core.objects.store import ObjectStore
from tierscope.storage.nodes.moving import try_move_lock
from tierscope.storage.objects.rows import KINDS
from tierscope.usecases.nodes.backups import hosts_stay
from tierscope.usecases.nodes.fleet import Nodes, answers
from tierscope.usecases.objects.mover import Moved, MoveObjects, sweep

Done = TypeVar("Done")
log = structlog.get_logger(__name__)


class ObjectsByNode:
    """Each server's own rows, with its own list of objects. Names of servers that do not answer are told."""

    def __init__(self, database: Database, store: ObjectStore, clock: Clock) -> None:
        self._database = database
        self._nodes = Nodes(database)
        self._store = store
        self._clock = clock

    def move(self, *, at_most: timedelta) -> tuple[Moved, tuple[str, ...]]:
        """Move all hours that are kept, on one server after the other; what hosts have that move now stays.

        Raises:
            Unavailable: the store cannot be reached.
        """
        limit = TimeLimit(self._clock(), at_most)
        done, left = self._on_each(
            lambda own: MoveObjects(own, self._store, self._clock).run(full=True, at_most=limit.left(self._clock()))
        )
        sums = (sum(getattr(one, name) for one in done) for name in ("objects", "size_bytes", "deleted"))
        return Moved(*sums), left

    def bring_back(self) -> tuple[int, tuple[str, ...]]:
        """Move all bodies into their rows again; how many objects there were. No host moves meanwhile.

        Raises:
            Conflict: hosts move between servers now.
            Unavailable: the store cannot be reached.
        """
        with hosts_stay(self._database) if self._nodes.listed() else nullcontext():
            done, left = self._on_each(lambda own: MoveObjects(own, self._store, self._clock).bring_back())
        return sum(done), left

    def _on_each(self, work: Callable[[Database], Done]) -> tuple[list[Done], tuple[str, ...]]:
        nodes = self._nodes.listed()
        if not nodes:
            return [work(self._database)], ()
        there = {node.name: self._nodes.own(node.number) for node in nodes}
        left = tuple(name for name, own in there.items() if not answers(own))
        return [work(own) for name, own in there.items() if name not in left], left


def keep_objects(nodes: Nodes, store: ObjectStore, clock: Clock) -> int:
    """A full run on each server; then what lies unlisted of the day before yesterday, as after a restore.

    Returns how many objects no server listed. They stay for now where hosts move, whose objects change lists, or where
    a server does not answer, as it may list them.
    """
    nodes.on_each(lambda own: MoveObjects(own, store, clock).run(full=True))
    day = clock() - timedelta(days=2)
    with nodes.coordinator.own_rows.write() as holding:
        if not try_move_lock(holding):
            log.warning("objects that nobody lists stay for now: hosts move")
            return 0
        nodes.forget()  # hosts may have moved to a server that was added a moment ago
        servers = [nodes.own(number) for number in nodes.numbers()]
        try:
            return sum(sweep(servers, store, kind, day) for kind in KINDS)
        except Unavailable as error:
            log.warning("objects that nobody lists stay for now", cause=error.detail)
            return 0
