"""Plays one attack and judges what it left behind."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from attack.arena import Arena
from attack.assault import Assault, assaulting
from attack.trail import tracebacks
from factories.api_watch import PAUSE_SECONDS, SELDOM_SECONDS, Watched, forget_peak, memory_mib, watching
from factories.waiting import NeverHappenedError

MOST_GROWTH_MIB = 512
"""More on top of what the API had is no bounded memory: its own bounds on uploads and queues add up to less."""


@dataclass(frozen=True, slots=True)
class Attack:
    """Something that is tried."""

    name: str
    title: str
    run: Callable[[Assault], None]


@dataclass(frozen=True, slots=True)
class Played:
    """What became of an attack."""

    attack: Attack
    requests: int
    answers: Counter[int]
    findings: tuple[str, ...]
    notes: tuple[str, ...]
    watched: Watched
    memory_mib: float
    """Resident before."""
    peak_mib: float


def play(arena: Arena, attack: Attack, seed: int, *, small: bool) -> Played:
    """Plays an attack on a running instance."""
    pid = arena.api.pid
    arena.api_log.news()
    arena.worker_log.news()
    forget_peak(pid)
    before, peak = memory_mib(pid)
    pause_seconds = SELDOM_SECONDS if small else PAUSE_SECONDS
    with (
        assaulting(arena, seed, small=small) as assault,
        watching(arena.api.port, pause_seconds=pause_seconds) as watched,
    ):
        try:
            attack.run(assault)
        except (AssertionError, NeverHappenedError) as error:
            assault.found(f"it could not be played to its end: {error}")
    findings = [*assault.findings, *watched.failures[:5], *_left_behind(arena)]
    if _lives(arena):
        _, peak = memory_mib(pid)
        if peak - before > MOST_GROWTH_MIB:
            findings.append(f"the API grew from {before:.0f} MiB to {peak:.0f} MiB")
    return Played(
        attack=attack,
        requests=assault.requests,
        answers=assault.answers,
        findings=tuple(findings),
        notes=tuple(assault.notes),
        watched=watched,
        memory_mib=before,
        peak_mib=peak,
    )


def _lives(arena: Arena) -> bool:
    return arena.api.process is not None and arena.api.process.poll() is None


def _left_behind(arena: Arena) -> list[str]:
    found = [
        f"the {program.name} has ended: {program.log_tail()[-600:]}"
        for program in (arena.api, arena.worker)
        if program.process is None or program.process.poll() is not None
    ]
    found += [f"in the API's log: {text}" for text in tracebacks(arena.api_log.news())[:3]]
    found += [f"in the worker's log: {text}" for text in tracebacks(arena.worker_log.news())[:3]]
    if _lives(arena) and not arena.api.ready():
        found.append("the API is no longer ready")
    return found
