"""The worker's part of removing a host or a service: step by step, one transaction each, from where the job stands.

A step that was cut off is done again, which removes nothing twice: rows and the report change in one transaction.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

import structlog
from sqlalchemy import text

from tierscope.core.clock import Clock
from tierscope.core.database import Database, WriteTransaction
from tierscope.storage import purges as stored
from tierscope.storage.partitions import chunk_spans
from tierscope.storage.purge_rollups import DAY, forget_in_heat, forget_in_moves, rollup_days, services_of_host
from tierscope.storage.purge_steps import (
    ChunkStep,
    GoneStep,
    RollupStep,
    RowStep,
    SettleStep,
    Step,
    make_steps,
    statement_values,
)
from tierscope.storage.purges import PurgeRow

_LOCK_KEY = 0x7469_6572_7075_7267  # "tierpurg": one worker at a time
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


class PurgeWork:
    """Works through the jobs, oldest first."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    def run(self, *, at_most: timedelta = timedelta(seconds=50)) -> Purged:
        """Work until nothing is left, or for `at_most`."""
        deadline = self._clock() + at_most
        finished = rows = 0
        while self._clock() < deadline:
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
                lock = text("SELECT pg_try_advisory_xact_lock(:key)")
                if not transaction.execute(lock, {"key": _LOCK_KEY}).scalar_one():
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
            removed={step.name: part.rows},
            now=self._clock(),
        )
        return part.rows, place == len(steps)


def _do(transaction: WriteTransaction, step: Step, purge: PurgeRow) -> _Part:
    if isinstance(step, ChunkStep):
        return _do_chunk(transaction, step, purge)
    if isinstance(step, RollupStep):
        return _do_rollup(transaction, step, purge)
    if isinstance(step, SettleStep):
        return _settle(transaction, purge)
    if isinstance(step, GoneStep):
        values = {"number": purge.subject.number}
        left = transaction.execute(text(step.statement), values).scalar_one()
        return _Part(0, None, waits=left > 0)
    return _Part(_execute(transaction, step, purge), None)


def _settle(transaction: WriteTransaction, purge: PurgeRow) -> _Part:
    if purge.position is None:
        return _Part(0, transaction.execute(text("SELECT clock_timestamp()")).scalar_one())
    writing = text(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
        " AND backend_xid IS NOT NULL AND xact_start < :since"
    )
    busy = transaction.execute(writing, {"since": purge.position}).scalar_one()
    return _Part(0, None, waits=busy > 0)


def _execute(transaction: WriteTransaction, step: RowStep, purge: PurgeRow) -> int:
    values = statement_values(purge.subject)
    named = {name: value for name, value in values.items() if f":{name}" in step.statement}
    return transaction.execute(text(step.statement), named).rowcount


def _do_chunk(transaction: WriteTransaction, step: ChunkStep, purge: PurgeRow) -> _Part:
    """The next chunk of a time table."""
    spans = [span for span in chunk_spans(transaction, step.entry) if not purge.position or span[1] > purge.position]
    if not spans:
        return _Part(0, None)
    start, end = spans[0]
    values = {name: value for name, value in statement_values(purge.subject).items() if f":{name}" in step.where}
    rows = transaction.execute(text(step.statement()), values | {"start": start, "end": end}).rowcount
    return _Part(rows, end if len(spans) > 1 else None)


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
