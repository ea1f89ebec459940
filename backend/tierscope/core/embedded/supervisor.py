"""Keeps components running: starts them in order, probes them, starts crashed ones again, stops them in reverse.

Everything happens in one thread, the main one, because the kernel ties children to the thread that started them.
"""

from __future__ import annotations

import signal
import subprocess
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from types import FrameType
from typing import Protocol

from tierscope.core.clock import utc_now
from tierscope.core.embedded.errors import EmbeddedError
from tierscope.core.embedded.process import identify, kill_session
from tierscope.core.embedded.state import ComponentState, Health

TICK_SECONDS = 0.5
PROBE_SECONDS = 3.0
_FIRST_BACKOFF_SECONDS = 0.5
_LAST_BACKOFF_SECONDS = 30.0
_STABLE_SECONDS = 60.0
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
    started_at: float = 0.0
    next_start_at: float = 0.0
    next_probe_at: float = 0.0

    def mark(self, status: Health, detail: str) -> None:
        """Note its health; `since` moves only when the health changes."""
        if status != self.state.status:
            self.state.since = utc_now()
        self.state.status = status
        self.state.detail = detail
        server = self.component.server
        self.state.process = None if server is None else identify(server.pid)


@dataclass(slots=True)
class Supervisor:
    """The loop. `say` gets one line for people when something happens."""

    say: Callable[[str], None]
    items: list[Supervised] = field(default_factory=list)
    _stop: threading.Event = field(default_factory=threading.Event)

    def catch_signals(self) -> None:
        """Have SIGTERM, SIGINT and SIGHUP end the loop in good order."""
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, self._on_signal)

    @property
    def stopping(self) -> bool:
        """Whether a signal asked to stop."""
        return self._stop.is_set()

    def request_stop(self) -> None:
        """Ask the loop to end after its present step."""
        self._stop.set()

    def add(self, name: str, component: Component, *, restart: bool = True) -> Supervised:
        """Start a component and take it into care; `restart` tells whether to start it again after a crash.

        Raises what its start raises.
        """
        component.start()
        state = ComponentState(status="starting", detail="starting", since=utc_now())
        item = Supervised(name=name, component=component, state=state, restart=restart, started_at=time.monotonic())
        item.mark("starting", "starting")
        self.items.append(item)
        return item

    def pause(self, seconds: float = TICK_SECONDS) -> bool:
        """Wait a moment; return False as soon as the loop is to end."""
        return not self._stop.wait(seconds)

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

    def _look_after(self, item: Supervised) -> None:
        now = time.monotonic()
        server = item.component.server
        if server is not None and server.poll() is not None:
            self._note_exit(item, server)
        if item.gone:
            return
        if item.next_start_at:
            if now >= item.next_start_at:
                self._start_again(item)
            return
        if now < item.next_probe_at:
            return
        if self._answers(item):
            item.misses = 0
            item.mark("healthy", "answers")
            if now - item.started_at > _STABLE_SECONDS:
                item.failures = 0
            item.next_probe_at = now + PROBE_SECONDS
            return
        item.misses += 1
        if item.state.status == "healthy" and item.misses >= _MISSES_UNTIL_DEGRADED:
            item.mark("degraded", "runs but does not answer")
        elif item.state.status == "starting":
            item.mark("starting", "not ready yet")

    def _answers(self, item: Supervised) -> bool:
        try:
            return item.component.answers()
        except Exception as error:  # noqa: BLE001 - a probe that fails in a new way must not end everything it watches
            self.say(f"the probe of {item.name} failed: {type(error).__name__}: {error}")
            return False

    def _note_exit(self, item: Supervised, server: subprocess.Popen[bytes]) -> None:
        kill_session(server.pid)
        item.component.server = None
        item.failures += 1
        wait_seconds = min(_FIRST_BACKOFF_SECONDS * 2 ** (item.failures - 1), _LAST_BACKOFF_SECONDS)
        reason = f"ended with signal {-server.returncode}" if server.returncode < 0 else f"ended ({server.returncode})"
        if not item.restart:
            item.gone = True
            item.mark("down", reason)
            self.say(f"{item.name} {reason}")
            return
        item.next_start_at = time.monotonic() + wait_seconds
        item.mark("down", f"{reason}, starting again")
        self.say(f"{item.name} {reason}; starting it again in {wait_seconds:g} s")

    def _start_again(self, item: Supervised) -> None:
        item.next_start_at = 0.0
        try:
            item.component.start()
        except (EmbeddedError, OSError, subprocess.SubprocessError) as error:
            item.failures += 1
            wait_seconds = min(_FIRST_BACKOFF_SECONDS * 2**item.failures, _LAST_BACKOFF_SECONDS)
            item.next_start_at = time.monotonic() + wait_seconds
            item.mark("down", str(error))
            self.say(f"{item.name} did not start: {error}; trying again in {wait_seconds:g} s")
            return
        item.started_at = time.monotonic()
        item.next_probe_at = 0.0
        item.misses = 0
        item.state.restarts += 1
        item.mark("starting", "started again")

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        del number, frame
        self._stop.set()
