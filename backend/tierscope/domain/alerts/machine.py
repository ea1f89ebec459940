"""The states of a rule's subjects, minute by minute: pure, and the same for live evaluation and for backtests.

`follow` takes what a condition says of each minute and steps all subjects at once. A minute of which nothing is known
leaves states and streaks as they are; after `no_data_minutes` in a row without an answer a subject has no data.
docs/method/alerts.md has the table of transitions.
"""

from dataclasses import dataclass, fields, replace
from enum import IntEnum
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from tierscope.domain.alerts.evaluating import FALSE, TRUE, UNKNOWN, Truth
from tierscope.domain.alerts.frame import Bools, Ints

NoData = Literal["keep", "alert", "ok"]
MAX_COUNTED = 60
"""Most minutes that n-of-m looks at: a word of bits."""


class Level(IntEnum):
    """The state of one subject."""

    OK = 0
    PENDING = 1
    FIRING = 2
    NO_DATA = 3


# As plain numbers: a step is taken for every minute, and looking up a member costs as much as comparing an array.
_OK, _PENDING, _FIRING, _NO_DATA = (int(level) for level in Level)
StateName = Literal["ok", "pending", "firing", "no_data"]
LEVEL_NAMES: tuple[StateName, ...] = get_args(StateName)
Levels = npt.NDArray[np.int8]
Counts = npt.NDArray[np.int32]
Bits = npt.NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class Timing:
    """How a condition becomes a state. Minutes of answers; `n` of the newest `m` hold, for `for_minutes` on end."""

    for_minutes: int = 0
    keep_minutes: int = 0
    n: int = 1
    m: int = 1
    no_data: NoData = "keep"
    no_data_minutes: int = 5


@dataclass(frozen=True, slots=True)
class States:
    """Where each subject stands [subjects].

    `bits`: the newest answers, the newest in bit 0. `held`: answered minutes in which the condition held since it
    began to. `clear`: answered minutes of recovery in a row. `silent`: minutes without an answer in a row.
    """

    level: Levels
    bits: Bits
    held: Counts
    clear: Counts
    silent: Counts

    def take(self, places: Ints | Bools) -> "States":
        """Some of the subjects."""
        return States(**{part.name: getattr(self, part.name)[places] for part in fields(self)})


def start_states(count: int) -> States:
    """Subjects of which nothing is known yet."""
    zeros = np.zeros(count, np.int32)
    return States(np.zeros(count, np.int8), np.zeros(count, np.uint64), zeros, zeros.copy(), zeros.copy())


def step(states: States, holds: Truth, recovers: Truth | None, timing: Timing) -> States:
    """One minute on: what the condition and the recovery say [subjects] makes the next states.

    Without a recovery of its own a subject recovers while its condition no longer holds, by n-of-m.
    """
    known = holds != UNKNOWN
    silent = np.where(known, 0, states.silent + 1).astype(np.int32)
    shifted = ((states.bits << np.uint64(1)) | (holds == TRUE).astype(np.uint64)) & _mask(timing.m)
    bits = np.where(known, shifted, states.bits)
    hit = known & (np.bitwise_count(bits) >= timing.n)
    level = states.level
    back = known & (level == _NO_DATA)
    idle = (level == _OK) | (level == _PENDING) | back
    held = np.where(idle & hit, states.held + 1, np.where(idle & known, 0, states.held)).astype(np.int32)
    fires = idle & hit & (held >= timing.for_minutes)
    firing = level == _FIRING
    recovered = firing & known & (~hit if recovers is None else recovers == TRUE)
    relapsed = firing & known & (hit if recovers is None else recovers == FALSE)
    clear = np.where(recovered, states.clear + 1, np.where(relapsed, 0, states.clear)).astype(np.int32)
    resolves = recovered & (clear >= timing.keep_minutes)
    new = level.copy()
    new[idle & known] = _OK
    new[idle & known & (bits != 0)] = _PENDING
    new[fires] = _FIRING
    new[resolves] = _OK
    held[resolves] = 0
    clear[fires | resolves] = 0
    bits[resolves] = 0
    return _lose(States(new, bits, held, clear, silent), timing)


def _lose(states: States, timing: Timing) -> States:
    """What becomes of subjects that have been without an answer for long enough."""
    lost = states.silent >= timing.no_data_minutes
    if not lost.any():
        return states
    level, bits, held, clear = states.level, states.bits, states.held, states.clear
    stays = (level == _FIRING) & lost if timing.no_data == "keep" else np.zeros(len(level), bool)
    gone = lost & ~stays
    to = _OK if timing.no_data == "ok" else _NO_DATA
    return replace(
        states,
        level=np.where(gone, np.int8(to), level),
        bits=np.where(gone, np.uint64(0), bits),
        held=np.where(gone, np.int32(0), held),
        clear=np.where(gone, np.int32(0), clear),
    )


def _mask(m: int) -> np.uint64:
    return np.uint64((1 << m) - 1)


@dataclass(frozen=True, slots=True)
class Changes:
    """n changes of level, in order of time: the place of the subject and of the minute, from, to."""

    subjects: Ints
    minutes: Ints
    before: Levels
    after: Levels

    def __len__(self) -> int:
        return len(self.subjects)


def follow(
    states: States, holds: Truth, recovers: Truth | None, timing: Timing, *, frozen: Bools | None = None
) -> tuple[States, Changes]:
    """Step through all minutes of `holds` and `recovers` [subjects, minutes]; the last states, and every change.

    `frozen` [subjects]: those that stay as they are, whatever the minutes say.
    Subjects whose states no minute can change are left out of the steps, which changes nothing but the time it takes.
    """
    awake = (holds != FALSE).any(axis=1) | ~_idle(states)
    if frozen is not None:
        awake &= ~frozen
    places = np.flatnonzero(awake)
    inside, answers = states.take(places), holds[places]
    ends = None if recovers is None else recovers[places]
    busy = (answers != FALSE).any(axis=0)
    parts: list[tuple[Ints, int, Levels, Levels]] = []
    restless = not _idle(inside).all()
    for minute in range(holds.shape[1]):
        if not restless and not busy[minute]:
            continue
        after = step(inside, answers[:, minute], None if ends is None else ends[:, minute], timing)
        moved = np.flatnonzero(after.level != inside.level)
        if len(moved):
            parts.append((places[moved], minute, inside.level[moved], after.level[moved]))
        inside = after
        restless = not _idle(inside).all()
    return _merge(states, places, inside), _collect(parts)


def _idle(states: States) -> Bools:
    """Subjects that a minute in which the condition does not hold leaves exactly as they are."""
    return np.asarray(
        (states.level == _OK) & (states.bits == 0) & (states.held == 0) & (states.clear == 0) & (states.silent == 0)
    )


def _merge(states: States, places: Ints, inside: States) -> States:
    made = {}
    for part in fields(States):
        whole = getattr(states, part.name).copy()
        whole[places] = getattr(inside, part.name)
        made[part.name] = whole
    return States(**made)


def _collect(parts: list[tuple[Ints, int, Levels, Levels]]) -> Changes:
    if not parts:
        none = np.zeros(0, np.int64)
        return Changes(none, none, np.zeros(0, np.int8), np.zeros(0, np.int8))
    return Changes(
        np.concatenate([places for places, _, _, _ in parts]),
        np.concatenate([np.full(len(places), minute, np.int64) for places, minute, _, _ in parts]),
        np.concatenate([before for _, _, before, _ in parts]),
        np.concatenate([after for _, _, _, after in parts]),
    )
