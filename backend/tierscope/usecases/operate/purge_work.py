"""The worker's part of removing a host or a service: step by step, one transaction each, from where the job stands.

A step that was cut off is done again, which removes nothing twice: rows and the report change in one transaction. In a
fleet of several servers time tables lose their rows on each server first, in a transaction there; the report of a step
that was cut off between the two says fewer rows than it removed.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import structlog

from tierscope.core.clock import Clock, TimeLimit
from tierscope.core.database import WriteTransaction
from tierscope.storage.nodes.moving import delete_hosts
from tierscope.storage.nodes.placement import KEYS
from tierscope.storage.operate import purges as stored
from tierscope.storage.operate.purge_parts import (
    change_chunk,
    change_rows,
    count_left,
    database_time,
    end_targets,
    try_purge_lock,
    writers_since_before,
)
from tierscope.storage.operate.purge_rollups import DAY, forget_in_heat, forget_in_moves, rollup_days, services_of_host
from tierscope.storage.operate.purge_steps import (
    ChunkStep,
    GoneStep,
    RollupStep,
    RowStep,
    SettleStep,
    Step,
    TargetStep,
    make_steps,
)
from tierscope.storage.operate.purges import PurgeRow
from tierscope.storage.tables import hosts, services
from tierscope.usecases.nodes.fleet import Nodes

_SUBJECTS = (hosts.name, services.name)
_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Purged:
    """What one run did: jobs finished, and rows removed or rewritten."""

    finished: int
    rows: int


@dataclass(frozen=True, slots=True)
class _Part:
    """Rows of a part of a step; `position` None = the step is done. `waits`: nothing can be done now."""

    rows: int
    position: datetime | None
    waits: bool = False
    others: Mapping[str, int] = field(default_factory=dict)
    """Rows of other tables than the step is named after."""


class PurgeWork:
    """Works through the jobs, oldest first."""

    def __init__(self, nodes: Nodes, clock: Clock) -> None:
        self._nodes = nodes
        self._database = nodes.coordinator
        self._clock = clock

    def run(self, *, at_most: timedelta = timedelta(seconds=50)) -> Purged:
        """Work until nothing is left, or for `at_most`."""
        limit = TimeLimit(self._clock(), at_most)
        finished = rows = 0
        while not limit.is_over(self._clock()):
            done = self._next_part()
            if done is None:
                break
            rows += done[0]
            finished += done[1]
        return Purged(finished, rows)

    def _next_part(self) -> tuple[int, bool] | None:
        """Rows of one part of the oldest job, and whether it is done; None where there is nothing to do now."""
        purge: PurgeRow | None = None
        try:
            with self._database.write() as transaction:
                if not try_purge_lock(transaction):
                    return None
                purge = stored.next_purge(transaction)
                return None if purge is None else self._work(transaction, purge)
        except Exception as error:  # noqa: BLE001 - whatever it was, the next wake-up tries again
            if purge is not None:
                _log.exception("a purge failed and is tried again", purge=purge.id, step=purge.step)
                with self._database.write() as transaction:
                    stored.note_error(transaction, purge, f"{type(error).__name__}: {error}"[:500])
            return None

    def _work(self, transaction: WriteTransaction, purge: PurgeRow) -> tuple[int, bool] | None:
        steps = make_steps(purge.kind)
        step = steps[purge.step]
        several = len(self._nodes.numbers()) > 1
        part = self._do_on_nodes(step, purge) if several else None
        if part is None:
            part = _do(transaction, step, purge)
        if part.waits:
            return None
        place = purge.step + 1 if part.position is None else purge.step
        stored.move_purge(
            transaction,
            purge,
            step=place,
            steps=len(steps),
            position=part.position,
            removed={step.name: part.rows, **part.others},
            now=self._clock(),
        )
        if place == len(steps) or step.name in _SUBJECTS:
            transaction.renew_generation()
        return part.rows, place == len(steps)

    def _do_on_nodes(self, step: Step, purge: PurgeRow) -> _Part | None:
        """What is done on each server by itself; None for what the coordinator does through the tables of all."""
        if purge.kind == "host":
            self._nodes.forget()  # it may have moved before the job began; it does not while that is open
            if purge.step == 0:
                self._delete_copies(purge)
        if isinstance(step, ChunkStep):
            return self._change_chunks(step, purge)
        if isinstance(step, SettleStep) and purge.position is not None:
            waits = False
            for number in self._nodes.numbers():
                with self._nodes.own(number).write() as own:
                    waits = waits or writers_since_before(own, purge.position) > 0
            return _Part(0, None, waits=waits)
        if isinstance(step, RowStep) and step.name == services.name:
            for number in self._nodes.numbers():
                if number:  # copies, which rows of that server referred to
                    with self._nodes.own(number).write() as own:
                        change_rows(own, step, purge)
                        own.renew_generation()
        return None

    def _delete_copies(self, purge: PurgeRow) -> None:
        """Deletes what a move that was killed has left of a host on a server that it is not on."""
        self._nodes.listed()
        home = self._nodes.of_host(purge.subject.number)
        for node in self._nodes.listed():
            own = self._nodes.own(node.number)
            if node.cut and own is not home:
                with own.write() as transaction:
                    delete_hosts(transaction, (purge.subject.number, purge.subject.number + 1))

    def _change_chunks(self, step: ChunkStep, purge: PurgeRow) -> _Part:
        """The next chunk of each server that may hold rows; the earliest of their ends is where it goes on."""
        if step.entry.table not in KEYS:
            numbers: tuple[int, ...] = (0,)
        elif purge.kind == "host":
            self._nodes.listed()
            numbers = (self._nodes.number_of(purge.subject.number),)
        else:
            numbers = self._nodes.numbers()
        rows, ends = 0, []
        for number in numbers:
            with self._nodes.own(number).write() as own:
                changed, end = change_chunk(own, step, purge)
            rows += changed
            ends += [] if end is None else [end]
        return _Part(rows, min(ends, default=None))


def _do(transaction: WriteTransaction, step: Step, purge: PurgeRow) -> _Part:
    if isinstance(step, ChunkStep):
        return _Part(*change_chunk(transaction, step, purge))
    if isinstance(step, TargetStep):
        removed = end_targets(transaction, step, purge)
        return _Part(removed.pop(step.name), None, others=removed)
    if isinstance(step, RollupStep):
        return _do_rollup(transaction, step, purge)
    if isinstance(step, SettleStep):
        return _settle(transaction, purge)
    if isinstance(step, GoneStep):
        return _Part(0, None, waits=count_left(transaction, step, purge) > 0)
    return _Part(change_rows(transaction, step, purge), None)


def _settle(transaction: WriteTransaction, purge: PurgeRow) -> _Part:
    if purge.position is None:
        return _Part(0, database_time(transaction))
    return _Part(0, None, waits=writers_since_before(transaction, purge.position) > 0)


def _do_rollup(transaction: WriteTransaction, step: RollupStep, purge: PurgeRow) -> _Part:
    """The next day of a rollup of services."""
    host = purge.subject.number
    services = services_of_host(transaction, host)
    days = rollup_days(transaction, step.name, services)
    if days is None:
        return _Part(0, None)
    day = purge.position or days[0]
    if step.name == "service_moves_1h":
        rows = forget_in_moves(transaction, services, host, day)
    else:
        rows = forget_in_heat(transaction, step.name, services, host, day)
    following = day + DAY
    return _Part(rows, following if following <= days[1] else None)
