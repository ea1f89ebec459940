"""Pairs: something that the service does, and a fault that hits it at a drawn moment. At the end the account.

Each acknowledged sample is stored once, under its own host and series, or it is gone because of the restore or purge
that the work is; and the work is done, if need be by doing again what said that it had failed.
"""

import os
import random
import signal
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from subprocess import Popen
from threading import Event

from factories.acknowledged import Counts, Happened
from factories.waiting import NeverHappenedError
from faults.bench import Bench, SaidFailedError, make_tokens, new_bench
from faults.proxy import Weather
from faults.scene import let_pass
from faults.stage import NotHereError, Stage, filled, staged
from faults.works import WORKS, Work
from fixtures.shifted_clock import can_shift, clock_variables, offset_s, shift

MOST_TRIES = 60
_PAUSE_SECONDS = 1.0
Strike = Callable[[Bench], AbstractContextManager[None]]
"""A fault that is over when its context ends."""


def around(begin: Callable[[Stage], object], end: Callable[[Stage], object]) -> Strike:
    """Something that happens to a stage, and what undoes it."""

    @contextmanager
    def fault(bench: Bench) -> Iterator[None]:
        begin(bench.stage)
        yield
        end(bench.stage)

    return fault


api_killed = around(lambda stage: stage.api.kill(), lambda stage: stage.api.start())
worker_killed = around(lambda stage: stage.worker.kill(), lambda stage: stage.worker.start())
database_killed = around(Stage.kill_database, Stage.revive_database)
queue_killed = around(Stage.kill_queue, lambda stage: stage.queue.start())
node_killed = around(Stage.kill_node, Stage.revive_node)


@contextmanager
def all_killed(bench: Bench) -> Iterator[None]:
    """A machine that loses its power, but for what its kernel has in memory."""
    with queue_killed(bench), worker_killed(bench), api_killed(bench), database_killed(bench):
        yield


@contextmanager
def command_killed(bench: Bench) -> Iterator[None]:
    """SIGKILL to the command that does the work, not to the tools that it started."""
    if bench.command_process is not None:
        bench.command_process.kill()
    yield


@contextmanager
def disk_full(bench: Bench) -> Iterator[None]:
    """The disk of the database, to the last block."""
    if not bench.stage.small:
        raise NotHereError("this account may not mount a small disk for the database")
    with filled(bench.stage.database_disk):
        yield
    bench.stage.revive_database()


def clock_set(hours: int) -> Strike:
    """The clock of API, worker and commands, so many hours ahead; negative is behind."""

    @contextmanager
    def fault(bench: Bench) -> Iterator[None]:
        if not can_shift():
            raise NotHereError("there is no C compiler, with which programs are told another time")
        bench.clock_ahead = timedelta(hours=hours)
        shift(bench.clock, offset_s() + 3600 * hours)
        yield
        bench.clock_ahead = timedelta()
        shift(bench.clock, offset_s())

    return fault


def network(weather: Weather) -> Strike:
    """The network between hosts and service."""
    return around(lambda stage: stage.proxy.change(weather), lambda stage: stage.proxy.change(Weather()))


def stopped(part: Callable[[Stage], Popen[bytes] | None]) -> Strike:
    """A part that is alive and does nothing, with all that it started, and then goes on."""

    @contextmanager
    def fault(bench: Bench) -> Iterator[None]:
        family = _family(part(bench.stage))
        try:
            _signal(family, signal.SIGSTOP)
            yield
        finally:
            _signal(family, signal.SIGCONT)

    return fault


def _signal(pids: Sequence[int], number: int) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, number)


def _family(process: Popen[bytes] | None) -> list[int]:
    """A process and all below it."""
    found = [] if process is None else [process.pid]
    for one in found:
        with suppress(OSError):
            found += map(int, Path(f"/proc/{one}/task/{one}/children").read_text().split())
    return found


@dataclass(frozen=True, slots=True)
class Fault:
    """What hits a work."""

    name: str
    title: str
    strike: Strike
    hits: tuple[str, ...] = ("command", "worker", "call")
    """Who does the works that it makes sense with."""
    several: bool = False
    """Whether it takes two servers."""


FAULTS = (
    Fault("api-killed", "API killed", api_killed),
    Fault("worker-killed", "worker killed", worker_killed, hits=("worker",)),
    Fault("database-killed", "database killed", database_killed),
    Fault("queue-killed", "Redis killed", queue_killed, hits=("worker",)),
    Fault("all-killed", "all parts killed", all_killed),
    Fault("command-killed", "command killed", command_killed, hits=("command",)),
    Fault("disk-full", "disk of the database full", disk_full),
    Fault("clock-hour-ahead", "clock an hour ahead", clock_set(1)),
    Fault("clock-day-ahead", "clock 26 hours ahead", clock_set(26)),
    Fault("clock-behind", "clock two hours behind", clock_set(-2)),
    Fault("network-cut", "network cut", network(Weather(cut=True))),
    Fault("answers-lost", "answers lost after the commit", network(Weather(answers="lose"))),
    Fault("api-stopped", "API stopped and continued", stopped(lambda stage: stage.api.process)),
    Fault(
        "worker-stopped",
        "worker stopped and continued",
        stopped(lambda stage: stage.worker.process),
        hits=("worker",),
    ),
    Fault("database-stopped", "database stopped and continued", stopped(lambda stage: stage.cluster.server)),
    Fault("node-killed", "node killed", node_killed, several=True),
    Fault(
        "node-stopped",
        "node stopped and continued",
        stopped(lambda stage: stage.node.server if stage.node else None),
        several=True,
    ),
)


