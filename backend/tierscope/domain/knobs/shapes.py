"""The parts of a piece of advice."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Evidence:
    """One number that made the rule fire, in `unit`."""

    metric: str
    value: float
    unit: str


@dataclass(frozen=True, slots=True)
class Effect:
    """The expected effect as a number with its interval; `level` None where the ends are hard bounds.

    `grounding` says what the number stands on, as in figures: S source paper, L literature, A assumption.
    """

    metric: str
    value: float
    lo: float
    hi: float
    level: float | None
    unit: str
    grounding: str


@dataclass(frozen=True, slots=True)
class Unknown:
    """A rule that could not be judged, and what it lacks, in words."""

    rule: str
    missing: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Change:
    """One setting, as it stands and as it is proposed. `path` is that of the kernel."""

    path: str
    current: str
    proposed: str


@dataclass(frozen=True, slots=True)
class Advice:
    """What to change, why, what to expect, and how to see whether it helped.

    `changes` is empty for advice that is no kernel setting; `note` then says what to do. `effect` is in words, and says
    why where `effect_size` has no number that can be stood behind. `rules`: the rules whose settings are in this change
    set, in the order of the changes; empty where it is `rule` alone.
    """

    rule: str
    title: str
    changes: tuple[Change, ...]
    evidence: tuple[Evidence, ...]
    effect: str
    risk: str
    verify: str
    note: str | None = None
    effect_size: Effect | None = None
    rules: tuple[str, ...] = ()

    @property
    def charters(self) -> tuple[str, ...]:
        """The rules whose charters hold for it."""
        return self.rules or (self.rule,)


@dataclass(frozen=True, slots=True)
class Withheld:
    """Advice whose conditions hold and that is not given, and why."""

    rule: str
    why: str
