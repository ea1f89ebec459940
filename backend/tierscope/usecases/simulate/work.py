"""What a worker does for sweeps: take a task, replay its runs on all cores, store each, and leave in good order."""

import json
import os
import secrets
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import timedelta
from typing import Any

import structlog

from tierscope.core.clock import Clock
from tierscope.core.database import Database
from tierscope.core.errors import TierscopeError, Unavailable
from tierscope.domain.simulate.replay import Totals
from tierscope.domain.simulate.sweep import SweepRun, full_settings
from tierscope.domain.simulate.sweep_replay import Conditions, HostTrace, RunOutcome, replay_run, run_series
from tierscope.storage.simulate import sweeps as stored
from tierscope.storage.simulate.sweeps import SweepRow, TakenTask
from tierscope.usecases.simulate.load import Loaded, load_source
from tierscope.usecases.simulate.packed import pack, pack_bands
from tierscope.usecases.simulate.spec import StoredSpec, read_spec

AT_MOST = timedelta(seconds=60)
"""How long a wake-up works before it lets others to the worker; the next one goes on."""
LEASE_SECONDS = 15.0
NICENESS = 10
"""Of threads that replay: whatever else the host has to do goes first."""
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


@dataclass(frozen=True, slots=True)
class Replayed:
    """A run as it is stored: its figures, its packed series (None where it failed) and the seconds that it took."""

    run: SweepRun
    body: dict[str, Any]
    series: bytes | None
    seconds: float


def replay_runs(
    traces: Sequence[HostTrace],
    runs: Sequence[SweepRun],
    conditions: Conditions,
    *,
    threads: int,
    deadline: float = float("inf"),
    beat: Callable[[], None] = lambda: None,
) -> Iterator[Replayed]:
    """Replay runs, so many at once, in the order in which they end. After the deadline none begins, save the first.

    `deadline`: of the monotonic clock, in seconds. `beat` is called between hosts, and may raise to give up.
    """
    at_work: set[Future[Replayed]] = set()
    with ThreadPoolExecutor(threads, initializer=_give_way) as pool:
        for place, run in enumerate(runs):
            if place and time.monotonic() >= deadline:
                break
            at_work.add(pool.submit(_replay, traces, run, conditions, beat))
            if len(at_work) == threads:
                done, at_work = wait(at_work, return_when=FIRST_COMPLETED)
                yield from (one.result() for one in done)
        yield from (one.result() for one in at_work)


def _give_way() -> None:
    os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICENESS)


def _replay(traces: Sequence[HostTrace], run: SweepRun, conditions: Conditions, beat: Callable[[], None]) -> Replayed:
    start = time.perf_counter()
    series = None
    try:
        outcome = replay_run(traces, run, conditions, beat=beat)
        body = describe_run(outcome)
        series = pack(run_series(outcome, conditions))
    except ValueError as error:
        body = {"error": str(error)}
    body = {"searched": run.searched, "dram_ratio": run.dram_ratio, "settings": full_settings(run), **body}
    return Replayed(run, body, series, time.perf_counter() - start)