@dataclass(frozen=True, slots=True)
class Pair:
    """One of those drawn."""

    number: int
    work: Work
    fault: Fault

    @property
    def two_servers(self) -> bool:
        """Whether it is played on two."""
        return self.work.several or self.fault.several

    @property
    def title(self) -> str:
        """Work and fault in words."""
        return f"{self.work.title}; {self.fault.title}"


@dataclass(frozen=True, slots=True)
class Played:
    """What became of a pair once."""

    pair: Pair
    seed: int
    counts: Counts
    faults: tuple[str, ...]
    hit: bool = True
    """Whether the work was not done when the fault came."""
    repeats: int = 0
    """How often the work said that it had failed, and was done again."""
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        verdict = "; ".join(self.faults) or "passed"
        hit = "" if self.hit else ", after the work was done"
        again = f", done again {self.repeats} times: {'; '.join(self.notes[:2])}" if self.repeats else ""
        return f"pair {self.pair.number}: {self.pair.title}{hit}: {verdict}{again}"


def draw_pairs(count: int, seed: int) -> list[Pair]:
    """So many of the pairs that make sense, by a seed."""
    sensible = [(work, fault) for work in WORKS for fault in FAULTS if work.by in fault.hits]
    chosen = random.Random(seed).sample(sensible, min(count, len(sensible)))  # noqa: S311 - which pairs are tried
    return [Pair(number, work, fault) for number, (work, fault) in enumerate(chosen, start=1)]


@contextmanager
def pair_stage(binary: Path, settings: dict[str, str], *, two_servers: bool) -> Iterator[tuple[Stage, Path]]:
    """A stage whose programs follow a clock that can be set."""
    with tempfile.TemporaryDirectory(prefix="tsf-") as folder:
        Path(folder).chmod(0o755)
        clock = Path(folder) / "clock"
        shift(clock, offset_s())
        variables = clock_variables(clock) if can_shift() else {}
        with staged(binary, None, {**settings, **variables}, two_servers=two_servers) as stage:
            yield stage, clock


def play_pair(stage: Stage, clock: Path, pair: Pair, seed: int) -> Played:
    """Plays a pair once, with moments drawn from the seed.

    Raises:
        NotHereError: it cannot be played on this machine.
        AssertionError: the work did not end, said unclearly that it failed, or a part did not come back.
    """
    rng = random.Random(f"{pair.work.name}-{pair.fault.name}-{seed}")  # noqa: S311 - no secret
    bench = new_bench(stage, clock, make_tokens(stage), f"p{pair.number}s{seed}x", rng)
    answered_badly = len(stage.proxy.tap.without_retry_after)
    try:
        bench.start()
        bench.progress(16)
        pair.work.prepare(bench)
        hit, repeats = _work_beside_fault(bench, pair)
        bench.progress(8)
        bench.settle()
        pair.work.check(bench)
        by_way = bench.senders.judge(stage.database)
    finally:
        bench.give_up()
    total = Counts()
    for told in by_way.values():
        total += told
    found = [f"{way}: {fault}" for way, told in by_way.items() for fault in told.faults()] + bench.failures
    found += [f"no Retry-After: {text}" for text in stage.proxy.tap.without_retry_after[answered_badly:][:2]]
    return Played(pair, seed, total, tuple(found), hit, repeats, tuple(bench.notes))


def _work_beside_fault(bench: Bench, pair: Pair) -> tuple[bool, int]:
    """Does the work while the fault hits it; whether it did, and how often the work was done again."""
    healed, begun = Event(), bench.account.tick()
    with ThreadPoolExecutor(1) as beside:
        working = beside.submit(_work, bench, pair.work, healed)
        try:
            let_pass(bench.rng.uniform(0.0, pair.work.seconds))
            hit = not working.done()
            with pair.fault.strike(bench):
                let_pass(bench.rng.uniform(1.0, 6.0))
            if bench.stage.worker.process is None:
                bench.stage.worker.start()
        finally:
            healed.set()
        repeats = working.result()
    bench.stage.api.wait_ready()  # the service may need the work for that, as where it migrates the schema
    ended = bench.account.tick()
    if pair.work.ends == "restore":
        assert bench.taken is not None
        bench.account.happened.append(Happened("restore", begun, ended, taken=bench.taken[1]))
    elif pair.work.ends == "purge":
        bench.account.happened.append(Happened("purge", begun, ended, bench.subjects))
    return hit, repeats


def _work(bench: Bench, work: Work, healed: Event) -> int:
    said = ""
    for repeats in range(MOST_TRIES):
        try:
            work.do(bench)
        except SaidFailedError as failed:
            said = str(failed)
            bench.notes.append(said[:160])
            healed.wait()
            Event().wait(_PAUSE_SECONDS)
        else:
            return repeats
    raise NeverHappenedError(f"{work.title} failed {MOST_TRIES} times, at last with: {said}")
