"""Knob advice as answered: figures with their evidence, files to apply, and what could not be judged."""

from collections.abc import Sequence
from dataclasses import dataclass

from tierscope.domain.base.figures import Figure, Interval, Window
from tierscope.domain.knobs import Advice, Evidence, Given, render_files
from tierscope.domain.knobs.shapes import Effect

GROUNDING = "L kernel text of each setting; A thresholds of docs/method/knobs.md"


@dataclass(frozen=True, slots=True)
class ChangeView:
    """One setting of the kernel; `rollback` is the value that was read."""

    path: str
    current: str
    proposed: str
    rollback: str


@dataclass(frozen=True, slots=True)
class EvidenceView:
    """One number that made the rule fire; `figure` None where it is no figure of a window."""

    metric: str
    value: float
    unit: str
    figure: Figure | None


@dataclass(frozen=True, slots=True)
class FilesView:
    """The changes as files for people and their own automation; None where a form does not apply."""

    sysctl: str | None
    tmpfiles: str | None
    systemd: str | None
    ansible: str
    commands: str
    rollback_commands: str


@dataclass(frozen=True, slots=True)
class KnobAdvice:
    """One piece of advice. `changes` is empty where it is no setting of the kernel; `note` then says what to do."""

    rule: str
    title: str
    changes: tuple[ChangeView, ...]
    evidence: tuple[EvidenceView, ...]
    effect: str
    effect_figure: Figure | None
    risk: str
    verify: str
    note: str | None
    files: FilesView
    advice_id: str | None = None


@dataclass(frozen=True, slots=True)
class WaitingView:
    """Advice that holds only once an earlier piece is in force."""

    advice: KnobAdvice
    why: str


@dataclass(frozen=True, slots=True)
class UnknownView:
    """A rule that could not be judged, and what it lacks."""

    rule: str
    missing: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class GivenView:
    """All that the rules say of one host."""

    advice: tuple[KnobAdvice, ...]
    waiting: tuple[WaitingView, ...]
    nothing_to_do: KnobAdvice | None
    unknown: tuple[UnknownView, ...]


@dataclass(frozen=True, slots=True)
class Basis:
    """What all figures of one answer share. `window` None for a recording, which has times of its own."""

    window: Window | None
    n_intervals: int | None
    coverage: float | None = None


def view_given(given: Given, basis: Basis) -> GivenView:
    """The answer of the rules with figures and files."""
    return GivenView(
        advice=tuple(_advice(advice, basis) for advice in given.advice),
        waiting=tuple(WaitingView(_advice(advice, basis), why) for advice, why in given.waiting),
        nothing_to_do=None if given.nothing_to_do is None else _advice(given.nothing_to_do, basis),
        unknown=tuple(UnknownView(unknown.rule, unknown.missing) for unknown in given.unknown),
    )


def _advice(advice: Advice, basis: Basis) -> KnobAdvice:
    files = render_files([advice])
    return KnobAdvice(
        rule=advice.rule,
        title=advice.title,
        changes=tuple(
            ChangeView(change.path, change.current, change.proposed, change.current) for change in advice.changes
        ),
        evidence=tuple(_evidence(found, basis) for found in advice.evidence),
        effect=advice.effect,
        effect_figure=None if advice.effect_size is None else _effect(advice.effect_size, basis),
        risk=advice.risk,
        verify=advice.verify,
        note=advice.note,
        files=FilesView(
            files.sysctl, files.tmpfiles, files.systemd, files.ansible, files.commands, files.rollback_commands
        ),
    )


def _evidence(found: Evidence, basis: Basis) -> EvidenceView:
    figure = None
    if found.unit in _UNITS:
        figure = Figure(
            f"knobs.{found.metric.replace(' ', '_').replace(chr(39), '')}/1",
            "ok",
            found.value,
            _UNITS[found.unit],
            method="counters",
            window=basis.window,
            n_hosts=1,
            n_intervals=basis.n_intervals,
            coverage=basis.coverage,
            grade="good" if basis.n_intervals is None or basis.n_intervals >= _GOOD_INTERVALS else "early",
            grounding=GROUNDING,
        )
    return EvidenceView(found.metric, found.value, found.unit, figure)


_GOOD_INTERVALS = 60
_UNITS = {
    "pages/s": "pages_per_s",
    "events/s": "events_per_s",
    "bytes/s": "bytes_per_s",
    "bytes": "bytes",
    "share": "ratio",
    "ratio": "ratio",
    "share of a core": "ratio",
    "s": "seconds",
}
"""Units of evidence that are those of figures; others, such as the bits of a setting, are no figures."""


def _effect(effect: Effect, basis: Basis) -> Figure:
    kind = "bounds" if effect.level is None else "confidence"
    return Figure(
        f"knobs.effect.{effect.metric.replace(' ', '_')}/1",
        "ok",
        effect.value,
        effect.unit,
        method="model",
        window=basis.window,
        interval=Interval(effect.lo, effect.hi, effect.level, kind),  # type: ignore[arg-type]  # one of two literals
        n_hosts=1,
        n_intervals=basis.n_intervals,
        grade="early",
        grounding=effect.grounding,
    )


def first_of(given: Sequence[KnobAdvice]) -> KnobAdvice | None:
    """The piece to try first: one change at a time."""
    return given[0] if given else None
