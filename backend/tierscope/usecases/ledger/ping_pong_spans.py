"""States of several hosts as one line of time: the most severe in each bucket, and the stretches of warn and crit."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import ClassVar

import numpy as np

from tierscope.domain.base.axis import Grid
from tierscope.domain.base.described import NAMES
from tierscope.domain.base.figures import Window
from tierscope.domain.ledger.ping_pong import State
from tierscope.domain.ledger.states import SEVERITY
from tierscope.usecases.ledger.ping_pong_hosts import HostHistory

_NAMES: dict[int, State] = {severity: state for state, severity in SEVERITY.items()}
_UNKNOWN = -1


@dataclass(frozen=True, slots=True)
class StateSpan:
    """A stretch in one state; `to` is null while it lasts."""

    __pydantic_config__: ClassVar = NAMES

    state: State
    from_: datetime
    to: datetime | None
    why: str


def bucket_states(parts: Sequence[HostHistory], grid: Grid) -> tuple[State | None, ...]:
    """The most severe state of any host within each bucket, None where no host has rows."""
    worst = np.full(len(grid), _UNKNOWN, np.int64)
    for part in parts:
        inside = part.rows.times_s > grid.window.start.timestamp()
        levels = np.array([_UNKNOWN if state is None else SEVERITY[state] for state in part.followed.states], np.int64)
        np.maximum.at(worst, grid.place(part.rows.times_s[inside]), levels[inside])
    return tuple(_NAMES.get(int(level)) for level in worst)


def list_spans(parts: Sequence[HostHistory], window: Window) -> tuple[StateSpan, ...]:
    """Stretches of warn and crit that reach into the window, the oldest first; each begins where it really did."""
    changes = sorted((at, index, level, why) for index, part in enumerate(parts) for at, level, why in _changes(part))
    now: dict[int, tuple[int, str]] = {}
    found: list[StateSpan] = []
    current: tuple[int, str] = (0, "")
    begun = 0.0
    for place, (at, index, level, why) in enumerate(changes):
        now[index] = (level, why if len(parts) == 1 else f"{parts[index].part.host.name}: {why}")
        if place + 1 < len(changes) and changes[place + 1][0] == at:
            continue
        worst = max(now.values(), key=lambda entry: entry[0])
        if worst[0] != current[0]:
            if current[0] > 0:
                found.append(_span(current, begun, at))
            current, begun = worst, at
    if current[0] > 0:
        found.append(_span(current, begun, None))
    return tuple(span for span in found if span.to is None or span.to > window.start)


def _changes(part: HostHistory) -> list[tuple[float, int, str]]:
    """When a host's state changed: from the start of the row that changed it."""
    found: list[tuple[float, int, str]] = []
    level = 0
    for state, why, at, seconds in zip(
        part.followed.states, part.followed.whys, part.rows.times_s, part.rows.dt_seconds, strict=True
    ):
        if state is not None and SEVERITY[state] != level:
            level = SEVERITY[state]
            found.append((float(at - seconds), level, why))
    return found


def _span(entry: tuple[int, str], begun: float, ended: float | None) -> StateSpan:
    to = None if ended is None else datetime.fromtimestamp(ended, UTC)
    return StateSpan(_NAMES[entry[0]], datetime.fromtimestamp(begun, UTC), to, entry[1])
