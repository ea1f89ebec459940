"""Processes and their supervisor: recognised for good, started again, stopped to the last one."""

import math
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from itertools import count, repeat
from pathlib import Path

import pytest

from factories.waiting import DEADLINE_SECONDS, until
from tierscope.core.clock import clock_set, utc_now
from tierscope.core.embedded.process import (
    Launch,
    ProcessId,
    identify,
    is_running,
    list_children,
    start,
    stop,
    wait_gone,
)
from tierscope.core.embedded.service import ServiceProcess
from tierscope.core.embedded.state import ComponentState, InstanceState, load
from tierscope.core.embedded.supervisor import PROBE_SECONDS, Supervisor

FOREVER = [sys.executable, "-c", "import time; time.sleep(3600)"]
STUBBORN = [
    sys.executable,
    "-c",
    "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('deaf', flush=True); time.sleep(3600)",
]


def _wait(supervisor: Supervisor, condition: Callable[[], bool]) -> None:
    def is_there() -> bool:
        supervisor.tick()
        return condition()

    until(is_there, "the supervisor gets there")


def _service(tmp_path: Path, command: list[str], *, works: bool = True) -> ServiceProcess:
    return ServiceProcess(command=command, log=tmp_path / "log", probe=lambda: works)


def test_a_process_is_recognised_by_its_start_time_too(tmp_path: Path) -> None:
    child = start(Launch(command=FOREVER, log=tmp_path / "log"))
    process = identify(child.pid)
    assert process is not None
    assert is_running(process)
    assert not is_running(ProcessId(process.pid, process.start_ticks + 1))
    assert child.pid in list_children(os.getpid())
    assert stop(process, with_signal=signal.SIGTERM, grace_seconds=DEADLINE_SECONDS)
    assert identify(child.pid) is None, "a zombie does not count"
    assert child.wait() == -signal.SIGTERM


def test_a_stranger_that_got_the_same_pid_is_never_signalled() -> None:
    own = identify(os.getpid())
    assert own is not None
    assert stop(ProcessId(own.pid, own.start_ticks + 1), with_signal=signal.SIGKILL, grace_seconds=0.1)


def test_a_process_that_ignores_its_signal_is_ended_all_the_same(tmp_path: Path) -> None:
    log = tmp_path / "log"
    child = start(Launch(command=STUBBORN, log=log))
    until(lambda: "deaf" in log.read_text(encoding="utf-8"), "it ignores the signal", alive={"it": child})
    process = identify(child.pid)
    assert process is not None
    assert not stop(process, with_signal=signal.SIGTERM, grace_seconds=0.2)
    assert child.wait() == -signal.SIGKILL


