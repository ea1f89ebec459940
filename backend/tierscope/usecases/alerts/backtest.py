"""What a rule would have done: stored minutes through the same condition and the same states as live evaluation."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Literal

import numpy as np

from tierscope.core.clock import Clock, utc_now
from tierscope.core.database import Database, ReadSession
from tierscope.core.errors import BadRequest, Unprocessable
from tierscope.domain.alerts.evaluating import UNKNOWN, evaluate, measure
from tierscope.domain.alerts.frame import MINUTE_S, Floats, Ints
from tierscope.domain.alerts.machine import LEVEL_NAMES, Level, Levels, follow, start_states
from tierscope.domain.alerts.rules import CheckedRule, Rule, check_rule
from tierscope.domain.alerts.spans import Span, bucket_levels, bucket_values, levels_of, list_spans
from tierscope.domain.alerts.vocabulary import AGE, all_series
from tierscope.domain.figures import Resolution, TimeAxis, Window, gaps_to_none
from tierscope.usecases.alerts.frames import ARRIVAL_SECONDS, read_frame
from tierscope.usecases.alerts.subjects import Fleet, Subject
from tierscope.usecases.windows import parse_window

KEPT = timedelta(days=35)
MAX_SUBJECTS = 1000
SUBJECTS_AT_ONCE = 50
"""So many are in memory at once: the minutes of a month of each are a third of a megabyte per series."""
_STEPS = (1, 2, 5, 10, 20, 30, 60, 120, 240, 360, 720, 1440)
LateData = Literal["as_live", "used"]


@dataclass(frozen=True, slots=True)
class BacktestRequest:
    """A rule on stored history. `hosts` and `services` narrow its scope, by public id or name."""

    rule: Rule
    from_: str
    to: str
    hosts: tuple[str, ...] = ()
    services: tuple[str, ...] = ()
    late_data: LateData = "as_live"
    max_points: int = 500
    max_subjects: int = 20


@dataclass(frozen=True, slots=True)
class SpanView:
    """A stretch in one state; `to` None while it lasts."""

    state: str
    from_: datetime
    to: datetime | None
    value: float | None


@dataclass(frozen=True, slots=True)
class SubjectView:
    """One subject over the axis."""

    kind: str
    id: str
    name: str
    origin: str
    values: tuple[float | None, ...]
    threshold: float | None
    recovery_threshold: float | None
    states: tuple[str | None, ...]
    spans: tuple[SpanView, ...]
    fired: int
    firing_seconds: int


@dataclass(frozen=True, slots=True)
class BacktestView:
    """What the rule would have done."""

    axis: TimeAxis
    unit: str
    threshold: float | None
    subjects: tuple[SubjectView, ...]
    n_subjects: int
    n_firing_subjects: int
    fired: int
    resolved: int
    firing_seconds: int
    coverage: float
    notes: tuple[str, ...]


@dataclass(slots=True)
class _Part:
    """One subject; its minutes only where it may be shown."""

    subject: Subject
    values: Floats | None
    levels: Levels | None
    known: int
    fired: int
    resolved: int
    firing_minutes: int


class Backtests:
    """Runs rules over stored minutes."""

    def __init__(self, database: Database, *, clock: Clock = utc_now) -> None:
        self._database = database
        self._clock = clock

    def run(self, asked: BacktestRequest) -> BacktestView:
        """Run a rule over stored minutes.

        Raises:
            Unprocessable: the rule cannot be used.
            BadRequest: the window is empty, too long, or there are too many subjects.
        """
        checked, problems = check_rule(_narrowed(asked))
        if checked is None:
            raise Unprocessable(f"{problems[0].at}: {problems[0].message}", next_step=problems[0].next_step)
        span = self._span(asked)
        with self._database.read() as session:
            subjects = Fleet.read(session).subjects(checked.rule.scope)
            if len(subjects) > MAX_SUBJECTS:
                raise BadRequest(
                    f"{len(subjects)} subjects are more than {MAX_SUBJECTS} at once",
                    next_step="Name hosts, services or labels.",
                )
            parts: list[_Part] = []
            for at in range(0, len(subjects), SUBJECTS_AT_ONCE):
                some = subjects[at : at + SUBJECTS_AT_ONCE]
                parts += _run(session, checked, some, span, late_used=asked.late_data == "used")
                _forget(parts, asked.max_subjects)
        return _view(asked, checked, parts, span)

    def _span(self, asked: BacktestRequest) -> tuple[int, int]:
        now = self._clock()
        window = parse_window(asked.from_, asked.to, now=now)
        start, end = max(window.start, now - KEPT), min(window.end, now)
        if start >= end:
            raise BadRequest(f"minutes are kept for {KEPT.days} days", next_step="Ask for a later window.")
        return int(start.timestamp() // MINUTE_S) + 1, int(end.timestamp() // MINUTE_S)


def _narrowed(asked: BacktestRequest) -> Rule:
    """The rule with the scope of the request, where that says whom."""
    scope = asked.rule.scope
    scope = replace(scope, hosts=asked.hosts or scope.hosts, services=asked.services or scope.services)
    return replace(asked.rule, scope=scope)


def _run(
    session: ReadSession, checked: CheckedRule, subjects: Sequence[Subject], span: tuple[int, int], *, late_used: bool
) -> list[_Part]:
    names = [name for name in checked.inputs if name != AGE]
    wide = (span[0] - checked.lookback, span[1])
    kind = checked.rule.scope.kind
    frame = read_frame(session, kind, subjects, wide, names, packed=True, late_used=late_used)
    count = span[1] - span[0] + 1
    holds = evaluate(checked.condition, frame)[:, -count:]
    recovers = None if checked.recovery is None else evaluate(checked.recovery, frame)[:, -count:]
    values = measure(checked.condition, frame)[:, -count:]
    _, changes = follow(start_states(len(subjects)), holds, recovers, checked.timing)
    levels = levels_of(changes, len(subjects), count)
    known = (holds != UNKNOWN).sum(axis=1)
    fired = np.bincount(changes.subjects[changes.after == Level.FIRING], minlength=len(subjects))
    resolved = np.bincount(changes.subjects[changes.before == Level.FIRING], minlength=len(subjects))
    firing = (levels == Level.FIRING).sum(axis=1)
    return [
        _Part(
            subject,
            values[place],
            levels[place],
            int(known[place]),
            int(fired[place]),
            int(resolved[place]),
            int(firing[place]),
        )
        for place, subject in enumerate(subjects)
    ]


def _forget(parts: list[_Part], shown: int) -> None:
    """Keep the minutes of the subjects that are shown: those that fired most, then by name."""
    for part in _in_order(parts)[shown:]:
        part.values = part.levels = None


def _in_order(parts: list[_Part]) -> list[_Part]:
    return sorted(parts, key=lambda part: (-part.fired, -part.firing_minutes, part.subject.name, part.subject.id))


def _view(asked: BacktestRequest, checked: CheckedRule, parts: list[_Part], span: tuple[int, int]) -> BacktestView:
    minutes = np.arange(span[0], span[1] + 1, dtype=np.int64)
    step = next((step for step in _STEPS if len(minutes) / step <= asked.max_points), _STEPS[-1])
    axis, groups = _axis(minutes, step)
    condition = checked.condition
    known = sum(part.known for part in parts)
    return BacktestView(
        axis=axis,
        unit=condition.unit_name,
        threshold=condition.threshold,
        subjects=tuple(
            _subject_view(part, part.values, part.levels, checked, minutes, groups)
            for part in _in_order(parts)
            if part.values is not None and part.levels is not None
        ),
        n_subjects=len(parts),
        n_firing_subjects=sum(part.fired > 0 for part in parts),
        fired=sum(part.fired for part in parts),
        resolved=sum(part.resolved for part in parts),
        firing_seconds=sum(part.firing_minutes for part in parts) * MINUTE_S,
        coverage=known / (len(minutes) * len(parts)) if parts else 0.0,
        notes=_notes(asked, checked, parts, known),
    )


def _subject_view(
    part: _Part, values: Floats, levels: Levels, checked: CheckedRule, minutes: Ints, groups: Ints
) -> SubjectView:
    upward = checked.condition.operator not in ("<", "<=")
    return SubjectView(
        part.subject.kind,
        part.subject.public_id,
        part.subject.name,
        part.subject.origin,
        gaps_to_none(bucket_values(values, groups, greatest=upward)),
        checked.condition.threshold,
        None if checked.recovery is None else checked.recovery.threshold,
        tuple(bucket_levels(levels, groups)),
        tuple(_span_view(found) for found in list_spans(levels, minutes, values)),
        part.fired,
        part.firing_minutes * MINUTE_S,
    )


def _axis(minutes: Ints, step: int) -> tuple[TimeAxis, Ints]:
    """Buckets of whole steps of the clock, and the place of each minute among them."""
    buckets = (minutes - 1) // step
    starts, groups = np.unique(buckets, return_inverse=True)
    resolutions: dict[int, Resolution] = {1: "1m", 10: "10m", 60: "1h", 1440: "1d"}
    window = Window(
        datetime.fromtimestamp(int(minutes[0] - 1) * MINUTE_S, UTC),
        datetime.fromtimestamp(int(minutes[-1]) * MINUTE_S, UTC),
    )
    times = tuple(float(start + 1) * step * MINUTE_S for start in starts.tolist())
    return TimeAxis(window, resolutions.get(step, "1m"), float(step * MINUTE_S), times), groups


def _span_view(span: Span) -> SpanView:
    to = None if span.end is None else datetime.fromtimestamp(span.end * MINUTE_S, UTC)
    return SpanView(LEVEL_NAMES[span.level], datetime.fromtimestamp(span.start * MINUTE_S, UTC), to, span.value)


def _notes(asked: BacktestRequest, checked: CheckedRule, parts: list[_Part], known: int) -> tuple[str, ...]:
    notes = []
    if not parts:
        notes.append("No subject is in the scope.")
    elif not known:
        notes.append("The condition had no answer in any minute: what it needs is not stored for these subjects.")
    named = sorted(name for name in checked.inputs if name not in all_series())
    if named:
        notes.append(f"Minutes of {', '.join(named)} are stored from when a rule first named it.")
    if asked.late_data == "as_live" and any(part.subject.origin == "live" for part in parts):
        notes.append(f"Minutes that arrived later than {ARRIVAL_SECONDS:.0f} s are left out, as live evaluation does.")
    if any(part.subject.origin == "simulated" for part in parts):
        notes.append("Simulated hosts are among the subjects.")
    return tuple(notes)
