"""The parts of a piece of advice."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Evidence:
    """One number that made the rule fire."""

    metric: str
    value: float
    unit: str


@dataclass(frozen=True, slots=True)
class Change:
    """One setting, as it stands and as it is proposed. `path` is that of the kernel."""

    path: str
    current: str
    proposed: str


@dataclass(frozen=True, slots=True)
class Advice:
    """What to change, why, what to expect, and how to see whether it helped.

    `changes` is empty for advice that is no kernel setting; `note` then says what to do. `effect` is in words where no
    number can be stood behind.
    """

    rule: str
    title: str
    changes: tuple[Change, ...]
    evidence: tuple[Evidence, ...]
    effect: str
    risk: str
    verify: str
    note: str | None = None
