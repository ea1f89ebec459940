"""What `make dist` made, and running programs on it."""

import resource
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from factories.waiting import DEADLINE_SECONDS

ROOT = Path(__file__).resolve().parents[2]
DIST = ROOT / ".build" / "dist"


class NotProvenError(Exception):
    """Something did not do what a release must; the text says what, and what it printed."""


class NotHereError(Exception):
    """This machine cannot run this proof; the text says why."""


@dataclass(frozen=True, slots=True)
class Proven:
    """One statement that held, and what was seen."""

    statement: str
    seen: str


def find_one(pattern: str) -> Path:
    """The one artefact that a pattern below .build/dist names.

    Raises:
        NotHereError: there is none, or more than one.
    """
    found = sorted(DIST.glob(pattern))
    if len(found) != 1:
        raise NotHereError(f"{len(found)} files are called {pattern} in {DIST.relative_to(ROOT)}: run make dist")
    return found[0]


def run(
    command: Sequence[str | Path],
    *,
    env: Mapping[str, str] | None = None,
    seconds: float = 4 * DEADLINE_SECONDS,
    fails: bool = False,
) -> str:
    """Run to the end and return stdout.

    Raises:
        NotProvenError: it failed, or with `fails` did not; or it took longer than `seconds`.
    """
    words = " ".join(map(str, command))
    try:
        done = subprocess.run(
            command, env=env, cwd="/", capture_output=True, text=True, timeout=seconds, check=False
        )  # fmt: skip
    except subprocess.TimeoutExpired as late:
        raise NotProvenError(f"{words}: not done within {seconds:g} s") from late
    if (done.returncode != 0) is not fails:
        raise NotProvenError(f"{words}: {done.returncode}\n{done.stdout[-4000:]}{done.stderr[-4000:]}")
    return done.stdout


def child_cpu_seconds() -> float:
    """CPU of all commands that have ended: what a busy machine does not change."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
