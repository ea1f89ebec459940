"""The marks of all servers of a fleet: each server's own by its own rows, those of the fleet by the coordinator."""

from collections.abc import Callable, Sequence
from datetime import timedelta
from functools import partial

import structlog

from tierscope.core.clock import Clock, was_within
from tierscope.core.errors import Unavailable
from tierscope.domain.base.jobs import JOBS, OF_THE_FLEET, Job
from tierscope.usecases.nodes.fleet import Nodes
from tierscope.usecases.rebuild.drain import Drained, DrainMarks
from tierscope.usecases.rebuild.homes import HostHomes
from tierscope.usecases.rebuild.open_buckets import OpenBuckets

OF_HOSTS = tuple(job for job in JOBS if job not in OF_THE_FLEET)
AWAITED = timedelta(hours=6)
"""So long what is made of all hosts waits for a node that is away."""
log = structlog.get_logger(__name__)


class DrainNodes:
    """Rebuilds what marks ask for, on each server that this worker is near."""

    def __init__(self, nodes: Nodes, clock: Clock, *, near: Sequence[int] = ()) -> None:
        """`near`: numbers of the nodes that it takes; all of them where none is named."""
        self._nodes = nodes
        self._clock = clock
        self._near = frozenset(near)
        self._open: dict[int, OpenBuckets] = {}

    def run(self, *, at_most: timedelta = timedelta(seconds=50)) -> Drained:
        """Work until nothing is due, or for `at_most`; what is left waits for the next run."""
        numbers = [number for number in self._nodes.numbers() if not self._near or number in self._near]
        if self._nodes.numbers() == (0,):
            return self._drain(0, at_most)
        each = at_most / (len(numbers) + 1)
        done = Drained()
        for number in numbers:
            _add(done, self._on(number, partial(self._drain, number, each, OF_HOSTS)))
        if 0 in numbers and not self._awaits_a_node():
            fleet = DrainMarks(self._nodes.coordinator, self._clock, jobs=OF_THE_FLEET)
            _add(done, self._on(0, partial(fleet.run, at_most=each)))
        return done

    def _awaits_a_node(self) -> bool:
        """Whether a node is away that may be back soon: what is made of all hosts now would lack its own for good."""
        since = [node.away_since for node in self._nodes.listed() if node.away_since is not None]
        return any(was_within(AWAITED, at, self._clock()) for at in since)

    def _drain(self, number: int, at_most: timedelta, jobs: Sequence[Job] = JOBS) -> Drained:
        kept = self._open.setdefault(number, OpenBuckets())
        own = self._nodes.own(number)
        homes = HostHomes(self._nodes)
        return DrainMarks(own, self._clock, open_buckets=kept, jobs=jobs, homes=homes).run(at_most=at_most)

    def _on(self, number: int, work: Callable[[], Drained]) -> Drained:
        try:
            return work()
        except Unavailable as error:
            # The others go on; its marks wait on it.
            log.warning("a node could not be worked on", node=number, cause=error.detail)
            return Drained()


def _add(done: Drained, more: Drained) -> None:
    for into, part in ((done.buckets, more.buckets), (done.failures, more.failures)):
        for kind, count in part.items():
            into[kind] = into.get(kind, 0) + count
