"""Keeps components running: starts them in order, probes them, starts crashed ones again, stops them in reverse.

Everything happens in one thread, the main one, because the kernel ties children to the thread that started them. It
sleeps until a child ends, a signal comes or something is due; time is the monotonic clock's, which nobody sets. What it
looks after may fail in any way: that is said, and tried again.
"""

import contextlib
import os
import select
import signal
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from time import monotonic
from types import FrameType
from typing import Protocol

from tierscope.core.clock import utc_now
from tierscope.core.embedded.process import cpu_ticks, identify, kill_session
from tierscope.core.embedded.state import ComponentState, Health

PROBE_SECONDS = 30.0
"""A part that ends is noticed at once; a probe finds one that runs and does nothing."""
_AGAIN_SECONDS = 3.0
_STARTING_AGAIN_SECONDS = 0.25
_STARTING_SECONDS = 60.0
_WITHOUT_PIDFD_SECONDS = 1.0
_FIRST_BACKOFF_SECONDS = 0.5
_LAST_BACKOFF_SECONDS = 15.0
_STABLE_SECONDS = 60.0
"""A part that was healthy for so long starts again at once when it ends."""
_HUNG_SECONDS = 9.0
"""A part that does not respond and uses no CPU for so long does nothing any more: it is stopped or deadlocked."""
_HUNG_TICKS = 1
_BUSY_SECONDS = 300.0
"""One that is busy for so long and does not respond will not either."""
_MISSES_UNTIL_DEGRADED = 3
"""A busy machine misses a single probe; one that is missed three times in a row is not only slow."""


class Component(Protocol):
    """What is supervised: the embedded servers and service processes have this shape."""

    server: subprocess.Popen[bytes] | None

    def start(self) -> None:
        """Start it; servers wait until they are ready."""

    def stop(self) -> None:
        """Stop it and wait; harmless when it does not run."""

    def answers(self) -> bool:
        """Tell whether it works now."""

    def hangs(self) -> bool:
        """Tell whether it runs and responds to nothing; never what somebody else has to start again."""


@dataclass(slots=True)
class Supervised:
    """One component with its history."""

    name: str
    component: Component
    state: ComponentState
    restart: bool = True
    gone: bool = False
    failures: int = 0
    misses: int = 0
    missing_since: float = 0.0
    missing_ticks: int = 0
    """CPU that it had used when it first did not answer."""
    started_at: float = 0.0
    healthy_at: float | None = None
    """Since when it is healthy, by the monotonic clock; null while it is not."""
    next_start_at: float = 0.0
    next_probe_at: float = 0.0

    def mark(self, status: Health, detail: str) -> None:
        """Note its health; `since` moves only when the health changes."""
        if status != self.state.status:
            self.state.since = utc_now()
            self.healthy_at = monotonic() if status == "healthy" else None
        self.state.status = status
        self.state.detail = detail
        server = self.component.server
        if server is None:
            self.state.process = None
        elif self.state.process is None or self.state.process.pid != server.pid:
            self.state.process = identify(server.pid)

    def fail(self) -> float:
        """Count a failure; return the seconds until the next start, more with each of them."""
        if self.healthy_at is not None and monotonic() - self.healthy_at >= _STABLE_SECONDS:
            self.failures = 0
        self.failures += 1
        exponent = min(self.failures - 1, 16)
        wait_seconds = min(_FIRST_BACKOFF_SECONDS * (1 << exponent), _LAST_BACKOFF_SECONDS)
        self.next_start_at = monotonic() + wait_seconds
        return wait_seconds


