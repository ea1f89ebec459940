"""What a worker does for sweeps: take tasks, replay their runs on all cores, store each, and leave in good order."""

import json
import secrets
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import asdict, dataclass
from datetime import timedelta
from typing import TypeVar

import structlog

from tierscope.core.clock import Clock
from tierscope.core.database import Database
from tierscope.core.errors import TierscopeError, Unavailable
from tierscope.domain.simulate.sweep import POLICIES_LONGEST_FIRST, SweepRun, longest_first
from tierscope.domain.simulate.sweep_replay import Conditions
from tierscope.storage.simulate import sweeps as stored
from tierscope.storage.simulate.sweeps import SweepRow, TakenTask
from tierscope.usecases.simulate.load import Loaded, load_source
from tierscope.usecases.simulate.packed import pack_bands
from tierscope.usecases.simulate.runs import replay_to_store, work_at_once
from tierscope.usecases.simulate.spec import StoredSpec, read_spec

Done = TypeVar("Done")

AT_MOST = timedelta(seconds=60)
"""How long a wake-up works before it lets others to the worker; the next one goes on."""
LEASE_SECONDS = 15.0
MAX_TAKES = 5
"""Workers that die at a task before they have stored a run of it: then it fails."""
log = structlog.get_logger(__name__)


class TaskLost(Exception):
    """The task was cancelled, or another worker has it."""


@dataclass(slots=True)
class Worked:
    """What one wake-up did."""

    tasks: int = 0
    runs: int = 0


@dataclass(slots=True)
class _Held:
    """A task that this worker holds. `left`: its runs that are neither stored nor at work, the longest first."""

    task: TakenTask
    lease: "_Lease"
    loaded: Loaded
    conditions: Conditions
    left: deque[SweepRun]
    at_work: int = 0
    given_up: bool = False

    def give_up(self) -> None:
        """Begin no more of its runs; what is at work of it comes to nothing."""
        self.given_up = True
        self.left.clear()