class SweepWork:
    """Works through tasks. One at a time: what it has read of the last sweep stays in memory for its next task.

    `threads`: runs of a task that are replayed at once; replays hold no lock of Python.
    """

    def __init__(
        self, database: Database, clock: Clock, *, threads: int = 1, lease_seconds: float = LEASE_SECONDS
    ) -> None:
        self._database = database
        self._threads = threads
        self._clock = clock
        self._lease_seconds = lease_seconds
        self._kept: tuple[int, Loaded] | None = None

    def run(self, *, at_most: timedelta = AT_MOST) -> Worked:
        """Work until there is no task, or time is up; a task that is not through then waits for the next wake-up."""
        deadline = time.monotonic() + at_most.total_seconds()
        done = Worked()
        while time.monotonic() < deadline:
            with self._database.write() as transaction:
                task = stored.take_task(
                    transaction,
                    holder=secrets.token_hex(8),
                    lease_seconds=self._lease_seconds,
                    now=self._clock(),
                )
            if task is None:
                self._kept = None
                break
            done.tasks += 1
            self._guarded(task, done, deadline)
        return done

    def _guarded(self, task: TakenTask, done: Worked, deadline: float) -> None:
        """One task; what is wrong with it is stored with it, unless the database is away: then its lease runs out."""
        try:
            if task.takes > MAX_TAKES:
                self._leave(task, "failed", f"{MAX_TAKES} workers stopped at its next run without a result")
                return
            with self._hold(task) as lease:
                self._work(task, lease, done, deadline)
        except TaskLost:
            log.info("a sweep's task was taken back", sweep=task.public_id, policy=task.policy)
        except Unavailable:
            log.warning("the database is away; the task will be taken up again", sweep=task.public_id)
        except (TierscopeError, RuntimeError, ValueError) as error:
            self._leave(task, "failed", error.detail if isinstance(error, TierscopeError) else str(error))
        except Exception:
            log.exception("a sweep's task failed", sweep=task.public_id, policy=task.policy)
            self._leave(task, "failed", "something failed inside the service; its log says more")

    def _work(self, task: TakenTask, lease: "_Lease", done: Worked, deadline: float) -> None:
        with self._database.read() as session:
            row = stored.find_sweep(session, task.public_id)
            finished = stored.finished_runs(session, task.sweep_id, task.policy)
        if row is None:
            raise TaskLost
        spec = read_spec(row.spec)
        loaded = self._load(row, spec, lease)
        conditions = spec.conditions(loaded.facts.interval_s)
        left = [run for run in spec.runs() if run.policy == task.policy and run.number not in finished]
        stored_runs = 0
        # One run at least, however long the trace took to read: else a task could be taken again and again.
        for replayed in replay_runs(
            loaded.traces, left, conditions, threads=self._threads, deadline=deadline, beat=lease.check
        ):
            self._store(task, replayed)
            stored_runs += 1
            done.runs += 1
        self._leave(task, "done" if stored_runs == len(left) else "queued")

    def _store(self, task: TakenTask, replayed: Replayed) -> None:
        number, body = replayed.run.number, json.dumps(replayed.body)
        with self._database.write() as transaction:
            if not stored.store_run(transaction, task, number, body, replayed.series, seconds=replayed.seconds):
                raise TaskLost

    def _load(self, row: SweepRow, spec: StoredSpec, lease: "_Lease") -> Loaded:
        if self._kept is None or self._kept[0] != row.id:
            self._kept = None
            loaded = load_source(self._database, row, spec, now=self._clock(), beat=lease.check)
            with self._database.write() as transaction:
                stored.store_facts(transaction, row.id, json.dumps(asdict(loaded.facts)), pack_bands(loaded.bands))
            self._kept = (row.id, loaded)
        return self._kept[1]

    def _leave(self, task: TakenTask, status: stored.TaskStatus, error: str | None = None) -> None:
        with self._database.write() as transaction:
            stored.leave_task(transaction, task, status, now=self._clock(), error=error)

    @contextmanager
    def _hold(self, task: TakenTask) -> Iterator["_Lease"]:
        lease = _Lease(self._database, task, self._lease_seconds)
        lease.start()
        try:
            yield lease
        finally:
            lease.stop()


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


def describe_run(outcome: RunOutcome) -> dict[str, Any]:
    """The figures of a run as they are stored."""
    by_kind = dict(outcome.totals.local_ratio_by_kind)
    totals = {
        name: getattr(outcome.totals, name) for name in Totals.__dataclass_fields__ if name != "local_ratio_by_kind"
    }
    return {
        "error": None,
        "totals": totals,
        "local_ratio_by_kind": by_kind,
        "away": None if outcome.away is None else asdict(outcome.away),
        "claim": asdict(outcome.claim),
        "stall": {**asdict(outcome.stall), "total_s": outcome.stall.total_s},
        "loss": None if outcome.loss is None else asdict(outcome.loss),
        "swap": None if outcome.swap is None else asdict(outcome.swap),
        "seconds": outcome.seconds,
        "n_hosts": len(outcome.hosts),
        "n_groups": min(len(host.groups) for host in outcome.hosts),
        "sampled_ratio": min(host.sampled_ratio for host in outcome.hosts),
    }
