"""One run of a sweep as it is stored, and several of them at once on all cores."""

import os
import threading
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import asdict, dataclass
from typing import Any, TypeVar

from tierscope.domain.simulate.replay import Totals
from tierscope.domain.simulate.sweep import SweepRun, full_settings
from tierscope.domain.simulate.sweep_replay import Conditions, HostTrace, RunOutcome, replay_run, run_series
from tierscope.usecases.simulate.packed import pack

Job = TypeVar("Job")
Found = TypeVar("Found")

NICENESS = 10
"""Of threads that replay: whatever else the host has to do goes first."""


@dataclass(frozen=True, slots=True)
class Replayed:
    """A run as it is stored: its figures, its packed series (None where it failed) and the seconds that it took."""

    run: SweepRun
    body: dict[str, Any]
    series: bytes | None
    seconds: float


def work_at_once(
    jobs: Iterator[Job], work: Callable[[Job], Found], *, threads: int
) -> Generator[tuple[Job, Future[Found]], None, None]:
    """Work on so many jobs at once; each with what came of it, in the order in which they end.

    A job is asked for when a thread has nothing to do, and not before what ended was taken from here.
    """
    at_work: dict[Future[Found], Job] = {}
    with ThreadPoolExecutor(threads, initializer=_give_way) as pool:
        while True:
            while len(at_work) < threads and (job := next(jobs, None)) is not None:
                at_work[pool.submit(work, job)] = job
            if not at_work:
                return
            ended, _ = wait(at_work, return_when=FIRST_COMPLETED)
            for future in ended:
                yield at_work.pop(future), future


def _give_way() -> None:
    os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICENESS)


def replay_to_store(
    traces: Sequence[HostTrace], run: SweepRun, conditions: Conditions, *, beat: Callable[[], None] = lambda: None
) -> Replayed:
    """Replay a run; what is wrong with its settings is stored with it. `beat`: as `replay_run` has it."""
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
