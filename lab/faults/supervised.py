"""`tierscope up` while what it stands on fails. Its supervisor brings all parts back, and nobody types anything.

The rows share one instance, whose data is on a small disk and whose clock can be set.
"""

import itertools
import os
import random
import signal
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

from cli.commands import Tierscope
from factories.installations import enrol
from factories.waiting import NeverHappenedError, until
from faults.oracle import Verdict, judge
from faults.proxy import Proxy, proxying
from faults.reporters import Reporter
from faults.scene import RECOVERY_SECONDS, let_pass
from faults.stage import NotHereError, filled, small_disk
from fixtures.server_logs import logs_kept
from fixtures.shifted_clock import can_shift, clock_variables, offset_s, shift
from tierscope.cli.base.instance import find_instance
from tierscope.core.database import Database
from tierscope.core.embedded.state import ComponentState, InstanceState, load
from tierscope.core.settings import Settings

PARTS = ("database", "queue", "api", "worker")
_DISK_MIB = 900
_HOUR_SECONDS = 3600
_DEATHS = 3
_numbers = itertools.count(1)


@dataclass(slots=True)
class Supervised:
    """A running instance and the hosts that report to it."""

    tierscope: Tierscope
    data_dir: Path
    clock: Path
    proxy: Proxy
    database: Database
    rng: random.Random
    reporters: list[Reporter] = field(default_factory=list)
    healed: float = 0.0
    """When the cause of the fault was gone, by the stopwatch."""
    notes: list[str] = field(default_factory=list)

    def state(self) -> InstanceState | None:
        """The state file; None while it cannot be read."""
        try:
            return load(self.data_dir / "state.json")
        except OSError:
            return None

    def part(self, name: str) -> ComponentState | None:
        """A part as the state file has it."""
        state = self.state()
        return None if state is None else state.components.get(name)

    def pid(self, part: str) -> int | None:
        """The process of a part as the state file has it; None while it has none."""
        found = self.part(part)
        return None if found is None or found.process is None else found.process.pid

    def restarts(self, part: str) -> int:
        """How often a part was started again."""
        found = self.part(part)
        return -1 if found is None else found.restarts

    def report(self) -> Reporter:
        """A new host that sends until `settle`."""
        host = enrol(self.database, name=f"up-{next(_numbers)}")
        reporter = Reporter(self.proxy.url, host)
        self.reporters.append(reporter)
        reporter.start()
        return reporter

    def settle(self) -> Verdict:
        """Ends the reporters once what they are at is taken, and judges what they sent."""
        for reporter in self.reporters:
            reporter.ending.set()
        for reporter in self.reporters:
            reporter.join(seconds=RECOVERY_SECONDS)
        hosts = {reporter.host.id for reporter in self.reporters}
        self.reporters.clear()
        return judge(self.proxy.tap, self.database.url, hosts)

    def heal(self) -> None:
        """Notes that the cause of the fault is gone now."""
        self.healed = time.monotonic()

    def give_up(self) -> None:
        """Ends the reporters after a row that failed."""
        for reporter in self.reporters:
            reporter.give_up()

    def kill(self, part: str) -> int:
        """SIGKILL to a part; returns its pid."""
        pid = self.pid(part)
        assert pid is not None, f"{part} does not run"
        os.kill(pid, signal.SIGKILL)
        return pid

    def supervisor_runs(self) -> bool:
        """Whether the supervisor is alive."""
        state = self.state()
        return state is not None and state.supervised

    def all_healthy(self) -> bool:
        """Whether all parts work, as the state file says, and the state file is of now."""
        state = self.state()
        return (
            state is not None
            and state.phase == "up"
            and all(name in state.components and state.components[name].status == "healthy" for name in PARTS)
        )

    def log(self) -> str:
        """The end of what the supervisor said."""
        path = self.data_dir / "logs" / "supervisor.log"
        return path.read_text(encoding="utf-8", errors="replace")[-4000:] if path.exists() else "(no log)"


@dataclass(frozen=True, slots=True)
class SupervisedRow:
    """A fault; `play` takes its cause away again and says when (`heal`)."""

    name: str
    title: str
    play: Callable[[Supervised], None]


@dataclass(frozen=True, slots=True)
class Recovered:
    """What became of one run of a row."""

    row: SupervisedRow
    seed: int
    back_seconds: float
    acknowledged: int
    lost: int
    stored_twice: int
    notes: tuple[str, ...]

    def faults(self) -> list[str]:
        """What is wrong; empty where the row passed."""
        found = []
        if self.lost:
            found.append(f"{self.lost} acknowledged batches are not stored")
        if self.stored_twice:
            found.append(f"{self.stored_twice} samples are stored twice")
        return found


def fill_disk(scene: Supervised) -> None:
    """The disk of all parts fills up; what ends meanwhile cannot come back before there is space."""
    refused = scene.proxy.tap.statuses[503]
    before = {part: scene.restarts(part) for part in PARTS}
    with filled(scene.data_dir):
        until(lambda: scene.proxy.tap.statuses[503] > refused, "the API answers 503 on a full disk")
        victim = scene.rng.choice(("worker", "queue"))
        scene.kill(victim)
        scene.kill("api")
        let_pass(scene.rng.uniform(4.0, 8.0))
        assert scene.supervisor_runs(), f"the supervisor ended on a full disk: {scene.log()}"
    scene.heal()
    until(lambda: scene.restarts("api") > before["api"], f"the API was started again: {scene.log()}")
    scene.notes.append(f"API and {victim} killed while the disk was full")