def test_children_end_when_their_parent_is_killed(tmp_path: Path) -> None:
    code = (
        "import sys, pathlib, time\n"
        "from tierscope.core.embedded.process import Launch, start\n"
        f"child = start(Launch(command=[sys.executable, '-c', 'import time; time.sleep(3600)'],"
        f" log=pathlib.Path({str(tmp_path / 'log')!r})))\n"
        "print(child.pid, flush=True)\n"
        "time.sleep(3600)\n"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        orphan = identify(int(parent.stdout.readline()))
        assert orphan is not None
        parent.kill()
    assert wait_gone(orphan, timeout_seconds=DEADLINE_SECONDS)


def test_a_crashed_component_is_started_again_and_counted(tmp_path: Path) -> None:
    said: list[str] = []
    supervisor = Supervisor(say=said.append)
    item = supervisor.add("thing", _service(tmp_path, FOREVER))
    _wait(supervisor, lambda: item.state.status == "healthy")
    first = item.component.server
    assert first is not None
    first.kill()
    first.wait()
    _wait(supervisor, lambda: item.state.status == "healthy" and item.state.restarts == 1)
    second = item.component.server
    assert second is not None
    assert second.pid != first.pid
    assert "signal 9" in said[0]
    supervisor.stop_all()
    assert second.poll() is not None


def test_a_component_that_cannot_start_is_tried_less_and_less_often(tmp_path: Path) -> None:
    said: list[str] = []
    supervisor = Supervisor(say=said.append)
    item = supervisor.add("thing", _service(tmp_path, [sys.executable, "-c", "raise SystemExit(3)"]))
    _wait(supervisor, lambda: item.failures == 3)
    supervisor.stop_all()
    assert [line.rpartition(" in ")[2] for line in said] == ["0.5 s", "1 s", "2 s"]


def test_a_component_that_is_not_to_be_restarted_stays_down_with_its_reason(tmp_path: Path) -> None:
    supervisor = Supervisor(say=lambda _: None)
    item = supervisor.add("once", _service(tmp_path, [sys.executable, "-c", "raise SystemExit(3)"]), restart=False)
    _wait(supervisor, lambda: item.gone)
    supervisor.tick()
    assert (item.state.status, item.state.detail, item.state.restarts) == ("down", "ended (3)", 0)


def test_a_component_that_runs_without_answering_is_never_called_healthy(tmp_path: Path) -> None:
    supervisor = Supervisor(say=lambda _: None)
    item = supervisor.add("mute", _service(tmp_path, FOREVER, works=False))
    for _ in range(5):
        supervisor.tick()
    assert item.state.status == "starting"
    supervisor.stop_all()


def test_a_probe_is_asked_again_before_a_component_counts_as_degraded(tmp_path: Path) -> None:
    said: list[str] = []
    supervisor = Supervisor(say=said.append)
    working = _service(tmp_path, FOREVER)
    item = supervisor.add("slow", working)
    supervisor.tick()
    assert item.state.status == "healthy"

    def fail() -> bool:
        raise RuntimeError("a reply that nobody foresaw")

    working.probe = fail
    seen = []
    for _ in range(3):
        item.next_probe_at = 0.0
        supervisor.tick()
        seen.append(item.state.status)
    assert seen == ["healthy", "healthy", "degraded"]
    assert "a reply that nobody foresaw" in said[0]
    working.probe = lambda: True
    item.next_probe_at = 0.0
    supervisor.tick()
    assert item.state.status == "healthy"
    supervisor.stop_all()


class Hands:
    """A component that does as it is told, and the time by the clock of the supervisor."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.server: subprocess.Popen[bytes] | None = None
        self.failing: Exception | None = None
        self.now = 1000.0
        self.starts = 0
        monkeypatch.setattr("tierscope.core.embedded.supervisor.monotonic", lambda: self.now)

    def start(self) -> None:
        """Start a process that ends at once, or fail as told."""
        self.starts += 1
        if self.failing is not None:
            raise self.failing
        self.server = subprocess.Popen([sys.executable, "-c", "raise SystemExit(3)"])

    def stop(self) -> None:
        self.server = None

    def answers(self) -> bool:
        return True

    def hangs(self) -> bool:
        return False

    def end(self, supervisor: Supervisor) -> float:
        """Have the process end, and return after how many seconds it is started again."""
        assert self.server is not None
        self.server.wait()
        supervisor.tick()
        (item,) = supervisor.items
        return item.next_start_at - self.now

    def wait_for_start(self, supervisor: Supervisor) -> None:
        """Let the time come at which it is started again."""
        self.now = supervisor.items[0].next_start_at
        supervisor.tick()


def _pass_seconds(supervisor: Supervisor, clock: Hands, seconds: float) -> None:
    for _ in range(int(seconds)):
        clock.now += 1
        supervisor.tick()


class Parts:
    """A part and one that needs it, both healthy; the second one no longer responds."""

    def __init__(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.clock = Hands(monkeypatch)
        self.supervisor = Supervisor(say=lambda _: None)
        self.needed, self.hung = _service(tmp_path, FOREVER), _service(tmp_path, FOREVER)
        self.below, self.item = self.supervisor.add("needed", self.needed), self.supervisor.add("hung", self.hung)
        self.supervisor.tick()
        assert (self.below.state.status, self.item.state.status) == ("healthy", "healthy")
        first = self.hung.server
        assert first is not None
        os.kill(first.pid, signal.SIGSTOP)
        self.hung.probe = lambda: self.hung.server is not first

    def let_pass(self, seconds: int) -> None:
        for _ in range(seconds):
            self.clock.now += 1
            self.supervisor.tick()


def test_a_part_that_does_nothing_is_started_again_within_a_minute(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = Parts(tmp_path, monkeypatch)
    parts.let_pass(60)
    assert (parts.item.state.status, parts.item.state.restarts) == ("healthy", 1)
    assert parts.below.state.restarts == 0
    parts.supervisor.stop_all()


def test_a_part_that_works_or_waits_for_another_one_is_let_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parts = Parts(tmp_path, monkeypatch)
    parts.hung.alive = lambda: True
    parts.let_pass(60)
    assert parts.item.state.restarts == 0, "it responds, and says that it cannot work"
    parts.hung.alive = None
    parts.below.mark("degraded", "does not answer")
    parts.needed.probe = lambda: False
    parts.needed.alive = lambda: True
    parts.let_pass(60)
    assert parts.item.state.restarts == 0, "what it needs does not work"
    parts.below.mark("healthy", "answers")
    parts.needed.probe = lambda: True
    used = count(0, 100)
    monkeypatch.setattr("tierscope.core.embedded.supervisor.cpu_ticks", lambda _: next(used))
    parts.item.missing_since = parts.clock.now
    parts.let_pass(60)
    assert parts.item.state.restarts == 0, "it works on something"
    parts.let_pass(300)
    assert parts.item.state.restarts == 1
    parts.supervisor.stop_all()


def test_the_pause_before_a_start_is_short_again_once_a_part_was_healthy_for_a_minute(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    supervisor = Supervisor(say=lambda _: None)
    part = Hands(monkeypatch)
    supervisor.add("part", part)
    pauses = []
    for _ in range(7):
        pauses.append(part.end(supervisor))
        part.wait_for_start(supervisor)
    assert pauses == [0.5, 1, 2, 4, 8, 15, 15]
    supervisor.items[0].mark("healthy", "answers")
    part.now += 59
    assert part.end(supervisor) == 15
    part.wait_for_start(supervisor)
    supervisor.items[0].mark("healthy", "answers")
    part.now += 60
    assert part.end(supervisor) == 0.5


def test_a_start_that_fails_in_any_way_is_tried_again_within_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    supervisor = Supervisor(say=said.append)
    part = Hands(monkeypatch)
    part.failing = OSError(28, "No space left on device")
    item = supervisor.add("part", part, patient=True)
    for error in (ValueError("nobody foresaw it"), OSError(28, "No space left on device")) * 5:
        part.failing = error
        part.wait_for_start(supervisor)
    assert (item.state.status, part.starts) == ("down", 11)
    assert "nobody foresaw it" in said[1]
    part.failing = None
    assert item.next_start_at - part.now <= 15, "all parts are back within a minute of the space"
    part.wait_for_start(supervisor)
    assert part.server is not None
    part.server.wait()


def test_a_supervisor_with_nothing_to_do_sleeps_until_something_is_due(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slept: list[float] = []
    supervisor = Supervisor(say=lambda _: None)
    item = supervisor.add("thing", _service(tmp_path, FOREVER))
    _wait(supervisor, lambda: item.state.status == "healthy")
    monkeypatch.setattr(Supervisor, "_await_event", lambda _, seconds: slept.append(seconds))
    assert supervisor.pause()
    assert slept[0] <= PROBE_SECONDS
    item.next_probe_at = math.inf
    assert supervisor.pause()
    assert slept[1] == PROBE_SECONDS
    supervisor.stop_all()


def test_the_end_of_a_part_and_a_request_to_stop_end_the_sleep(tmp_path: Path) -> None:
    """Each would take an hour if the supervisor slept until its time."""
    supervisor = Supervisor(say=lambda _: None)
    item = supervisor.add("thing", _service(tmp_path, FOREVER))
    item.next_probe_at = math.inf
    assert item.component.server is not None
    item.component.server.kill()
    assert supervisor.pause(3600)
    supervisor.tick()
    assert item.state.status == "down"
    item.next_start_at = math.inf
    supervisor.request_stop()
    assert not supervisor.pause(3600)


def test_clocks_that_are_set_change_nothing(tmp_path: Path) -> None:
    supervisor = Supervisor(say=lambda _: None)
    item = supervisor.add("thing", _service(tmp_path, FOREVER))
    _wait(supervisor, lambda: item.state.status == "healthy")
    before = (item.next_probe_at, item.healthy_at)
    for instant in (datetime(1971, 1, 1, tzinfo=UTC), datetime(2099, 1, 1, tzinfo=UTC)):
        with clock_set(partial(next, repeat(instant))):
            supervisor.tick()
    assert (item.next_probe_at, item.healthy_at, item.state.restarts) == (*before, 0)
    supervisor.stop_all()


def test_a_state_file_that_cannot_be_written_leaves_nothing_half_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = identify(os.getpid())
    assert own is not None
    path = tmp_path / "state.json"
    state = InstanceState(phase="setting-up", supervisor=own, url="http://127.0.0.1:1")
    state.save(path)
    state.phase = "up"
    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", _no_space)
        with pytest.raises(OSError, match="No space"):
            state.save(path)
    assert [entry.name for entry in tmp_path.iterdir()] == ["state.json"]
    kept = load(path)
    assert kept is not None
    assert kept.phase == "setting-up"
    state.save(path)
    kept = load(path)
    assert kept is not None
    assert kept.phase == "up"


def _no_space(*_: object) -> None:
    raise OSError(28, "No space left on device")


def test_the_state_file_comes_back_as_it_was_written(tmp_path: Path) -> None:
    own = identify(os.getpid())
    assert own is not None
    component = ComponentState(status="healthy", detail="answers", since=utc_now(), process=own, restarts=2)
    state = InstanceState(phase="up", supervisor=own, url="http://127.0.0.1:1", components={"api": component})
    path = tmp_path / "state.json"
    state.save(path)
    assert load(path) == state
    assert path.stat().st_mode & 0o777 == 0o600
    assert state.supervised


def test_a_part_that_was_started_again_while_the_state_file_could_not_be_written_is_not_called_down(
    tmp_path: Path,
) -> None:
    own = identify(os.getpid())
    assert own is not None
    gone = ComponentState("healthy", "answers", utc_now(), process=ProcessId(own.pid, own.start_ticks + 1))
    # What else runs below this process is known, as parts are.
    others = [part for part in map(identify, list_children(own.pid)) if part is not None]
    known = {f"part-{part.pid}": ComponentState("healthy", "answers", utc_now(), process=part) for part in others}
    state = InstanceState(phase="up", supervisor=own, url="http://127.0.0.1:1", components={"api": gone, **known})
    child = start(Launch(command=FOREVER, log=tmp_path / "log"))
    process = identify(child.pid)
    assert process is not None
    found = state.fate_of(gone)
    assert found is not None
    assert found[0] == "degraded"
    assert "state file" in found[1]
    state.components["worker"] = ComponentState("healthy", "answers", utc_now(), process=process)
    assert state.fate_of(state.components["worker"]) is None
    assert state.fate_of(gone) == ("down", "its process is gone")
    stop(process, with_signal=signal.SIGTERM, grace_seconds=DEADLINE_SECONDS)
    child.wait()


@pytest.mark.parametrize("text", ["", "{", "[]", '{"schema": 99}', '{"schema": 1, "phase": "up"}'])
def test_a_damaged_state_file_counts_as_none(tmp_path: Path, text: str) -> None:
    path = tmp_path / "state.json"
    path.write_text(text, encoding="utf-8")
    assert load(path) is None
