"""Plays one attack and judges what it left behind."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from attack.arena import MOST_OVER_IDLE_MIB, Arena
from attack.assault import Assault, assaulting
from attack.trail import tracebacks
from factories.api_watch import PAUSE_SECONDS, SELDOM_SECONDS, Watched, forget_peak, memory_mib, watching
from factories.waiting import NeverHappenedError


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
    idle_mib: float
    peak_mib: float


def play(arena: Arena, attack: Attack, seed: int, *, small: bool) -> Played:
    """Plays an attack on a running instance."""
    pid = arena.api.pid
    arena.api_log.news()
    arena.worker_log.news()
    forget_peak(pid)
    _, peak = memory_mib(pid)
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
        if peak - arena.idle_mib > MOST_OVER_IDLE_MIB:
            findings.append(f"the API grew to {peak:.0f} MiB from {arena.idle_mib:.0f} MiB when idle")
    return Played(
        attack=attack,
        requests=assault.requests,
        answers=assault.answers,
        findings=tuple(findings),
        notes=tuple(assault.notes),
        watched=watched,
        idle_mib=arena.idle_mib,
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