@dataclass(slots=True)
class Supervisor:
    """The loop. `say` gets one line for people when something happens."""

    say: Callable[[str], None]
    items: list[Supervised] = field(default_factory=list)
    _stop: bool = False
    _woken: int = field(default_factory=lambda: os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC))

    def catch_signals(self) -> None:
        """Have SIGTERM, SIGINT and SIGHUP end the loop in good order."""
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, self._on_signal)

    def request_stop(self) -> None:
        """Ask the loop to end after its present step."""
        self._stop = True
        os.eventfd_write(self._woken, 1)

    def add(self, name: str, component: Component, *, restart: bool = True, patient: bool = False) -> Supervised:
        """Start a component and take it into care; `restart` tells whether to start it again after a crash.

        Raises what its start raises; a `patient` one that does not start is tried again.
        """
        state = ComponentState(status="starting", detail="starting", since=utc_now())
        item = Supervised(name=name, component=component, state=state, restart=restart)
        if patient:
            self.items.append(item)
            self._start(item)
            return item
        component.start()
        item.started_at = monotonic()
        item.mark("starting", "starting")
        self.items.append(item)
        return item

    def pause(self, at_most_seconds: float = PROBE_SECONDS) -> bool:
        """Wait until a component ends, something is due or the time is over; False as soon as the loop is to end."""
        due = [at for item in self.items if (at := self._due_at(item)) is not None]
        seconds = max(0.0, min([at_most_seconds, *(at - monotonic() for at in due)]))
        if not self._stop:
            self._await_event(seconds)
        return not self._stop

    def tick(self) -> None:
        """Look after each component once."""
        for item in self.items:
            self._look_after(item)

    def stop_all(self) -> None:
        """Stop the components in reverse order of their start."""
        for item in reversed(self.items):
            item.mark("down", "stopping")
            item.component.stop()
            item.mark("down", "stopped")
        self.items.clear()

    def _due_at(self, item: Supervised) -> float | None:
        if item.gone:
            return None
        return item.next_start_at or item.next_probe_at

    def _await_event(self, seconds: float) -> None:
        with contextlib.ExitStack() as stack:
            events = select.poll()
            events.register(self._woken, select.POLLIN)
            for item in self.items:
                server = item.component.server
                if server is None or item.gone:
                    continue
                try:
                    descriptor = os.pidfd_open(server.pid)
                except ProcessLookupError:
                    return
                except OSError:  # an old kernel, or no descriptor is left
                    seconds = min(seconds, _WITHOUT_PIDFD_SECONDS)
                    continue
                stack.callback(os.close, descriptor)
                events.register(descriptor, select.POLLIN)
            events.poll(seconds * 1000)

    def _look_after(self, item: Supervised) -> None:
        now = monotonic()
        server = item.component.server
        if server is not None and server.poll() is not None:
            self._note_exit(item, server)
        if item.gone:
            return
        if item.next_start_at:
            if now >= item.next_start_at:
                self._start(item, again=True)
            return
        if now >= item.next_probe_at:
            self._probe(item, now)

    def _probe(self, item: Supervised, now: float) -> None:
        if self._answers(item):
            item.misses = 0
            item.mark("healthy", "answers")
            # All parts are asked at one time, so that an idle machine is woken once for all of them.
            item.next_probe_at = (now // PROBE_SECONDS + 1) * PROBE_SECONDS
            return
        item.misses += 1
        if item.misses == 1:
            item.missing_since, item.missing_ticks = now, self._ticks(item)
        young = item.state.status == "starting" and now - item.started_at < _STARTING_SECONDS
        item.next_probe_at = monotonic() + (_STARTING_AGAIN_SECONDS if young else _AGAIN_SECONDS)
        if item.state.status == "healthy" and item.misses >= _MISSES_UNTIL_DEGRADED:
            item.mark("degraded", "runs but does not answer")
        elif item.state.status == "degraded" and self._hangs(item):
            self._end_hung(item)
        elif item.state.status == "starting":
            item.mark("starting", "not ready yet")

    def _hangs(self, item: Supervised) -> bool:
        """Whether it does nothing, and not because of a part that it needs: those were started before it."""
        before = self.items[: self.items.index(item)]
        if not item.restart or any(one.state.status != "healthy" for one in before):
            return False
        idle = self._ticks(item) - item.missing_ticks <= _HUNG_TICKS
        if monotonic() - item.missing_since < (_HUNG_SECONDS if idle else _BUSY_SECONDS):
            return False
        try:
            return item.component.hangs()
        except Exception:  # noqa: BLE001 - as for a probe
            return True

    @staticmethod
    def _ticks(item: Supervised) -> int:
        return 0 if item.component.server is None else cpu_ticks(item.component.server.pid)

    def _end_hung(self, item: Supervised) -> None:
        server = item.component.server
        if server is None:
            return
        self.say(f"{item.name} runs but does nothing; ending it")
        with contextlib.suppress(OSError):
            server.kill()
        server.wait()

    def _answers(self, item: Supervised) -> bool:
        try:
            return item.component.answers()
        except Exception as error:  # noqa: BLE001 - a probe that fails in a new way must not end everything it watches
            self.say(f"the probe of {item.name} failed: {type(error).__name__}: {error}")
            return False

    def _note_exit(self, item: Supervised, server: subprocess.Popen[bytes]) -> None:
        kill_session(server.pid)
        item.component.server = None
        reason = f"ended with signal {-server.returncode}" if server.returncode < 0 else f"ended ({server.returncode})"
        if not item.restart:
            item.gone = True
            item.mark("down", reason)
            self.say(f"{item.name} {reason}")
            return
        wait_seconds = item.fail()
        item.mark("down", f"{reason}, starting again")
        self.say(f"{item.name} {reason}; starting it again in {wait_seconds:g} s")

    def _start(self, item: Supervised, *, again: bool = False) -> None:
        item.next_start_at = 0.0
        try:
            item.component.start()
        except Exception as error:  # noqa: BLE001 - a start that fails in a new way must not end everything else
            wait_seconds = item.fail()
            item.mark("down", str(error))
            self.say(f"{item.name} did not start: {error}; trying again in {wait_seconds:g} s")
            return
        item.started_at = monotonic()
        item.next_probe_at = 0.0
        item.misses = 0
        item.state.restarts += again
        item.mark("starting", "started again" if again else "starting")

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        del number, frame
        self.request_stop()
