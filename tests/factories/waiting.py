"""Waiting for what another thread or process brings about; always with an end."""

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from subprocess import Popen

DEADLINE_SECONDS = 300.0
"""How long anything may take: a busy machine takes many times what an idle one does."""
_FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS = 0.002, 0.05
_PAUSE_PER_LOOK, _LONGEST_PAUSE_BY_LOOK_SECONDS = 4, 1.0
"""A look that takes long is taken less often: it works on the cores that what is waited for works on too."""
_LOG_CHARS = 4000


class NeverHappenedError(AssertionError):
    """Something that had to come about did not, within the limit."""


def until(
    condition: Callable[[], object],
    what: str,
    *,
    seconds: float = DEADLINE_SECONDS,
    log: Path | None = None,
    alive: Mapping[str, "Popen[bytes] | None"] | None = None,
) -> None:
    """Wait until something is so; fail, with the end of the log, where it does not become so.

    Args:
        condition: what is waited for.
        what: it in words.
        seconds: at most so long.
        log: of the program that brings it about.
        alive: processes by name none of which may end meanwhile.
    """
    end = time.monotonic() + seconds
    pause = _FIRST_PAUSE_SECONDS
    while True:
        begun = time.monotonic()
        if condition():
            return
        for name, process in (alive or {}).items():
            if process is None or process.poll() is not None:
                raise NeverHappenedError(f"{name} has ended before {what}{_tail(log)}")
        if time.monotonic() >= end:
            raise NeverHappenedError(f"within {seconds:g} s it did not happen: {what}{_tail(log)}")
        time.sleep(max(pause, min(_PAUSE_PER_LOOK * (time.monotonic() - begun), _LONGEST_PAUSE_BY_LOOK_SECONDS)))
        pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)


def _tail(log: Path | None) -> str:
    return "" if log is None else "\n" + log.read_text(encoding="utf-8", errors="replace")[-_LOG_CHARS:]
