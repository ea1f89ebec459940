"""What a rule would have done: stored minutes through the same condition and the same states as live evaluation."""

from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Annotated, ClassVar, Literal

import numpy as np

from tierscope.core.database import ReadSession
from tierscope.core.errors import BadRequest, Unprocessable
from tierscope.domain.alerts.evaluating import UNKNOWN, evaluate, measure
from tierscope.domain.alerts.frame import MINUTE_S, Floats, Frame, Ints
from tierscope.domain.alerts.machine import LEVEL_NAMES, Level, Levels, StateName, follow, start_states
from tierscope.domain.alerts.rules import CheckedRule, Rule, check_rule
from tierscope.domain.alerts.spans import Span, bucket_levels, bucket_values, firing_minutes, levels_of, list_spans
from tierscope.domain.alerts.vocabulary import AGE, ScopeKind, all_series
from tierscope.domain.base.described import NAMES, Described
from tierscope.domain.base.figures import Origin, Resolution, TimeAxis, Window, gaps_to_none
from tierscope.usecases.alerts.frames import ARRIVAL_SECONDS, read_frame
from tierscope.usecases.alerts.subjects import Fleet, Subject
from tierscope.usecases.base.context import ClockedUseCase
from tierscope.usecases.base.windows import parse_window

KEPT = timedelta(days=35)
MAX_SUBJECTS = 1000
SUBJECTS_AT_ONCE = 20
"""So many are read at once: the minutes of a month of each are a third of a megabyte per series."""
ROWS_AT_ONCE = 8
"""So many are computed at once: their minutes stay in the processor's caches."""
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
class BacktestSpan:
    """A stretch in one state; `to` None while it lasts."""

    __pydantic_config__: ClassVar = NAMES

    state: StateName
    from_: datetime
    to: datetime | None
    value: Annotated[float | None, Described("When it began.")]


@dataclass(frozen=True, slots=True)
class BacktestSubject:
    """One subject. Per bucket of the axis the value furthest towards the threshold, and the most severe state."""

    kind: ScopeKind
    id: str
    name: str
    origin: Origin
    values: tuple[float | None, ...]
    threshold: float | None
    recovery_threshold: float | None
    states: tuple[StateName | None, ...]
    spans: tuple[BacktestSpan, ...]
    fired: int
    firing_seconds: int


@dataclass(frozen=True, slots=True)
class Backtest:
    """What a rule would have done on stored history."""

    axis: TimeAxis
    unit: str
    threshold: float | None
    subjects: tuple[BacktestSubject, ...]
    n_subjects: int
    n_firing_subjects: int
    fired: int
    resolved: int
    firing_seconds: int
    coverage: Annotated[float, Described("Share of the minutes in which the condition had an answer.")]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Outcome:
    """What became of all subjects; `levels` and `values` [shown, minutes] are of those at `shown` alone."""

    subjects: Sequence[Subject]
    minutes: Ints
    known: Ints
    fired: Ints
    resolved: Ints
    firing_minutes: Ints
    shown: Ints
    levels: Levels
    values: Floats


