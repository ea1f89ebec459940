"""Objects of all servers of a fleet, which share one store: what none of them lists is deleted."""

from datetime import timedelta

import structlog

from tierscope.core.clock import Clock
from tierscope.core.errors import Unavailable
from tierscope.core.objects.store import ObjectStore
from tierscope.storage.nodes.moving import try_move_lock
from tierscope.storage.objects.rows import KINDS
from tierscope.usecases.nodes.fleet import Nodes
from tierscope.usecases.objects.mover import MoveObjects, sweep

log = structlog.get_logger(__name__)


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
        servers = [nodes.own(number) for number in nodes.numbers()]
        try:
            return sum(sweep(servers, store, kind, day) for kind in KINDS)
        except Unavailable as error:
            log.warning("objects that nobody lists stay for now", cause=error.detail)
            return 0
