"""What a person at a terminal sees of a command that takes longer than two seconds: that it works, and for how long.

It is one line on stderr that goes away before anything else is printed. Where stderr is no terminal, or the answer is
JSON, there is none.
"""

import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TextIO

QUIET_SECONDS = 2.0
STEP_SECONDS = 1.0
WITH_THEIR_OWN = frozenset({"beat", "completion", "down", "loadgen", "man", "serve", "status", "up", "worker"})
"""Commands that run on, or say themselves how far they are."""
_CLEAR = "\r\x1b[K"


class Progress:
    """The line. `wait` waits for so many seconds or until it is told to end, and says whether it was."""

    def __init__(self, terminal: TextIO, name: str, wait: Callable[[float], bool] | None = None) -> None:
        self._terminal = terminal
        self._name = name
        self._ended = threading.Event()
        self._wait = wait or self._ended.wait
        self._lock = threading.Lock()
        self._shown = False

    def run(self) -> None:
        """Show and renew the line until `end`."""
        seconds = QUIET_SECONDS
        step = QUIET_SECONDS
        while not self._wait(step):
            with self._lock:
                if self._ended.is_set():
                    return
                self._terminal.write(f"{_CLEAR}{self._name}: working, {seconds:.0f} s (Ctrl-C ends it)")
                self._terminal.flush()
                self._shown = True
            step = STEP_SECONDS
            seconds += step

    def end(self) -> None:
        """Take the line away; it does not come back."""
        with self._lock:
            self._ended.set()
            if self._shown:
                self._terminal.write(_CLEAR)
                self._terminal.flush()
                self._shown = False


class _Ending:
    """A stream whose first output ends the progress line before it."""

    def __init__(self, stream: TextIO, progress: Progress) -> None:
        self._stream = stream
        self._progress = progress

    def write(self, text: str) -> int:
        self._progress.end()
        return self._stream.write(text)

    def __getattr__(self, name: str) -> object:
        if name == "buffer":  # bytes go past `write`
            self._progress.end()
        return getattr(self._stream, name)


def end_progress() -> None:
    """Take the line away before a program that writes to the same terminal by itself."""
    sys.stderr.write("")  # any output ends it


@contextmanager
def shown_progress(words: Sequence[str]) -> Iterator[None]:
    """Show that the command of these arguments works, where a person can see it and it says nothing itself."""
    command = next((word for word in words if not word.startswith("-")), None)
    asked = {"--json", "--help", "-h"} & set(words)
    if command is None or command in WITH_THEIR_OWN or asked or not sys.stderr.isatty():
        yield
        return
    out, err = sys.stdout, sys.stderr
    progress = Progress(err, f"tierscope {command}")
    sys.stdout, sys.stderr = _Ending(out, progress), _Ending(err, progress)
    threading.Thread(target=progress.run, daemon=True).start()
    try:
        yield
    finally:
        progress.end()
        sys.stdout, sys.stderr = out, err