class Backtests(ClockedUseCase):
    """Runs rules over stored minutes."""

    def run(self, asked: BacktestRequest) -> Backtest:
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
            outcome = _run(session, checked, subjects, span, asked)
        return _view(asked, checked, outcome)

    def _span(self, asked: BacktestRequest) -> tuple[int, int]:
        now = self._clock()
        window = parse_window(asked.from_, asked.to, now=now)
        start, end = max(window.start, now - KEPT), min(window.end, now)
        if start >= end:
            raise BadRequest(f"minutes are kept for {KEPT.days} days", next_step="Ask for a later window.")
        return int(start.timestamp() // MINUTE_S) + 1, int(end.timestamp() // MINUTE_S)


def _narrowed(asked: BacktestRequest) -> Rule:
    scope = asked.rule.scope
    scope = replace(scope, hosts=asked.hosts or scope.hosts, services=asked.services or scope.services)
    return replace(asked.rule, scope=scope)


def _run(
    session: ReadSession,
    checked: CheckedRule,
    subjects: Sequence[Subject],
    span: tuple[int, int],
    asked: BacktestRequest,
) -> _Outcome:
    """Judge all subjects, some at a time, step their states together, and read those that are shown once more."""
    count, n = span[1] - span[0] + 1, len(subjects)
    holds = np.empty((n, count), np.int8)
    recovers = None if checked.recovery is None else np.empty((n, count), np.int8)
    with ThreadPoolExecutor(max_workers=1) as reader:

        def read(at: int) -> Future[Frame]:
            return reader.submit(_frame, session, checked, subjects[at : at + SUBJECTS_AT_ONCE], span, asked)

        # The next subjects are read while these are computed; the one thread has the session to itself.
        following = read(0)
        for at in range(0, n, SUBJECTS_AT_ONCE):
            frame = following.result()
            following = read(at + SUBJECTS_AT_ONCE)
            for row in range(0, len(frame.subject_ids), ROWS_AT_ONCE):
                part = frame.rows(row, row + ROWS_AT_ONCE)
                to = slice(at + row, at + row + len(part.subject_ids))
                holds[to] = evaluate(checked.condition, part)[:, -count:]
                if recovers is not None and checked.recovery is not None:
                    recovers[to] = evaluate(checked.recovery, part)[:, -count:]
    _, changes = follow(start_states(n), holds, recovers, checked.timing)
    fired = np.bincount(changes.subjects[changes.after == Level.FIRING], minlength=n)
    firing = firing_minutes(changes, n, count)
    order = sorted(range(n), key=lambda place: (-fired[place], -firing[place], subjects[place].name, place))
    shown = np.array(sorted(order[: asked.max_subjects]), np.int64)
    picked = [subjects[place] for place in shown.tolist()]
    values = np.full((len(shown), count), np.nan)
    if picked:
        values = measure(checked.condition, _frame(session, checked, picked, span, asked))[:, -count:]
    return _Outcome(
        subjects=subjects,
        minutes=np.arange(span[0], span[1] + 1, dtype=np.int64),
        known=(holds != UNKNOWN).sum(axis=1),
        fired=fired,
        resolved=np.bincount(changes.subjects[changes.before == Level.FIRING], minlength=n),
        firing_minutes=firing,
        shown=np.array([place for place in order if place in set(shown.tolist())], np.int64),
        levels=levels_of(changes, n, count, shown),
        values=values,
    )


def _frame(
    session: ReadSession,
    checked: CheckedRule,
    subjects: Sequence[Subject],
    span: tuple[int, int],
    asked: BacktestRequest,
) -> Frame:
    names = [name for name in checked.inputs if name != AGE]
    wide = (span[0] - checked.lookback, span[1])
    late_used = asked.late_data == "used"
    return read_frame(session, checked.rule.scope.kind, subjects, wide, names, packed=True, late_used=late_used)


def _view(asked: BacktestRequest, checked: CheckedRule, outcome: _Outcome) -> Backtest:
    minutes = outcome.minutes
    step = next((step for step in _STEPS if len(minutes) / step <= asked.max_points), _STEPS[-1])
    axis, groups = _axis(minutes, step)
    condition = checked.condition
    known = int(outcome.known.sum())
    cells = len(minutes) * len(outcome.subjects)
    row_of = {place: row for row, place in enumerate(np.sort(outcome.shown).tolist())}
    return Backtest(
        axis=axis,
        unit=condition.unit_name,
        threshold=condition.threshold,
        subjects=tuple(
            _subject_view(outcome, place, row_of[place], checked, groups) for place in outcome.shown.tolist()
        ),
        n_subjects=len(outcome.subjects),
        n_firing_subjects=int((outcome.fired > 0).sum()),
        fired=int(outcome.fired.sum()),
        resolved=int(outcome.resolved.sum()),
        firing_seconds=int(outcome.firing_minutes.sum()) * MINUTE_S,
        coverage=known / cells if cells else 0.0,
        notes=_notes(asked, checked, outcome.subjects, known),
    )


def _subject_view(outcome: _Outcome, place: int, row: int, checked: CheckedRule, groups: Ints) -> BacktestSubject:
    upward = checked.condition.operator not in ("<", "<=")
    subject, levels, values = outcome.subjects[place], outcome.levels[row], outcome.values[row]
    return BacktestSubject(
        subject.kind,
        subject.public_id,
        subject.name,
        subject.origin,
        gaps_to_none(bucket_values(values, groups, greatest=upward)),
        checked.condition.threshold,
        None if checked.recovery is None else checked.recovery.threshold,
        tuple(bucket_levels(levels, groups)),
        tuple(_span_view(found) for found in list_spans(levels, outcome.minutes, values)),
        int(outcome.fired[place]),
        int(outcome.firing_minutes[place]) * MINUTE_S,
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


def _span_view(span: Span) -> BacktestSpan:
    to = None if span.end is None else datetime.fromtimestamp(span.end * MINUTE_S, UTC)
    return BacktestSpan(LEVEL_NAMES[span.level], datetime.fromtimestamp(span.start * MINUTE_S, UTC), to, span.value)


def _notes(asked: BacktestRequest, checked: CheckedRule, subjects: Sequence[Subject], known: int) -> tuple[str, ...]:
    notes = []
    if not subjects:
        notes.append("No subject is in the scope.")
    elif not known:
        notes.append("The condition had no answer in any minute: what it needs is not stored for these subjects.")
    named = sorted(name for name in checked.inputs if name not in all_series())
    if named:
        notes.append(f"Minutes of {', '.join(named)} are stored from when a rule first named it.")
    if asked.late_data == "as_live" and any(subject.origin == "live" for subject in subjects):
        notes.append(f"Minutes that arrived later than {ARRIVAL_SECONDS:.0f} s are left out, as live evaluation does.")
    if any(subject.origin == "simulated" for subject in subjects):
        notes.append("Simulated hosts are among the subjects.")
    return tuple(notes)
