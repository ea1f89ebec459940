"""Knob advice as answered: figures with their evidence, files to apply, and what could not be judged."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from tierscope.domain._generated.advice import CHARTERS
from tierscope.domain.base.described import Described
from tierscope.domain.base.figures import Figure, Interval, Window
from tierscope.domain.knobs import Advice, Evidence, Given, render_files
from tierscope.domain.knobs.shapes import Effect

GROUNDING = "L kernel text of each setting; A thresholds of docs/method/knobs.md"


@dataclass(frozen=True, slots=True)
class KnobChange:
    """One setting of the kernel; `rollback` is the value that was read."""

    path: str
    current: str
    proposed: str
    rollback: Annotated[str, Described("The value that takes the change back: the one that was read.")]


@dataclass(frozen=True, slots=True)
class KnobEvidence:
    """One number that made the rule fire; `figure` None where it is no figure of a window."""

    metric: str
    value: float
    unit: str
    figure: Annotated[
        Figure | None, Described("Null where it is no figure of a window, such as the bits of a setting.")
    ]


@dataclass(frozen=True, slots=True)
class KnobDestination:
    """Where a file goes: `form` is `sysctl`, `tmpfiles`, `udev` or `systemd`."""

    form: str
    path: str


@dataclass(frozen=True, slots=True)
class KnobFiles:
    """The changes as files, built from known settings and checked values alone; null where a form does not apply."""

    sysctl: Annotated[str | None, Described("For /etc/sysctl.d.")]
    tmpfiles: Annotated[str | None, Described("For /etc/tmpfiles.d.")]
    systemd: Annotated[str | None, Described("A unit for settings in debugfs.")]
    ansible: str
    commands: str
    rollback_commands: str
    udev: Annotated[str | None, Described("A rule that writes tmpfiles.d again when memory comes online late.")] = None
    check_commands: Annotated[
        str, Described("Print what is in force, and for sysctls each file that sets them: the last one by name wins.")
    ] = ""
    forget_commands: Annotated[
        str, Described("Remove the files that would set the values again at boot: part of the rollback where they are.")
    ] = ""
    destinations: Annotated[
        tuple[KnobDestination, ...], Described("The files that keep the settings over a reboot, by form.")
    ] = ()


@dataclass(frozen=True, slots=True)
class KnobAdvice:
    """One piece of advice. `changes` is empty where it is no setting of the kernel; `note` then says what to do."""

    rule: Annotated[
        str,
        Described("The rule of docs/method/knobs.md that fired, by the name of its charter."),
    ]
    title: str
    changes: tuple[KnobChange, ...]
    evidence: tuple[KnobEvidence, ...]
    effect: str
    effect_figure: Annotated[Figure | None, Described("The expected effect where a number can be stood behind.")]
    risk: str
    verify: str
    note: str | None
    files: KnobFiles
    advice_id: Annotated[str | None, Described("The stored card of this advice.")] = None
    rules: Annotated[
        tuple[str, ...], Described("The rules of this change set, in the order in which its settings are written.")
    ] = ()
    sources: Annotated[
        tuple[str, ...], Described("Kernel files and commits, documentation, papers and reports that it stands on.")
    ] = ()


@dataclass(frozen=True, slots=True)
class WaitingAdvice:
    """Advice that holds only once an earlier piece is in force."""

    advice: KnobAdvice
    why: str


@dataclass(frozen=True, slots=True)
class UnknownRule:
    """A rule that could not be judged, and what it lacks."""

    rule: str
    missing: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class WithheldRule:
    """A rule whose conditions hold and that is not given, and what forbids it here."""

    rule: str
    why: str


@dataclass(frozen=True, slots=True)
class GivenView:
    """All that the rules say of one host."""

    advice: tuple[KnobAdvice, ...]
    waiting: tuple[WaitingAdvice, ...]
    nothing_to_do: KnobAdvice | None
    unknown: tuple[UnknownRule, ...]
    withheld: tuple[WithheldRule, ...] = ()
    notices: tuple[KnobAdvice, ...] = ()


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
        waiting=tuple(WaitingAdvice(_advice(advice, basis), why) for advice, why in given.waiting),
        nothing_to_do=None if given.nothing_to_do is None else _advice(given.nothing_to_do, basis),
        unknown=tuple(UnknownRule(unknown.rule, unknown.missing) for unknown in given.unknown),
        withheld=tuple(WithheldRule(withheld.rule, withheld.why) for withheld in given.withheld),
        notices=tuple(_advice(notice, basis) for notice in given.notices),
    )


def _advice(advice: Advice, basis: Basis) -> KnobAdvice:
    files = render_files([advice])
    return KnobAdvice(
        rule=advice.rule,
        title=advice.title,
        changes=tuple(
            KnobChange(change.path, change.current, change.proposed, change.current) for change in advice.changes
        ),
        evidence=tuple(_evidence(found, basis) for found in advice.evidence),
        effect=advice.effect,
        effect_figure=None if advice.effect_size is None else _effect(advice.effect_size, basis),
        risk=advice.risk,
        verify=advice.verify,
        note=advice.note,
        files=KnobFiles(
            files.sysctl,
            files.tmpfiles,
            files.systemd,
            files.ansible,
            files.commands,
            files.rollback_commands,
            files.udev,
            files.check_commands,
            files.forget_commands,
            tuple(KnobDestination(form, path) for form, path in files.destinations),
        ),
        rules=advice.charters,
        sources=tuple(dict.fromkeys(cite for rule in advice.charters for _, cite in CHARTERS[rule].sources)),
    )


def _evidence(found: Evidence, basis: Basis) -> KnobEvidence:
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
    return KnobEvidence(found.metric, found.value, found.unit, figure)


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