class SweepWork:
    """Works through the tasks of one sweep after the other; what it has read of the last one stays in memory.

    `threads`: runs that are replayed at once; replays hold no lock of Python. Whenever a task has no run left to begin,
    the next one of its sweep is taken, so that policies of few runs keep all threads busy, too.
    """

    def __init__(
        self, database: Database, clock: Clock, *, threads: int = 1, lease_seconds: float = LEASE_SECONDS
    ) -> None:
        self._database = database
        self._threads = threads
        self._clock = clock
        self._lease_seconds = lease_seconds
        self._kept: tuple[int, Loaded] | None = None
        self._storing = threading.Lock()  # threads are more than connections

    def run(self, *, at_most: timedelta = AT_MOST) -> Worked:
        """Work until there is no task, or time is up; a task that is not through then waits for the next wake-up."""
        deadline = time.monotonic() + at_most.total_seconds()
        done = Worked()
        while time.monotonic() < deadline:
            task = self._take()
            if task is None:
                self._kept = None
                break
            self._work(task, done, deadline)
        return done

    def _take(self, *, beside: TakenTask | None = None) -> TakenTask | None:
        with self._database.write() as transaction:
            return stored.take_task(
                transaction,
                holder=secrets.token_hex(8),
                lease_seconds=self._lease_seconds,
                now=self._clock(),
                policies=POLICIES_LONGEST_FIRST,
                beside=beside,
            )

    def _work(self, first: TakenTask, done: Worked, deadline: float) -> None:
        """A task and others of its sweep. After the deadline no run begins, save the first."""
        held: list[_Held] = []
        jobs = self._jobs(first, held, done, deadline)
        try:
            with closing(work_at_once(jobs, self._replay_and_store, threads=self._threads)) as ended:
                for (one, _), stored_run in ended:
                    one.at_work -= 1
                    if self._guarded(one.task, stored_run.result):
                        done.runs += 1
                    else:
                        one.give_up()
                    if not (one.left or one.at_work):
                        self._release(one, "done")
            for one in held:
                if one.left:
                    self._release(one, "queued")
        finally:
            for one in held:
                one.lease.stop()

    def _jobs(
        self, first: TakenTask, held: list[_Held], done: Worked, deadline: float
    ) -> Iterator[tuple[_Held, SweepRun]]:
        """Runs to begin; tasks are taken for them and added to `held`.

        One run at least, however long the trace took to read: else a task could be taken again and again. A task that
        a worker has died at is worked on alone, so that it takes no other with it.
        """
        task: TakenTask | None = first
        begun = False
        while task is not None:
            done.tasks += 1
            one = self._open(task)
            if one is not None:
                held.append(one)
                while one.left:
                    if begun and time.monotonic() >= deadline:
                        return
                    begun = True
                    one.at_work += 1
                    yield one, one.left.popleft()
            if first.takes > 1 or time.monotonic() >= deadline:
                return
            task = self._take(beside=first)

    def _open(self, task: TakenTask) -> _Held | None:
        """Begin with a task: hold it and read its trace. None where nothing of it can be replayed, which is stored."""
        if task.takes > MAX_TAKES:
            self._leave(task, "failed", f"{MAX_TAKES} workers stopped at its next run without a result")
            return None
        lease = _Lease(self._database, task, self._lease_seconds)
        lease.start()
        one = self._guarded(task, lambda: self._read(task, lease))
        if one is None:
            lease.stop()
        elif not one.left:
            self._release(one, "done")
        return one

    def _read(self, task: TakenTask, lease: "_Lease") -> _Held:
        with self._database.read() as session:
            row = stored.find_sweep(session, task.public_id)
            finished = stored.finished_runs(session, task.sweep_id, task.policy)
        if row is None:
            raise TaskLost
        spec = read_spec(row.spec)
        loaded = self._load(row, spec, lease)
        left = [run for run in spec.runs() if run.policy == task.policy and run.number not in finished]
        return _Held(task, lease, loaded, spec.conditions(loaded.facts.interval_s), deque(longest_first(left)))

    def _guarded(self, task: TakenTask, work: Callable[[], Done]) -> Done | None:
        """What work on a task gives. None where it ended: what is wrong is stored with the task.

        Where the database is away nothing is stored: its lease runs out.
        """
        try:
            return work()
        except TaskLost:
            log.info("a sweep's task was taken back", sweep=task.public_id, policy=task.policy)
        except Unavailable:
            log.warning("the database is away; the task will be taken up again", sweep=task.public_id)
        except (TierscopeError, RuntimeError, ValueError) as error:
            self._leave(task, "failed", error.detail if isinstance(error, TierscopeError) else str(error))
        except Exception:
            log.exception("a sweep's task failed", sweep=task.public_id, policy=task.policy)
            self._leave(task, "failed", "something failed inside the service; its log says more")
        return None

    def _replay_and_store(self, job: tuple[_Held, SweepRun]) -> bool:
        """In a thread of its own: no run waits for another one's store. Raises TaskLost where it is held no more."""
        one, run = job
        one.lease.check()
        replayed = replay_to_store(one.loaded.traces, run, one.conditions, beat=one.lease.check)
        body = json.dumps(replayed.body)
        with self._storing, self._database.write() as transaction:
            if not stored.store_run(transaction, one.task, run.number, body, replayed.series, seconds=replayed.seconds):
                raise TaskLost
        return True

    def _load(self, row: SweepRow, spec: StoredSpec, lease: "_Lease") -> Loaded:
        if self._kept is None or self._kept[0] != row.id:
            self._kept = None
            loaded = load_source(self._database, row, spec, now=self._clock(), beat=lease.check)
            with self._database.write() as transaction:
                stored.store_facts(transaction, row.id, json.dumps(asdict(loaded.facts)), pack_bands(loaded.bands))
            self._kept = (row.id, loaded)
        return self._kept[1]

    def _release(self, one: _Held, status: stored.TaskStatus) -> None:
        """Leave a task, unless it was given up: then it is not held any more, or is left already."""
        one.lease.stop()
        if not one.given_up:
            self._guarded(one.task, lambda: self._leave(one.task, status))

    def _leave(self, task: TakenTask, status: stored.TaskStatus, error: str | None = None) -> None:
        with self._database.write() as transaction:
            stored.leave_task(transaction, task, status, now=self._clock(), error=error)


class _Lease:
    """Renews a task's lease beside the work, in a thread of its own: replays let others run meanwhile."""

    def __init__(self, database: Database, task: TakenTask, seconds: float) -> None:
        self._database, self._task, self._seconds = database, task, seconds
        self._ended, self._lost = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._renew, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._ended.set()
        self._thread.join()

    def check(self) -> None:
        """Raise TaskLost once the task is not held any more."""
        if self._lost.is_set():
            raise TaskLost

    def _renew(self) -> None:
        while not self._ended.wait(self._seconds / 3):
            try:
                with self._database.write() as transaction:
                    held = stored.renew_lease(transaction, self._task, self._seconds)
            except TierscopeError:
                continue  # tried again at the next beat; whoever takes the task over makes this one lose it
            if not held:
                self._lost.set()
                return