def take_state_file(scene: Supervised) -> None:
    """A directory stands where the state file was; the supervisor works on and writes it again afterwards."""
    path = scene.data_dir / "state.json"
    before, pid = scene.restarts("worker"), scene.pid("worker")
    assert pid is not None
    path.unlink()
    while not path.is_dir():  # the supervisor may write a file in between
        path.unlink(missing_ok=True)
        try:
            path.mkdir()
        except FileExistsError:
            continue
    os.kill(pid, signal.SIGKILL)
    let_pass(scene.rng.uniform(2.0, 4.0))
    path.rmdir()
    scene.heal()
    until(lambda: scene.restarts("worker") > before, f"the state file tells of the new worker: {scene.log()}")


def die_in_a_loop(scene: Supervised) -> None:
    """A part dies as soon as it is back, several times."""
    for death in range(_DEATHS):
        before = scene.restarts("worker")
        scene.kill("worker")
        scene.heal()
        until(partial(_started_again, scene, before), f"the worker came back from death {death + 1}: {scene.log()}")
    scene.notes.append(f"worker killed {_DEATHS} times as soon as it was back")


def _started_again(scene: Supervised, before: int) -> bool:
    return scene.restarts("worker") > before and scene.pid("worker") is not None


def hang_parts(scene: Supervised) -> None:
    """Each part is stopped, alive and doing nothing: it is found, said and started again."""
    for part in scene.rng.sample(PARTS, len(PARTS)):
        until(scene.all_healthy, f"all parts are healthy: {scene.log()}", seconds=RECOVERY_SECONDS)
        before, pid = scene.restarts(part), scene.pid(part)
        assert pid is not None
        os.kill(pid, signal.SIGSTOP)
        began = time.monotonic()
        scene.heal()
        try:
            until(partial(_started_again_of, scene, part, before), f"{part} came back: {scene.log()}")
        finally:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)
        scene.notes.append(f"{part} hung, started again after {time.monotonic() - began:.0f} s")


def _started_again_of(scene: Supervised, part: str, before: int) -> bool:
    return scene.restarts(part) > before


def jump_clock(scene: Supervised) -> None:
    """An hour ahead, then an hour behind, then right again: no part is thought dead."""
    if not can_shift():
        raise NotHereError("there is no C compiler, with which programs are told another time")
    before = {part: (scene.pid(part), scene.restarts(part)) for part in PARTS}
    for seconds in (*scene.rng.sample([_HOUR_SECONDS, -_HOUR_SECONDS], 2), 0):
        shift(scene.clock, offset_s() + seconds)
        let_pass(scene.rng.uniform(4.0, 6.0))
    scene.heal()
    after = {part: (scene.pid(part), scene.restarts(part)) for part in PARTS}
    assert after == before, f"a part was started again when the clock was set: {before}, {after}: {scene.log()}"


ROWS: tuple[SupervisedRow, ...] = (
    SupervisedRow("up-disk-full", "`tierscope up`: its disk is full, and parts die meanwhile", fill_disk),
    SupervisedRow("up-state-file", "`tierscope up`: its state file cannot be written", take_state_file),
    SupervisedRow("up-part-dies", "`tierscope up`: a part dies again and again", die_in_a_loop),
    SupervisedRow("up-part-hangs", "`tierscope up`: each part is alive and does nothing", hang_parts),
    SupervisedRow("up-clock", "`tierscope up`: the clock is set an hour ahead and back", jump_clock),
)


@contextmanager
def supervised(seed: int) -> Iterator[Supervised]:
    """A running instance on a disk of its own; everything ends with the block.

    Raises:
        NotHereError: this account may not mount a disk.
    """
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="tsf-", dir="/tmp")))
        folder.chmod(0o755)
        data_dir = folder / "data"
        if not stack.enter_context(small_disk(data_dir, _DISK_MIB)):
            raise NotHereError("this account may not mount a disk of its own, which is to be filled")
        stack.enter_context(logs_kept(data_dir))
        clock = folder / "clock"
        shift(clock, offset_s())
        environment = clock_variables(clock) if can_shift() else {}
        tierscope = Tierscope(data_dir, environment)
        stack.callback(tierscope.run, "down", expect=None)
        tierscope.run("up", "--detach", "--no-agent", "--port", "0")
        url = str(tierscope.status()["url"])
        database_url = find_instance(Settings(data_dir=data_dir), demo=False).read_database_url()
        database = stack.enter_context(closing(Database(database_url)))
        proxy = stack.enter_context(proxying(urlsplit(url).port or 0))
        scene = Supervised(tierscope, data_dir, clock, proxy, database, random.Random(seed))  # noqa: S311 - no secret
        stack.callback(scene.give_up)
        yield scene


def play(scene: Supervised, row: SupervisedRow, seed: int) -> Recovered:
    """Plays one row and waits until all parts are healthy and more is acknowledged.

    Raises:
        NeverHappenedError: they do not come back.
        NotHereError: this machine cannot run the row.
    """
    scene.rng.seed(f"{row.name} {seed}")
    scene.notes.clear()
    until(scene.all_healthy, f"all parts are healthy before: {scene.log()}", seconds=RECOVERY_SECONDS)
    before = scene.report()
    until(lambda: before.acknowledged > 0, "the service takes what is sent")
    row.play(scene)
    after = scene.report()
    try:
        until(
            lambda: scene.all_healthy() and after.acknowledged > 0,
            "all parts are healthy again and take what is sent",
            seconds=RECOVERY_SECONDS,
        )
    except NeverHappenedError as error:
        raise NeverHappenedError(f"{error}: {scene.log()}") from error
    back_seconds = time.monotonic() - scene.healed
    verdict = scene.settle()
    return Recovered(
        row, seed, back_seconds, verdict.acknowledged, verdict.lost, verdict.stored_twice, tuple(scene.notes)
    )
